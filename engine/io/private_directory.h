// A directory that nobody but its owner may use, whatever the umask is.
#pragma once

#include <string>

namespace flowrun::io {

// Makes it with the mode 0700, also under a umask that takes rights from the owner, too: nobody could use it then, for
// good. Returns 0, or errno of mkdir.
int make_private_directory(const std::string& path);

}  // namespace flowrun::io
