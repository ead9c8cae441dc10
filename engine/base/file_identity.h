// One file under any of its names: what the system opens or replaces for a path, for telling whether two paths are one.
//
// A path is only a spelling: "out.csv", "/home/me/out.csv" and a link to it are one output, of which only the last one
// written would be left. Hard links are two outputs: each gets a new file of its own under its own name. Where a name
// is written by itself, without a new file (pipes, descriptors), the object behind it decides.
#pragma once

#include <string>

namespace flowrun {

struct file_identity {
  // The entry that an output makes or replaces: its directory's device and inode and the name in it, links followed;
  // for a descriptor of this process its number. Empty: like no other.
  std::string entry;
  // Device and inode of what lies there. Empty: nothing does, or many may share it (terminals and other devices).
  std::string object;
  bool only_name = false;  // the object has no other name: a directory that ignores case knows one entry by several
  bool in_place = false;   // read or written as it is: a pipe, a descriptor; outputs elsewhere replace the entry
  bool read_once = false;  // what one reader took is gone for others
};

inline bool same_file(const file_identity& a, const file_identity& b) {
  if (!a.entry.empty() && a.entry == b.entry) return true;
  return !a.object.empty() && a.object == b.object && (a.in_place || b.in_place || a.only_name);
}

}  // namespace flowrun
