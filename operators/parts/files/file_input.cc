#include "operators/parts/files/file_input.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <numeric>
#include <utility>

#include "engine/base/buffer.h"
#include "engine/base/error.h"

namespace flowrun::operators {

namespace {

constexpr unsigned read_ahead = 8;  // chunks being read or ready
constexpr unsigned max_held = 8;    // chunks in the hands of the pipeline
constexpr size_t min_chunk_bytes = 64 * KiB;
constexpr size_t max_chunk_bytes = 1 * MiB;

std::string real_path(const std::string& path) { return path == "-" ? "/dev/stdin" : path; }

// The offset from which a file behind standard input is to be read. Another program may have read its beginning.
uint64_t standard_input_offset() {
  const off_t at = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
  return at > 0 ? static_cast<uint64_t>(at) : 0;
}

// Leaves the offset behind what has been read, as read(2) would. The next program with the same standard input then
// finds its end.
void leave_standard_input_at_end() { ::lseek(STDIN_FILENO, 0, SEEK_END); }

}  // namespace

plan::memory_wish reading_memory() {
  return {(read_ahead + max_held) * min_chunk_bytes, (read_ahead + max_held) * max_chunk_bytes, 0.1};
}

int64_t total_file_bytes(const plan::node_checker& params, const std::vector<std::string>& paths) {
  int64_t total = 0;
  bool known = true;
  for (const std::string& path : paths) {  // all, also behind one that is missing: the caller learns of each one
    const int64_t num_bytes = path == "-" ? -1 : params.file_bytes(path);
    known = known && num_bytes >= 0;
    total += num_bytes;
  }
  return known ? total : -1;
}

std::string beginning_of(const plan::node_checker& params, const std::vector<std::string>& paths) {
  for (const std::string& path : paths)
    if (path != "-" && params.file_bytes(path) > 0) return params.file_beginning(path);
  return {};
}

io::file_reader_options reading_options(const exec::services& job, uint64_t memory_bytes, size_t unit_bytes) {
  const uint64_t share = memory_bytes == 0 ? max_chunk_bytes : memory_bytes / (read_ahead + max_held);
  size_t chunk_bytes = std::bit_floor(std::clamp<uint64_t>(share, min_chunk_bytes, max_chunk_bytes));
  // Whole pages and whole units, so that (nearly) no unit straddles two chunks.
  const size_t step = std::lcm(std::max<size_t>(unit_bytes, 1), io_alignment);
  if (step <= chunk_bytes) chunk_bytes = round_down(chunk_bytes, step);
  io::file_reader_options options;
  options.chunk_bytes = chunk_bytes;
  options.depth = read_ahead;
  options.max_held = max_held;
  options.cache = job.options().direct ? io::caching::automatic : io::caching::buffered;
  return options;
}

file_input::file_input(exec::services& job, exec::node_counters& counters, std::vector<part> parts,
                       io::file_reader_options options, input_beginning from)
    : job_(job), counters_(counters), parts_(std::move(parts)), options_(options) {
  uint64_t total = 0;
  bool known = true;  // a pipe says nothing of its length
  for (part& p : parts_) {
    const bool standard = p.path == "-";
    p.path = real_path(p.path);
    std::error_code cause;
    const auto status = std::filesystem::status(p.path, cause);
    if (!std::filesystem::exists(status))
      throw error(error_kind::missing_input,
                  fmt::format("can't open {}: {}", p.path, errno_text(cause ? cause.value() : ENOENT)),
                  "check the path; relative paths start at the working directory");
    if (!std::filesystem::is_regular_file(status)) {
      known = false;
      continue;
    }
    const uint64_t file_bytes = std::filesystem::file_size(p.path, cause);
    // What has no length of its own (/proc) is read from where it stands.
    if (standard && file_bytes > 0) {
      const uint64_t start = standard_input_offset();
      p.begin += start;
      if (p.end < UINT64_MAX - start)
        p.end += start;
      else
        standard_file_ = static_cast<size_t>(&p - parts_.data());
    }
    if (!cause) total += std::min(p.end, file_bytes) - std::min(p.begin, file_bytes);
  }
  if (known) counters_.file_total_bytes += total;
  if (parts_.empty()) return;
  parts_.at(from.file).begin += from.byte;
  open(from.file);
}

void file_input::open(size_t file) {
  reader_.reset();  // gives its buffers back first
  const part& p = parts_[file];
  reader_ = std::make_unique<io::file_reader>(job_.backend(), p.path, options_, p.begin, p.end);
  file_ = file;
  next_ = file + 1;
}

outcome file_input::next(io::chunk& out, waker& w) {
  if (reader_ == nullptr) {
    if (next_ >= parts_.size()) return outcome::done();
    open(next_);
  }
  const outcome o = reader_->next(out, &w);
  if (o.is_blocked()) return o;
  if (o.is_done()) {
    reader_.reset();
    if (file_ == standard_file_) leave_standard_input_at_end();
    out = {};
  }
  counters_.file_read_bytes += out.num_bytes;
  return outcome::ready();
}

}  // namespace flowrun::operators
