// Looks into files and says how to read them: the work of `flowrun infer` but for its words.
#pragma once

#include <string>
#include <vector>

#include "operators/parts/infer/inferred_source.h"
#include "operators/parts/infer/source_format.h"

namespace flowrun::operators {

// `paths`: of one source, at least one, without wildcards; "-" is standard input. A sample comes from the beginning,
// the middle and the end of a file, and from up to 16 files; of what can't be read from its middle, a pipe or
// compressed content, from its beginning. Throws error(missing_input) and error(bad_data).
inferred_source infer_source(const std::vector<std::string>& paths, const infer_options& options);

}  // namespace flowrun::operators
