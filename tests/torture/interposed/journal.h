// What a power failure could take away: with FAILING_JOURNAL, a directory, each change of a file or name of the job and
// each fsync is written to "log" there, in the order in which they ended:
//
//   dirty INODE                 content or length changed (also when a mapping for writing is made)
//   synced INODE COPY           fsync of a file; "copy-COPY" has its content then
//   bound INODE PATH            a name was given: create, link
//   renamed OLD NEW             exchanged OLD NEW: each has the other's name now
//   unbound PATH
//   directory PATH              mkdir
//   names PATH                  fsync of a directory
//
// The driver tells from it what a disk could hold at each moment. Scratch files are left out.
#pragma once

namespace interposed::journal {

bool is_kept();
void changed(int descriptor);
void synced(int descriptor);
void bound(const char* path);
void renamed(const char* from, const char* to, bool exchanged);
void unbound(const char* path);
void made_directory(const char* path);

}  // namespace interposed::journal
