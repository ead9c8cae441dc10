// Makes and vets a scratch directory before anything is written there.
#pragma once

#include <string>

namespace flowrun::block {

// Makes `path` and its missing parents with mode 0700; an existing directory stays as it is. Throws error(output) with
// path and cause when it can't be made, is not a directory, or can't be written; error(resources) when its disk is
// full.
//
// Nobody else may lead the data elsewhere, or give the disks' names to something else while a job runs. So a symbolic
// link that leads nowhere, or belongs to neither this user nor root, is refused as the directory. And where everybody
// may make entries (/tmp), so are links and directories of other users than these two anywhere on the way: in the path
// as it is given, and in the one that it stands for.
void prepare_scratch_directory(const std::string& path);

// Whether that would succeed, and a file be made in it; throws the same. Nothing stays behind.
void try_scratch_directory(const std::string& path);

}  // namespace flowrun::block
