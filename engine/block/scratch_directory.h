// Makes and vets a scratch directory before anything is written there.
#pragma once

#include <string>

namespace flowrun::block {

// Makes `path` and its missing parents with mode 0700; an existing directory stays as it is. Throws error(resources)
// with path and cause when it can't be made, is not a directory, or can't be written. The same for a symbolic link that
// leads nowhere or belongs to neither this user nor root (it could have been planted to lead the data elsewhere).
void prepare_scratch_directory(const std::string& path);

}  // namespace flowrun::block
