#include "engine/io/file_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/io/decoded_stream.h"
#include "engine/io/descriptor_stream.h"
#include "engine/io/file.h"
#include "engine/io/file_pieces.h"
#include "engine/io/page_cache.h"
#include "engine/io/stream_chunks.h"

namespace flowrun::io {

namespace {

constexpr unsigned max_depth = 64;
constexpr uint64_t small_bytes = 1 * MiB;  // not worth a look into the page cache

std::unique_ptr<file> open_regular(const std::string& path, caching cache, uint64_t begin, uint64_t end) {
  if (cache == caching::direct) return file::open(path, open_mode::read, {.direct = true});
  auto buffered = file::open(path, open_mode::read);
  end = std::min(end, buffered->num_bytes());
  if (cache == caching::buffered || begin >= end || end - begin < small_bytes) return buffered;
  if (cached_share(buffered->descriptor(), begin, end) >= 0.5) return buffered;
  return file::open(path, open_mode::read, {.direct = true});
}

// Has positions and a length that can be trusted. Files in /proc are regular with length 0: they are read as streams.
bool is_positional(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return !names_descriptor(path);  // opening tells why
  return S_ISDIR(info.st_mode) || (S_ISREG(info.st_mode) && info.st_size > 0);
}

uint64_t plus(uint64_t begin, uint64_t more) { return more > UINT64_MAX - begin ? UINT64_MAX : begin + more; }

// The first bytes of a file from `origin` on; none where they can't be read, which reading then says.
std::vector<std::byte> first_bytes(const std::string& path, uint64_t origin) {
  std::vector<std::byte> out(header_bytes);
  const int64_t got = file::open(path, open_mode::read)->read_at(origin, out.data(), out.size());
  out.resize(static_cast<size_t>(std::max<int64_t>(got, 0)));
  if (got >= 0) refuse_cut_header(path, out);
  return out;
}

}  // namespace

class file_reader::core {
 public:
  core(backend& io, std::string path, const file_reader_options& options, uint64_t begin, uint64_t end,
       disk_statistics* statistics)
      : path_(std::move(path)) {
    const size_t chunk_bytes = std::max<size_t>(options.chunk_bytes, 1);
    const unsigned depth = std::clamp(options.depth, 1U, max_depth);
    const size_t num_buffers = depth + std::max(options.max_held, 1U);
    stream_options streaming{chunk_bytes, depth, num_buffers, begin, end};
    if (!is_positional(path_)) {
      std::unique_ptr<byte_stream> from;
      if (options.decoding) {
        const decoding_memory memory = divide_for_pipe(options.decoding->memory_bytes, chunk_bytes, num_buffers);
        streaming.chunk_bytes = memory.chunk_bytes;
        from = recognised_pipe(path_, memory, options.decoding->hint);
      } else {
        from = descriptor_stream::open(path_, direction::read);
      }
      stream_ = std::make_unique<stream_chunks>(io, std::move(from), path_, streaming, statistics);
      return;
    }
    if (options.decoding) {
      const uint64_t origin = options.decoding->origin;
      const std::vector<std::byte> first = first_bytes(path_, origin);
      if (const encoding content = recognise(first); content != encoding::plain) {
        const decoding_memory memory =
            divide_for_file(options.decoding->memory_bytes, chunk_bytes, num_buffers, decoder_bytes(content, first));
        streaming.chunk_bytes = memory.chunk_bytes;
        stream_ = std::make_unique<stream_chunks>(
            io, decoded_file(io, path_, content, origin, options.cache, memory, statistics, options.decoding->hint),
            path_, streaming, nullptr);
        return;
      }
      begin = plus(begin, origin);
      end = plus(end, origin);
    }
    pieces_ = std::make_unique<file_pieces>(open_regular(path_, options.cache, begin, end), chunk_bytes, begin, end,
                                            statistics);
    window_ = std::make_unique<read_window>(io, *pieces_,
                                            window_options{.num_pieces = pieces_->num_pieces(),
                                                           .longest_piece = pieces_->buffer_bytes(),
                                                           .num_buffers = num_buffers,
                                                           .most_ahead = depth,
                                                           .ahead_at_once = options.ahead_at_once});
  }

  outcome next(chunk& out, waker* waiting) {
    if (stream_ != nullptr) {
      stream_piece piece;
      const outcome o = stream_->next(piece, waiting);
      if (!o.is_ready()) return o;
      const auto taken = static_cast<size_t>(piece.num_taken - taken_);
      taken_ = piece.num_taken;
      out = {std::move(piece.owner), piece.data, piece.num_bytes, piece.offset, taken};
      return o;
    }
    read_piece piece;
    const outcome o = window_->next(piece, waiting);
    if (!o.is_ready()) return o;
    const file_pieces::place at = pieces_->place_of(piece.number);
    out = {std::move(piece.owner), piece.memory + at.skip, at.num_bytes, at.offset, at.num_bytes};
    return o;
  }

  void skip_to(uint64_t offset) {
    FLOWRUN_CHECK(window_ != nullptr);
    window_->skip_to(pieces_->piece_at(offset));
  }

  const std::string& path() const { return path_; }
  std::optional<uint64_t> num_bytes() const {
    return stream_ != nullptr ? std::nullopt : std::optional<uint64_t>(pieces_->end() - pieces_->begin());
  }
  bool is_direct() const { return pieces_ != nullptr && pieces_->is_direct(); }
  bool is_stream() const { return stream_ != nullptr; }

 private:
  const std::string path_;
  // A file uses the first two; a pipe or device, and what is decoded, the third.
  std::unique_ptr<file_pieces> pieces_;
  std::unique_ptr<read_window> window_;
  std::unique_ptr<stream_chunks> stream_;
  uint64_t taken_ = 0;  // by the stream, up to the last piece
};

file_reader::file_reader(backend& io, const std::string& path, file_reader_options options, uint64_t begin,
                         uint64_t end, disk_statistics* statistics)
    : core_(std::make_unique<core>(io, path, options, begin, end, statistics)) {}

file_reader::~file_reader() = default;

outcome file_reader::next(chunk& out, waker* waiting) { return core_->next(out, waiting); }
void file_reader::skip_to(uint64_t offset) { core_->skip_to(offset); }
const std::string& file_reader::path() const { return core_->path(); }
std::optional<uint64_t> file_reader::num_bytes() const { return core_->num_bytes(); }
bool file_reader::is_direct() const { return core_->is_direct(); }
bool file_reader::is_stream() const { return core_->is_stream(); }

}  // namespace flowrun::io
