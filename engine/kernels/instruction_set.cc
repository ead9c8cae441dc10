#include "engine/kernels/instruction_set.h"

#include <hwy/nanobenchmark.h>
#include <hwy/targets.h>

namespace hwy::platform {

// Highway's library measures the resolution of the timer whenever a program that uses it starts: 5 ms, a third of what
// the smallest job takes. Only Highway's own benchmarks look at the result, and nothing here runs these. The dynamic
// linker takes a program's function before that of a library, so this one answers instead, at once.
uint64_t TimerResolution() { return 1; }

}  // namespace hwy::platform

namespace flowrun::kernels {

std::string instruction_set() {
  const int64_t supported = hwy::SupportedTargets();
  return hwy::TargetName(supported & -supported);  // the lower its bit, the better a set is
}

}  // namespace flowrun::kernels
