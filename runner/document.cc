#include "runner/document.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "engine/base/error.h"

namespace flowrun::runner {

namespace {

[[noreturn]] void refuse(const std::string& path, int cause) {
  throw error(error_kind::output, "can't write " + path + ": " + errno_text(cause),
              "give a file in a directory that exists and is writable");
}

}  // namespace

void write_fully(int descriptor, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor, bytes.data(), bytes.size());
    if (done >= 0) {
      bytes.remove_prefix(static_cast<size_t>(done));
    } else if (errno != EINTR) {
      const int cause = errno;
      const bool full = cause == ENOSPC || cause == EDQUOT;
      throw error(full ? error_kind::output : error_kind::io, "can't write to " + name + ": " + errno_text(cause),
                  full ? "free some space, or write elsewhere" : "");
    }
  }
}

void print(std::string_view text) { write_fully(STDOUT_FILENO, text, "standard output"); }

pending_document::pending_document(std::string path) : path_(std::move(path)) {
  if (path_ == "-") return;
  struct stat there {};
  if (::stat(path_.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) refuse(path_, errno);
    return;
  }
  temporary_ = path_ + ".XXXXXX";
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    temporary_.clear();
    refuse(path_, errno);
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor_, 0666 & ~mask);
}

pending_document::~pending_document() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void pending_document::append(std::string_view bytes) {
  if (path_ == "-")
    print(bytes);
  else
    write_fully(descriptor_, bytes, path_);
}

void pending_document::commit() {
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) refuse(path_, errno);
  temporary_.clear();
}

}  // namespace flowrun::runner
