#include "engine/kernels/instruction_set.h"

#include <hwy/targets.h>

namespace flowrun::kernels {

std::string instruction_set() {
  const int64_t supported = hwy::SupportedTargets();
  return hwy::TargetName(supported & -supported);  // the lower its bit, the better a set is
}

}  // namespace flowrun::kernels
