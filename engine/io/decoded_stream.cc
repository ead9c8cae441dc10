#include "engine/io/decoded_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/decoder.h"
#include "engine/io/descriptor_stream.h"
#include "engine/io/encoder.h"

namespace flowrun::io {

namespace {

constexpr size_t least_input_bytes = 64 * KiB;
constexpr size_t most_input_bytes = 1 * MiB;
constexpr size_t least_chunk_bytes = 16 * KiB;

// Where compressed bytes come from.
class encoded_bytes {
 public:
  virtual ~encoded_bytes() = default;
  // The next bytes into `out`, which stay until the next call; none at the end. 0, or a negative errno.
  virtual int64_t next(std::span<const std::byte>& out) = 0;
  virtual void stop() noexcept = 0;
};

class bytes_of_file final : public encoded_bytes {
 public:
  bytes_of_file(backend& io, const std::string& path, uint64_t origin, caching cache, const decoding_memory& memory,
                disk_statistics* statistics)
      : reader_(io, path,
                {.chunk_bytes = memory.input_bytes,
                 .depth = decoding_memory::input_ahead,
                 .max_held = decoding_memory::input_buffers - decoding_memory::input_ahead,
                 .cache = cache},
                origin, UINT64_MAX, statistics) {}

  int64_t next(std::span<const std::byte>& out) override {
    out = {};
    held_ = {};  // its buffer goes back first
    for (;;) {
      if (stopped_) return -ECANCELED;
      const outcome o = reader_.next(held_, &arrival_);
      if (o.is_ready()) out = {held_.data, held_.num_bytes};
      if (!o.is_blocked()) return 0;
      arrival_.wait();
    }
  }
  void stop() noexcept override {
    stopped_ = true;
    arrival_.wake();
  }

 private:
  blocking_waker arrival_;
  std::atomic<bool> stopped_ = false;
  file_reader reader_;  // goes first: it may still wake
  chunk held_;
};

class bytes_of_pipe final : public encoded_bytes {
 public:
  // `first`: what has been read of it already.
  bytes_of_pipe(descriptor_stream& from, std::span<const std::byte> first, size_t buffer_bytes)
      : from_(from), buffer_(std::max(buffer_bytes, first.size())), num_first_(first.size()) {
    std::copy(first.begin(), first.end(), buffer_.begin());
  }

  int64_t next(std::span<const std::byte>& out) override {
    const size_t before = std::exchange(num_first_, 0);
    const int64_t got = from_.read(buffer_.data() + before, buffer_.size() - before);
    out = {buffer_.data(), before + static_cast<size_t>(std::max<int64_t>(got, 0))};
    return std::min<int64_t>(got, 0);
  }
  void stop() noexcept override { from_.stop(); }

 private:
  descriptor_stream& from_;
  std::vector<std::byte> buffer_;
  size_t num_first_;
};

class decoded_stream final : public byte_stream {
 public:
  decoded_stream(std::unique_ptr<encoded_bytes> from, std::string path, encoding content, uint64_t memory_bytes,
                 std::string hint)
      : from_(std::move(from)),
        path_(std::move(path)),
        hint_(std::move(hint)),
        memory_bytes_(memory_bytes),
        decoder_(content, memory_bytes) {}

  int64_t read(std::byte* data, size_t num_bytes) override {
    size_t filled = 0;
    while (filled < num_bytes && !ended_) {
      if (stopped_) return -ECANCELED;
      const decoder::step made = decode({data + filled, num_bytes - filled});
      filled += made.made;
      input_ = input_.subspan(made.taken);
      if (made.taken > 0 || made.made > 0) continue;
      if (const int64_t failure = from_->next(input_); failure < 0) return failure;
      if (!input_.empty()) continue;
      ended_ = true;
      finish();
    }
    return static_cast<int64_t>(filled);
  }
  void stop() noexcept override {
    stopped_ = true;
    from_->stop();
  }
  uint64_t num_taken() const override { return decoder_.num_taken(); }

 private:
  decoder::step decode(std::span<std::byte> to) {
    try {
      return decoder_.decode(input_, to);
    } catch (const decoding_error& why) {
      if (why.wanted_bytes() == 0) fail(why, "is damaged");
      throw error(error_kind::resources,
                  fmt::format("{}: decoding it takes {}, and its reader has {}: {}", path_,
                              format_bytes(why.wanted_bytes()), format_bytes(memory_bytes_), why.what()),
                  "give the job more memory (resources: {memory: …}), or compress the file with a smaller window");
    }
  }

  void finish() {
    try {
      decoder_.finish();
    } catch (const decoding_error& why) {
      fail(why, "is cut off");
    }
  }

  [[noreturn]] void fail(const decoding_error& why, const char* what) {
    throw error(
        error_kind::bad_data,
        fmt::format("{}: its {} data {} at byte {} of the file, in what begins at byte {}: {}", path_,
                    name_of(decoder_.content()), what, decoder_.num_taken(), decoder_.member_begin(), why.what()),
        "was it copied as a whole? Make or get the file again" + (hint_.empty() ? hint_ : "; " + hint_));
  }

