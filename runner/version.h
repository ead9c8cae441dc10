// The version, from CMakeLists.txt.
#pragma once

#include <string_view>

namespace flowrun::runner {

inline constexpr std::string_view version = FLOWRUN_VERSION;

}  // namespace flowrun::runner
