// Whether a file may be run as a part of flowrun: who could have written it.
#pragma once

#include <string>

namespace flowrun::plugins {

// Why the file, or the directory that it lies in, is not to be trusted: it belongs to somebody who is neither root nor
// the user, or others may write it; and what to do. Empty: it is. `path` has no symbolic link in it.
std::string distrust_of(const std::string& path);

}  // namespace flowrun::plugins
