// Which of the processor's vector instructions the sorts of words use.
#pragma once

#include <string>

namespace flowrun::kernels {

// As Highway calls the best set that this processor has: AVX2, AVX3, NEON; SCALAR or EMU128 where there is none.
std::string instruction_set();

}  // namespace flowrun::kernels
