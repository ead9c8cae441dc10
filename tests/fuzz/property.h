// What must hold for every input. Where it doesn't, the process ends at once: the fuzzer keeps the input that did it.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace flowrun::fuzz {

[[noreturn]] inline void fail(std::string_view what) {
  fmt::print(stderr, "property broken: {}\n", what);
  std::fflush(stderr);
  std::abort();
}

// `details` are put into the text only where it doesn't hold.
template <class... Details>
void must_hold(bool holds, fmt::format_string<const Details&...> what, const Details&... details) {
  if (!holds) [[unlikely]]
    fail(fmt::format(what, details...));
}

}  // namespace flowrun::fuzz
