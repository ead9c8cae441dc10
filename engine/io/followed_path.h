// What an output's path names when its last part is a symbolic link: the entry that is made or replaced.
//
// An output replaces what the link names, so the link is followed here and not by the system. The system's rule for
// links in directories that all users may write to (fs.protected_symlinks) then has to be kept here, too: there a link
// is followed only if it belongs to us or to the directory's owner. Any other user could have put another link there,
// to have us overwrite a file of ours. So could a pipe or a file wait there for what we write. Links among the
// directories of a path are left to the system.
#pragma once

#include <sys/types.h>

#include <string>

namespace flowrun::io {

struct followed_path {
  std::string path;          // may not exist; one of this process's descriptors (/dev/fd/1) is followed no further
  std::string refused_link;  // not empty: a link on the way that must not be followed; `path` is what it names
};

followed_path follow_links(const std::string& path);

// The same for an output: throws error(output) where a link must not be followed, and where refuse_planted() does.
std::string followed_output(const std::string& path);

// Throws error(output) where a file or a pipe has the name of an output that another user has put into a directory that
// all may write to, as the system does with fs.protected_regular and fs.protected_fifos: the output would take over its
// owner and permissions, or go to whoever reads the pipe.
void refuse_planted(const std::string& path);

// The rule. `directory_mode`: of the directory that holds the link.
bool may_follow(uid_t user, uid_t link_owner, uid_t directory_owner, mode_t directory_mode);

}  // namespace flowrun::io
