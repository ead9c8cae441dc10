// A file that the I/O layer can transfer to and from: a descriptor and how it was opened, or a piece of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace flowrun {
enum class error_kind;
}

namespace flowrun::io {

enum class open_mode {
  read,       // an existing file; error(missing_input) when it can't be opened
  write_new,  // a new file (O_CREAT | O_EXCL); error(output) when it can't be created
  scratch,    // `path` is a directory: an unlinked file in it (O_TMPFILE, or create + unlink), read and write; 0600
  kept,       // scratch that outlives the process: the file itself, made where it is missing, never a link; 0600
};

struct open_options {
  // Bypass the page cache. Falls back to buffered transfers on file systems that refuse (EINVAL at open): see
  // is_direct().
  bool direct = false;
};

// Closes on destruction. Thread-safe: transfers carry their own offset.
class file {
 public:
  // Opens `path`; throws as described at open_mode, with the path and the cause in the message.
  static std::unique_ptr<file> open(const std::string& path, open_mode mode, open_options options = {});
  // Takes over the open descriptor of an output; `path` is for messages. `direct` says that it was opened with
  // O_DIRECT.
  static std::unique_ptr<file> adopt(int descriptor, std::string path, bool direct);
  // A file in memory, for the memory backend and tests.
  static std::unique_ptr<file> in_memory(std::string name, uint64_t num_bytes = 0);

  ~file();
  file(const file&) = delete;
  file& operator=(const file&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }  // -1 for a file in memory
  // Transfers must have offset, address and length aligned to io_alignment (engine/base/buffer.h).
  bool is_direct() const { return direct_; }
  bool is_memory() const { return descriptor_ < 0; }
  // What it means that there is no room for it: error_kind::output for an output, error_kind::resources for scratch.
  error_kind when_full() const { return when_full_; }
  uint64_t num_bytes() const;
  // Sets the length.
  void truncate(uint64_t num_bytes);
  // Reserves [offset, offset + num_bytes) on the disk and extends the length to cover it. False when the file system
  // can't (EOPNOTSUPP); throws error(when_full()) when there is no room.
  bool reserve(uint64_t offset, uint64_t num_bytes);
  // Gives [offset, offset + num_bytes) back to the file system where it can (punch hole).
  void release(uint64_t offset, uint64_t num_bytes);
  // Makes the content durable; throws error(io) or error(when_full()).
  void sync();

  // Synchronous transfers, used by the thread backend and for aligned tails. Loop over short transfers and EINTR;
  // return the bytes moved, less than asked only at the end of the file (reads). Return a negative errno when the
  // system refuses.
  int64_t read_at(uint64_t offset, std::byte* data, size_t num_bytes);
  int64_t write_at(uint64_t offset, const std::byte* data, size_t num_bytes);

 private:
  struct memory;
  file(std::string path, int descriptor, bool direct, error_kind when_full);
  std::string path_;
  int descriptor_ = -1;
  bool direct_ = false;
  error_kind when_full_;
  std::unique_ptr<memory> memory_;
};

}  // namespace flowrun::io
