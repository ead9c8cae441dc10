#include "operators/parts/files/file_input.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/io/decoded_stream.h"
#include "engine/io/decoder.h"

namespace flowrun::operators {

namespace {

constexpr unsigned read_ahead = 8;  // chunks being read or ready
constexpr unsigned max_held = 8;    // chunks in the hands of the pipeline
constexpr size_t min_chunk_bytes = 64 * KiB;
constexpr size_t max_chunk_bytes = 1 * MiB;
constexpr uint64_t unplanned_bytes = 256 * MiB;

// What sizes are estimated from.
constexpr size_t sample_bytes = 256 * KiB;
constexpr size_t most_block_bytes = 1 * MiB;  // of bzip2, which gives nothing before a block is whole
constexpr size_t most_sampled_text = 4 * MiB;
constexpr double usual_expansion = 4;  // of text, where the first block is longer than what is looked at

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

input_facts look_at_inputs(const plan::node_checker& node, const std::vector<std::string>& paths, bool decode) {
  input_facts out;
  uint64_t total = 0;
  bool known = true;
  std::map<io::encoding, double> expansions;  // as the first file of each kind has them
  for (const std::string& path : paths) {     // all, also behind one that is missing: the checker notes each one
    const int64_t file_bytes = path == "-" ? -1 : node.file_bytes(path);
    known = known && file_bytes >= 0;
    out.any_unseen = out.any_unseen || (decode && file_bytes < 0);
    if (file_bytes <= 0) continue;
    const std::string header = decode ? node.file_beginning(path, io::header_bytes) : std::string();
    const io::encoding content = io::recognise(std::as_bytes(std::span(header)));
    if (content == io::encoding::plain) {
      if (out.beginning.empty()) out.beginning = node.file_beginning(path, sample_bytes);
      total += static_cast<uint64_t>(file_bytes);
      continue;
    }
    out.estimated = true;
    out.decoder_bytes = std::max(out.decoder_bytes, io::decoder_bytes(content, std::as_bytes(std::span(header))));
    const auto [expansion, first] = expansions.try_emplace(content, usual_expansion);
    if (first) {
      const size_t looked_at = content == io::encoding::bzip2 ? most_block_bytes : sample_bytes;
      const std::string sample = node.file_beginning(path, looked_at);
      io::decoded_text decoded = io::decoded_beginning(content, std::as_bytes(std::span(sample)), most_sampled_text);
      if (decoded.num_taken > 0 && !decoded.text.empty())
        expansion->second = static_cast<double>(decoded.text.size()) / static_cast<double>(decoded.num_taken);
      if (out.beginning.empty()) out.beginning = decoded.text.substr(0, sample_bytes);
    }
    total += static_cast<uint64_t>(static_cast<double>(file_bytes) * expansion->second);
  }
  if (known) out.num_bytes = total;
  return out;
}

plan::memory_wish reading_memory(const input_facts& inputs) {
  constexpr uint64_t largest_unseen = 130 * MiB;  // the window of zstd --long, which is what zstd(1) decodes unasked
  const uint64_t decoding = io::least_decoding_bytes(inputs.decoder_bytes);
  const uint64_t most_decoding = inputs.any_unseen ? std::max(decoding, largest_unseen) : decoding;
  return {(read_ahead + max_held) * min_chunk_bytes + decoding,
          (read_ahead + max_held) * max_chunk_bytes + most_decoding, 0.1};
}

io::file_reader_options reading_options(const exec::services& job, uint64_t memory_bytes, size_t unit_bytes,
                                        bool decode) {
  const uint64_t share = memory_bytes == 0 ? max_chunk_bytes : memory_bytes / (read_ahead + max_held);
  size_t chunk_bytes = std::bit_floor(std::clamp<uint64_t>(share, min_chunk_bytes, max_chunk_bytes));
  // Whole pages and whole units, so that (nearly) no unit straddles two chunks.
  const size_t step = std::lcm(std::max<size_t>(unit_bytes, 1), io_alignment);
  if (step <= chunk_bytes) chunk_bytes = round_down(chunk_bytes, step);
  io::file_reader_options options;
  options.chunk_bytes = chunk_bytes;
  options.depth = read_ahead;
  options.max_held = max_held;
  // (Without a plan, as in tests, there is no limit to keep.)
  if (decode) options.decoding = io::decoding_options{memory_bytes == 0 ? unplanned_bytes : memory_bytes};
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
      p.origin = start;
      if (p.end == UINT64_MAX) standard_file_ = static_cast<size_t>(&p - parts_.data());
    }
    const uint64_t content_bytes = file_bytes - std::min(p.origin, file_bytes);
    if (!cause) total += std::min(p.end, content_bytes) - std::min(p.begin, content_bytes);
  }
  if (known) counters_.file_total_bytes += total;
  if (parts_.empty()) return;
  parts_.at(from.file).begin += from.byte;
  open(from.file);
}

void file_input::open(size_t file) {
  reader_.reset();  // gives its buffers back first
  const part& p = parts_[file];
  // Places are counted from the origin. What decodes finds out itself whether they are those of the file.
  uint64_t begin = p.begin, end = p.end;
  if (options_.decoding) {
    options_.decoding->origin = p.origin;
  } else {
    begin += std::min(p.origin, UINT64_MAX - begin);
    end += std::min(p.origin, UINT64_MAX - end);
  }
  reader_ = std::make_unique<io::file_reader>(job_.backend(), p.path, options_, begin, end);
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
  counters_.file_read_bytes += out.file_bytes;
  return outcome::ready();
}

plan::parameter_declaration input_path_parameter() {
  plan::parameter_declaration p;
  p.name = "path";
  p.kind = plan::parameter_kind::paths;
  p.required = true;
  p.help =
      "A file, or a list of files that are read one after another; - is standard input. Wildcards stand for the files "
      "that they match, sorted by name: * and ? within a name, [a-z], ** for any directories. A folder that a job "
      "with --cluster has written stands for its parts. Content that is compressed with gzip, zstd, bzip2 or xz is "
      "decoded.";
  return p;
}

plan::parameter_declaration input_type_parameter(std::string help) {
  plan::parameter_declaration p;
  p.name = "type";
  p.kind = plan::parameter_kind::row_type;
  p.required = true;
  p.help = std::move(help);
  return p;
}

}  // namespace flowrun::operators
