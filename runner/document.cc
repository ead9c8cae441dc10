#include "runner/document.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "engine/base/broken_pipe.h"
#include "engine/base/error.h"
#include "engine/base/interrupted_call.h"
#include "engine/io/descriptor_stream.h"
#include "engine/io/followed_path.h"
#include "engine/io/output_target.h"
#include "runner/shown_text.h"

namespace flowrun::runner {

namespace {

[[noreturn]] void refuse(const std::string& path, int cause) {
  throw error(error_kind::output, "can't write " + path + ": " + errno_text(cause),
              "give a file in a directory that exists and is writable");
}

// A link is refused, too, wherever it leads: what is written would lie where nobody looks for it.
void refuse_existing(const std::string& path, const std::string& followed) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) return;
  if (!S_ISLNK(there.st_mode)) throw error(error_kind::output, path + " is there already", "another -o, or remove it");
  if (followed != path && ::lstat(followed.c_str(), &there) == 0)
    throw error(error_kind::output, path + " leads to " + followed + ", which is there already",
                "another -o, or remove it");
  throw error(
      error_kind::output, path + " is a link to what isn't there" + (followed == path ? "" : ": " + followed),
      followed == path ? "another -o, or remove the link" : "-o " + followed + " makes that file; or remove the link");
}

}  // namespace

void write_fully(int descriptor, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t done = retry_interrupted([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
    if (done >= 0) {
      bytes.remove_prefix(static_cast<size_t>(done));
    } else {
      const int cause = errno;
      if (cause == EPIPE) throw broken_pipe("can't write to " + name + ": " + errno_text(cause));
      const bool full = cause == ENOSPC || cause == EDQUOT;
      throw error(full ? error_kind::output : error_kind::io, "can't write to " + name + ": " + errno_text(cause),
                  full ? "free some space, or write elsewhere" : "");
    }
  }
}

void print(std::string_view text) { write_fully(STDOUT_FILENO, text, "standard output"); }

void print_lines(std::string_view text) { print(without_controls(text)); }

void refuse_to_replace(const std::string& to, const std::string& from, const std::string& what,
                       const std::string& example) {
  std::error_code ignored;
  // Standard input may be that file, too.
  if (to != "-" && std::filesystem::equivalent(from == "-" ? "/dev/stdin" : from, to, ignored))
    throw error(error_kind::usage, "-o " + to + " is " + what + " itself", "another name: -o " + example);
}

pending_document::pending_document(std::string path) : pending_document(std::move(path), io::what_is_there::replaced) {}

pending_document::pending_document(std::string path, io::what_is_there there_may_be) : path_(std::move(path)) {
  if (path_ == "-") return;
  const std::string followed = io::followed_output(path_);
  if (io::output_target::is_stream(followed)) {
    // Not opened anew: a regular file behind standard output goes on where it stands.
    descriptor_ = io::open_to_write(followed);
    if (descriptor_ < 0) refuse(path_, errno);
    return;
  }
  if (there_may_be == io::what_is_there::refused) refuse_existing(path_, followed);
  const std::string directory = std::filesystem::path(followed).parent_path();
  struct stat there {};
  if (!directory.empty() && ::stat(directory.c_str(), &there) != 0) refuse(path_, errno);
  const bool only_new = there_may_be == io::what_is_there::refused;
  target_ = std::make_unique<io::output_target>(only_new ? path_ : followed, false, std::string(), there_may_be);
}

pending_document::~pending_document() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void pending_document::append(std::string_view bytes) {
  if (path_ == "-")
    print(bytes);
  else
    write_fully(target_ ? target_->content().descriptor() : descriptor_, bytes, path_);
}

void pending_document::commit(bool durable) {
  if (target_) target_->commit(durable);
}

}  // namespace flowrun::runner
