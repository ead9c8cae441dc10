// A directory that a process works in, as long as it lives: flock, which the system takes away when the process ends.
#pragma once

#include <string>

namespace flowrun::cluster {

// A descriptor that holds the lock until it is closed. -1: another process has it (errno is EWOULDBLOCK), or it can't
// be locked, and errno says why: EPERM, too, where it belongs to another user.
int locked_directory(const std::string& path);

// Makes the directory, unless it is there, and locks it. Until a new one is locked it looks like one that a process has
// left behind: whoever looks for such locks it for a moment, or removes it. So where another process has it, or it is
// gone, it is tried again, for 2 s at most. The directories above it are there. -1 as for locked_directory(); -2: it
// can't be made, and errno says why.
int made_and_locked_directory(const std::string& path, unsigned mode);

// Says why a directory can't be locked that no other process has, by that errno. Another user's gets hint; else it is
// the storage, and needs_locks says what must be on one that has locks.
[[noreturn]] void refuse_unlocked(const std::string& path, const std::string& hint, const std::string& needs_locks);

// Removes a directory with all it has. Workers end when their driver has died, but not at once: while somebody writes
// into it, it is tried again, for 10 s at most. False: something can't be removed.
bool remove_directory(const std::string& path);

}  // namespace flowrun::cluster