  const std::unique_ptr<encoded_bytes> from_;
  const std::string path_;
  const std::string hint_;
  const uint64_t memory_bytes_;
  std::atomic<bool> stopped_ = false;
  decoder decoder_;
  std::span<const std::byte> input_;
  bool ended_ = false;
};

class pipe_stream final : public byte_stream {
 public:
  pipe_stream(const std::string& path, const decoding_memory& memory, std::string hint)
      : pipe_(descriptor_stream::open(path, direction::read)), memory_(memory), hint_(std::move(hint)) {}

  int64_t read(std::byte* data, size_t num_bytes) override {
    if (!recognised_) {
      if (const int64_t failure = look(); failure < 0) return failure;
    }
    if (decoded_) return decoded_->read(data, num_bytes);
    const size_t given = std::min(first_.size(), num_bytes);
    std::copy_n(first_.begin(), given, data);
    first_ = first_.subspan(given);
    const int64_t got = given == num_bytes ? 0 : pipe_->read(data + given, num_bytes - given);
    return got < 0 ? got : static_cast<int64_t>(given) + got;
  }
  void stop() noexcept override { pipe_->stop(); }
  uint64_t num_taken() const override { return decoded_ ? decoded_->num_taken() : pipe_->num_taken() - first_.size(); }

 private:
  int64_t look() {
    const int64_t got = pipe_->read(memory_of_first_.data(), memory_of_first_.size());
    if (got < 0) return got;
    recognised_ = true;
    first_ = {memory_of_first_.data(), static_cast<size_t>(got)};
    refuse_cut_header(pipe_->path(), first_);
    if (const encoding content = recognise(first_); content != encoding::plain)
      decoded_.emplace(std::make_unique<bytes_of_pipe>(*pipe_, first_, memory_.input_bytes), pipe_->path(), content,
                       memory_.decoder_bytes, hint_);
    return 0;
  }

  const std::unique_ptr<descriptor_stream> pipe_;
  const decoding_memory memory_;
  const std::string hint_;
  std::array<std::byte, telling_bytes> memory_of_first_{};
  std::span<const std::byte> first_;  // read, and not given
  bool recognised_ = false;
  std::optional<decoded_stream> decoded_;
};

uint64_t rest_of(uint64_t all, uint64_t used) { return all - std::min(all, used); }

}  // namespace

decoding_memory divide_for_file(uint64_t memory_bytes, size_t chunk_bytes, size_t num_buffers, uint64_t decoder_bytes) {
  decoding_memory out{chunk_bytes, most_input_bytes, 0};
  const auto used = [&] { return num_buffers * out.chunk_bytes + decoding_memory::input_buffers * out.input_bytes; };
  out.input_bytes =
      std::clamp(std::bit_floor(memory_bytes / 32), uint64_t{least_input_bytes}, uint64_t{most_input_bytes});
  while (out.chunk_bytes / 2 >= least_chunk_bytes && used() + decoder_bytes > memory_bytes) out.chunk_bytes /= 2;
  while (out.input_bytes > least_input_bytes && used() + decoder_bytes > memory_bytes) out.input_bytes /= 2;
  out.decoder_bytes = rest_of(memory_bytes, used());
  return out;
}

decoding_memory divide_for_pipe(uint64_t memory_bytes, size_t chunk_bytes, size_t num_buffers) {
  decoding_memory out{chunk_bytes, least_input_bytes, 0};
  while (out.chunk_bytes / 2 >= least_chunk_bytes && num_buffers * out.chunk_bytes > memory_bytes / 2)
    out.chunk_bytes /= 2;
  out.decoder_bytes = rest_of(memory_bytes, num_buffers * out.chunk_bytes + out.input_bytes);
  return out;
}

uint64_t least_decoding_bytes(uint64_t decoder_bytes) {
  return decoder_bytes == 0 ? 0 : decoder_bytes + decoding_memory::input_buffers * least_input_bytes;
}

void refuse_cut_header(const std::string& path, std::span<const std::byte> beginning) {
  const encoding named = encoding_of_name(path);
  if (beginning.size() >= telling_bytes || named == encoding::plain || recognise(beginning) != encoding::plain) return;
  throw error(error_kind::bad_data,
              fmt::format("{}: its name says {}, but it has {}, too few for that: it is cut off", path, name_of(named),
                          counted(beginning.size(), "byte")),
              "get the file again; rename it where it is plain text");
}

std::unique_ptr<byte_stream> decoded_file(backend& io, const std::string& path, encoding content, uint64_t origin,
                                          caching cache, const decoding_memory& memory, disk_statistics* statistics,
                                          const std::string& hint) {
  return std::make_unique<decoded_stream>(std::make_unique<bytes_of_file>(io, path, origin, cache, memory, statistics),
                                          path, content, memory.decoder_bytes, hint);
}

std::unique_ptr<byte_stream> recognised_pipe(const std::string& path, const decoding_memory& memory,
                                             const std::string& hint) {
  return std::make_unique<pipe_stream>(path, memory, hint);
}

}  // namespace flowrun::io
