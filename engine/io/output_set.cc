#include "engine/io/output_set.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/interrupted_call.h"
#include "engine/io/directory_lock.h"
#include "engine/io/followed_path.h"
#include "engine/io/output_target.h"
#include "engine/io/private_directory.h"

namespace flowrun::io {

namespace {

constexpr int most_hidden = 16;  // of one output: as many jobs may write it at a time
constexpr int most_tries = 200;  // for one of their names
constexpr size_t most_name_bytes = 255;

[[noreturn]] void refuse(const std::string& path, int cause) {
  throw error(error_kind::output, fmt::format("can't write {}: {}", path, errno_text(cause)), hint_for_output(cause));
}

// Within the bytes that a name may have.
std::string hidden_name(const std::string& name, int number) {
  std::string flat = name.substr(0, 200);
  std::replace(flat.begin(), flat.end(), '/', '-');
  return fmt::format(".{}.flowrun-{}.tmp", flat, number);
}

// Only files lie there.
void empty_directory(int descriptor) noexcept {
  const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  DIR* const listing = copy < 0 ? nullptr : fdopendir(copy);
  if (listing == nullptr) {
    if (copy >= 0) close(copy);
    return;
  }
  rewinddir(listing);
  while (const dirent* const found = readdir(listing)) {
    const std::string_view name = found->d_name;
    if (name != "." && name != "..") unlinkat(descriptor, found->d_name, 0);
  }
  closedir(listing);
}

}  // namespace

output_set::output_set(std::string path, std::string directory, const std::string& name, bool durable)
    : path_(std::move(path)), directory_(std::move(directory)), durable_(durable) {
  if (const int cause = made_.make(directory_); cause != 0)
    throw error(error_kind::output, fmt::format("can't create the directory {}: {}", directory_, errno_text(cause)),
                hint_for_output(cause));
  for (int number = 0; number < most_hidden; ++number) remove_left(directory_ + "/" + hidden_name(name, number));
  make_hidden(name);
}

output_set::~output_set() {
  open_.reset();
  mutex_lock lock(mutex_);
  if (!hidden_.empty()) remove_hidden();
  while (!members_.empty()) members_.pop_back();  // directories that were made go in the reverse order
  close(descriptor_);
}

// Takes no memory, of which there may be none left. What was replaced and could not be put back stays: the error has
// named it.
void output_set::remove_hidden() noexcept {
  for (const member& m : members_)
    if (!m.hidden.empty()) unlinkat(descriptor_, m.hidden.c_str(), 0);
  if (has_its_name(descriptor_, hidden_)) rmdir(hidden_.c_str());
  hidden_.clear();
}

// What a process that is gone has left.
void output_set::remove_left(const std::string& hidden) const {
  const int descriptor = open_directory(hidden);
  if (descriptor < 0) return;
  if (lock_directory(descriptor) && has_its_name(descriptor, hidden)) {
    empty_directory(descriptor);
    rmdir(hidden.c_str());
  }
  close(descriptor);
}

// Another process may take it for a leftover, and remove it, until it is locked: then it is made again. What may have
// the name by then is another's.
void output_set::make_hidden(const std::string& name) {
  int cause = EEXIST;
  int number = 0;
  for (int tries = 0; number < most_hidden && tries < most_tries; ++tries) {
    const std::string hidden = directory_ + "/" + hidden_name(name, number);
    const int refused = make_private_directory(hidden);
    if (refused == EEXIST) {  // says nothing where what went wrong with the one before is known
      ++number;
      continue;
    }
    if (refused != 0) {
      cause = refused;
      break;
    }
    const int descriptor = open_directory(hidden);
    if (descriptor < 0) {
      cause = errno;
      if (cause == ENOENT) continue;
      rmdir(hidden.c_str());
      break;
    }
    // Where the file system has no locks, what is left over is never removed.
    const bool taken = !lock_directory(descriptor) && errno == EWOULDBLOCK;
    struct stat info {};
    if (!taken && has_its_name(descriptor, hidden) && fstat(descriptor, &info) == 0) {
      descriptor_ = descriptor;
      device_ = info.st_dev;
      hidden_ = hidden;
      return;
    }
    close(descriptor);
  }
  refuse(path_, cause);
}

uint64_t output_set::memory_of(size_t path_bytes) {
  // Two texts of the path, and what the deque and the allocator add.
  return sizeof(member) + 2 * (path_bytes + 32) + 32;
}

uint32_t output_set::add(const std::string& path) {
  const std::string followed = followed_output(path);
  look_at(path, followed);
  mutex_lock lock(mutex_);
  const size_t number = members_.size();
  members_.emplace_back(path, followed, std::to_string(number));
  memory_bytes_ += memory_of(path.size());
  return static_cast<uint32_t>(number);
}

// Whether it can be made or replaced, as far as it can be seen without making anything.
void output_set::look_at(const std::string& path, const std::string& followed) const {
  for (const std::filesystem::path& name : std::filesystem::path(path))
    if (name.string().size() > most_name_bytes)
      throw error(error_kind::output,
                  fmt::format("can't write {}: a name in it has {} bytes, and {} are the most that a name may have",
                              path, name.string().size(), most_name_bytes),
                  "name files by shorter values: a map can make them");
  if (output_target::is_stream(followed))
    throw error(error_kind::output, fmt::format("can't write {}: it is no file", path), "write to another directory");
  std::filesystem::path directory = std::filesystem::path(followed).parent_path();
  struct stat info {};
  while (!directory.empty() && stat(directory.c_str(), &info) != 0) {
    if (errno != ENOENT) refuse(path, errno);
    directory = directory.parent_path();
  }
  if (directory.empty()) directory = ".";
  if (stat(directory.c_str(), &info) != 0) refuse(path, errno);
  if (!S_ISDIR(info.st_mode)) refuse(path, ENOTDIR);
  if (info.st_dev != device_)
    throw error(error_kind::output,
                fmt::format("can't write {}: {} is another file system than {}", path, directory.string(), directory_),
                "write all files to one file system, by sinks of their own where there are several");
  if (faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0) refuse(path, errno);
}

void output_set::count_rows(uint32_t file, uint64_t num_rows) { at(file).num_rows += num_rows; }

output_set::member& output_set::at(size_t file) const {
  mutex_lock lock(mutex_);
  return members_[file];
}

std::unique_ptr<file> output_set::open_member(const member& m, int flags) const {
  const int descriptor = retry_interrupted(
      [&] { return openat(descriptor_, m.hidden.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0666); });
  if (descriptor < 0) refuse(m.path, errno);
  return file::adopt(descriptor, m.path, false);
}

void output_set::append(uint32_t file, const std::byte* data, size_t num_bytes) {
  member& m = at(file);
  if (opened_ != &m) {
    close_file();
    open_ = open_member(m, m.num_bytes == 0 ? O_WRONLY | O_CREAT | O_EXCL : O_WRONLY);
    opened_ = &m;
    ++num_opened_;
  }
  const int64_t result = open_->write_at(m.num_bytes, data, num_bytes);
  if (result < 0 || static_cast<size_t>(result) < num_bytes) {
    const int cause = result < 0 ? static_cast<int>(-result) : EIO;
    const bool full = cause == ENOSPC || cause == EDQUOT || cause == EFBIG;
    throw error(
        full ? error_kind::output : error_kind::io,
        fmt::format("can't write {} bytes at offset {} of {}: {}", num_bytes, m.num_bytes, m.path, errno_text(cause)),
        full ? "free space on that disk, or write to another one" : "check the disk and the system log (dmesg)");
  }
  m.num_bytes += num_bytes;
}

void output_set::close_file() {
  open_.reset();
  opened_ = nullptr;
}

size_t output_set::num_names() const {
  mutex_lock lock(mutex_);
  return members_.size();
}

std::string output_set::path_of(size_t name) const { return at(name).path; }

std::optional<output_files> output_set::files() const {
  output_files out;
  mutex_lock lock(mutex_);
  out.num_files = members_.size();
  for (const member& m : members_) {
    if (out.files.size() == output_files::most_listed_files) break;
    out.files.push_back({m.path, m.num_rows, m.num_bytes});
  }
  return out;
}

void output_set::sync() {
  close_file();
  const size_t num = num_names();
  // All begin to be written before the first one is waited for.
  for (size_t i = 0; i < num; ++i)
    sync_file_range(open_member(at(i), O_RDONLY)->descriptor(), 0, 0, SYNC_FILE_RANGE_WRITE);
  for (size_t i = 0; i < num; ++i) open_member(at(i), O_RDONLY)->sync();
}

void output_set::prepare() {
  close_file();
  if (!has_its_name(descriptor_, hidden_)) refuse(path_, ENOENT);
  const size_t num = num_names();
  for (size_t i = 0; i < num; ++i) {
    member& m = at(i);
    m.name.make_directory();
    m.name.open_directory();
    struct stat info {};
    if (fstat(m.name.directory_descriptor(), &info) != 0) refuse(m.path, errno);
    if (info.st_dev != device_) refuse(m.path, EXDEV);
    m.device = info.st_dev;
    m.directory = info.st_ino;
    const std::unique_ptr<file> content = open_member(m, O_RDONLY);
    m.name.remember_content(content->descriptor());
    if (m.name.exists())
      m.name.take_over_permissions(content->descriptor());
    else if (faccessat(m.name.directory_descriptor(), ".", W_OK | X_OK, AT_EACCESS) != 0)
      refuse(m.path, errno);
    m.name.close_directory();
  }
}

// Whether what is open is still the one that prepare() has found.
bool output_set::is_same_directory(const member& m) noexcept {
  struct stat info {};
  return fstat(m.name.directory_descriptor(), &info) == 0 && info.st_dev == m.device && info.st_ino == m.directory;
}

void output_set::reopen_directory(member& m) {
  m.name.open_directory();
  if (is_same_directory(m)) return;
  m.name.close_directory();
  throw error(error_kind::output,
              fmt::format("can't write {}: its directory was exchanged while the outputs got their names", m.path),
              "somebody moved it meanwhile: write to a directory that only you can change");
}

void output_set::place(size_t name, bool keep_old) {
  member& m = at(name);
  reopen_directory(m);
  try {
    m.name.take(descriptor_, m.hidden, m.name.exists(), keep_old,
                [name](int number) { return fmt::format("{}.{}", name, number); });
  } catch (...) {
    m.name.close_directory();
    throw;
  }
  m.name.close_directory();
}

bool output_set::undo(size_t name) noexcept {
  member& m = at(name);
  const bool done = m.name.try_open_directory() && is_same_directory(m) && m.name.undo(descriptor_, m.hidden);
  m.name.close_directory();
  return done;
}

std::string output_set::kept_old(size_t name) const {
  const std::string& old = at(name).name.old();
  return old.empty() ? old : hidden_ + "/" + old;
}

void output_set::settle() noexcept {
  mutex_lock lock(mutex_);
  for (member& m : members_) m.name.settle(descriptor_);
  made_.keep();
  remove_hidden();
}

void output_set::sync_directories(std::set<std::string>& done) {
  for (size_t i = 0; i < num_names(); ++i) at(i).name.sync_directories(done);
  sync_directory(directory_, path_, done);
  for (const std::string& parent : made_.parents()) sync_directory(parent, path_, done);
}

}  // namespace flowrun::io
