// Directories that belong to one process at a time. It holds a lock (flock) on the directory, which the system takes
// away when the process ends, however it ends: so one that can be locked belongs to nobody who is alive.
#pragma once

#include <string>
#include <string_view>

namespace flowrun::io {

// A descriptor; -1, with errno: it is no directory, or can't be opened. Links are not followed.
int open_directory(const std::string& path);
// False, with errno; EWOULDBLOCK: another process has it.
bool lock_directory(int descriptor);
// Of this user.
bool is_own_directory(int descriptor);
// Whether the open directory still has its name: another process may have removed it before it was locked.
bool has_its_name(int descriptor, const std::string& path);

// Whether mkdtemp() may have made it of PREFIXXXXXX: what users call so, with words of their own behind, is theirs.
bool is_drawn_name(std::string_view name, std::string_view prefix);

}  // namespace flowrun::io
