#include "engine/io/file_trial.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/io/descriptor_stream.h"
#include "engine/io/followed_path.h"
#include "engine/io/output_target.h"

namespace flowrun::io {

namespace {

[[noreturn]] void refuse_input(const std::string& path, int cause) {
  std::string hint = "check the path; relative paths start at the working directory";
  if (cause == EISDIR)
    hint = fmt::format(
        "name the files in it: {}{}* (a folder is read as one input only where it has the manifest.json of a job on a "
        "cluster)",
        path, path.ends_with('/') ? "" : "/");
  throw error(error_kind::missing_input, fmt::format("can't open {}: {}", path, errno_text(cause)), hint);
}

[[noreturn]] void refuse_output(const std::string& path, int cause) {
  throw error(error_kind::output, fmt::format("can't write {}: {}", path, errno_text(cause)),
              "check the permissions, or write elsewhere");
}

// 0, or the errno of using the descriptor that way. Where a standard descriptor was closed, main.cc has opened it in
// the wrong direction, so that it can't be used by mistake.
int misuse_of(int descriptor, int wrong_way) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0) return errno;
  return (flags & O_ACCMODE) == wrong_way ? EBADF : 0;
}

}  // namespace

void try_input(const std::string& path) {
  const std::string name = path == "-" ? "/dev/stdin" : path;
  if (const int descriptor = descriptor_named(name); descriptor >= 0) {
    if (const int cause = misuse_of(descriptor, O_WRONLY); cause != 0)
      throw error(error_kind::missing_input,
                  fmt::format("can't read {}: it is not open for reading", path == "-" ? "standard input" : path),
                  "give it a file or a pipe: < FILE");
    return;
  }
  struct stat info {};
  if (stat(name.c_str(), &info) != 0) refuse_input(path, errno);
  if (S_ISDIR(info.st_mode)) refuse_input(path, EISDIR);
  if (!S_ISREG(info.st_mode)) {
    if (faccessat(AT_FDCWD, name.c_str(), R_OK, AT_EACCESS) != 0) refuse_input(path, errno);
    return;
  }
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0) refuse_input(path, errno);
  close(descriptor);
}

bool may_look_into(const std::string& path) {
  struct stat info {};
  return path != "-" && !names_descriptor(path) && stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

void try_output(const std::string& path) {
  const std::string followed = followed_output(path == "-" ? "/dev/stdout" : path);
  if (const int descriptor = descriptor_named(followed); descriptor >= 0) {
    if (const int cause = misuse_of(descriptor, O_RDONLY); cause != 0)
      throw error(error_kind::output,
                  fmt::format("can't write {}: it is not open for writing", path == "-" ? "standard output" : path),
                  "give it a file or a pipe: > FILE");
    return;
  }
  if (output_target::is_stream(followed)) {
    if (faccessat(AT_FDCWD, followed.c_str(), W_OK, AT_EACCESS) != 0) refuse_output(path, errno);
    return;
  }
  // Where directories are missing, the last one that is there must take a new entry, as it will have to.
  const std::filesystem::path whole(followed);
  if (!whole.has_filename())
    throw error(error_kind::output, fmt::format("can't write {}: it names a directory", path), "name a file in it");
  std::filesystem::path directory = whole.parent_path();
  struct stat info {};
  while (!directory.empty() && directory != directory.parent_path() && stat(directory.c_str(), &info) != 0) {
    if (errno != ENOENT) refuse_output(path, errno);
    directory = directory.parent_path();
  }
  // Names that are too long, and links in a circle, are found out when the output gets its name, else.
  if (stat((directory / whole.filename()).c_str(), &info) != 0 && (errno == ENAMETOOLONG || errno == ELOOP))
    refuse_output(path, errno);
  struct stat around {};
  if (geteuid() != 0 && lstat(followed.c_str(), &info) == 0 &&
      stat(directory.empty() ? "." : directory.c_str(), &around) == 0 && (around.st_mode & S_ISVTX) != 0 &&
      info.st_uid != geteuid() && around.st_uid != geteuid())
    throw error(error_kind::output,
                fmt::format("can't replace {}: it belongs to another user, and its directory has the sticky bit", path),
                "write elsewhere, or let its owner remove it");
  try {
    const output_target trial((directory / whole.filename()).string(), false);
  } catch (const error& problem) {
    if (directory == whole.parent_path()) throw;
    throw error(error_kind::output,
                fmt::format("can't write {}: no directory can be made in {} ({})", path,
                            directory.empty() ? "." : directory.string(), problem.what()),
                problem.hint());
  }
}

}  // namespace flowrun::io
