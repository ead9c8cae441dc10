// Writes one output file from front to back, behind its producer's back, and lets it appear whole or not at all.
//
//   write()* finish() commit()                      a destructor before commit() leaves nothing under the name
//   write()* rewrite_beginning() finish() commit()  the first bytes are known only at the end: a header with a count
//
// write() copies into one of `depth` buffers of chunk_bytes; full ones go to the disk while the next is filled. The
// disk space is reserved ahead in growing steps, since direct writes past the end of a file would wait for each other.
// Outputs that are no regular files (/dev/stdout, a pipe) are written by a plain thread, at once and for good: what is
// written can't be taken back. Cost: one copy; the tail of a direct file is padded to a page and cut off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/base/outcome.h"
#include "engine/base/units.h"
#include "engine/base/waker.h"
#include "engine/io/joint_output.h"
#include "engine/io/request.h"

namespace flowrun::io {

class file;

struct output_file_options {
  size_t chunk_bytes = 1 * MiB;       // rounded up to whole pages
  unsigned depth = 4;                 // buffers; at least 2
  bool direct = true;                 // where the file system can
  uint64_t reserve_bytes = 64 * MiB;  // the largest step of reserving ahead; 0: never
  bool durable = true;                // commit() waits until the content is on the disk (fsync)
  bool hashed = false;                // content_hash() tells what the content is
  size_t rewritten_bytes = 0;         // how many first bytes rewrite_beginning() may be given
  // Goes on behind the first `kept_bytes` bytes of the file that keep() gave this path in another process; empty:
  // begins.
  std::string kept_path = {};
  uint64_t kept_bytes = 0;
};

// One thread at a time calls; wakes come from any thread.
class output_file final : public joint_output {
 public:
  // Creates missing directories. Throws error(output) when it can't be written there, or is a directory. `io` and
  // `statistics` (may be null) must outlive it.
  output_file(backend& io, const std::string& path, output_file_options options = {},
              disk_statistics* statistics = nullptr);
  // Waits for writes in flight.
  ~output_file() override;
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  // Takes `consumed` bytes from the front of `data`. ready: that was all. blocked: all buffers are being written; call
  // again with the rest after `waiting` was woken. `waiting` must stay alive until woken, until the next call, or until
  // this is gone. Throws error(output) when the disk is full, error(io) when it fails; then always the same.
  outcome write(std::span<const std::byte> data, size_t& consumed, waker* waiting);
  // The first bytes of the file become these, which are as many as were written at least, once all others are there:
  // finish() sees to it. Not of a stream.
  void rewrite_beginning(std::span<const std::byte> bytes);
  // No more writes will come: hands over the tail. blocked until all has been written, then done. Throws like write().
  outcome finish(waker* waiting);
  // After finish() was done: durable, and under its name. Blocks for the disk. Throws error(io), error(output).
  void commit();

  // --- after finish() was done: a commit together with others (joint_commit.h) ---
  bool is_durable() const override;
  // Not known of what was rewritten, and of what goes on behind another process.
  std::optional<uint64_t> content_hash() const override;
  size_t num_names() const override { return is_stream() ? 0 : 1; }
  std::string path_of(size_t) const override { return path(); }
  void sync() override;
  void prepare() override;
  void place(size_t, bool keep_old) override;
  bool undo(size_t) noexcept override;
  std::string kept_old(size_t) const override;
  void settle() noexcept override;
  void sync_directories(std::set<std::string>& done) override;

  // What was taken stays when this is gone, in a file with a hidden name that ends so, until it is committed. Returns
  // the path of it. Not of a stream. Throws error(output).
  std::string keep(const std::string& suffix);
  // The path that keep() would give. What has that name, of an earlier process, is removed.
  std::string clear_kept(const std::string& suffix) const;
  // That file, for others who sync it. Not of a stream.
  std::shared_ptr<file> content() const;
  // The first so many bytes have been handed to the file system.
  uint64_t num_bytes_written() const;

  const std::string& path() const override;
  uint64_t num_bytes() const;  // taken so far
  bool is_direct() const;
  bool is_stream() const override;

 private:
  class core;
  std::unique_ptr<core> core_;
};

}  // namespace flowrun::io
