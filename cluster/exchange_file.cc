#include "cluster/exchange_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "cluster/damaged_file.h"
#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::cluster {

namespace {

constexpr char magic[] = "FLOWREX\n";
constexpr uint32_t version = 5;
// Parts of a merge then differ by some thousandths of what a file adds to them, and a thousand files have samples of
// 1 GiB, of which their reader needs no more than a few each.
constexpr uint64_t first_sample_every = 4 * KiB;
constexpr size_t most_samples = 8192;
// Where rows are so long that more of a frame would stay empty, frames lie as they come.
constexpr size_t parts_of_a_frame = 16;  // of which one may be empty

struct frame_header {
  uint32_t num_rows = 0;
  uint32_t unused = 0;
  uint64_t heap_bytes = 0;
  uint64_t checksum = 0;
};
struct frame_entry {
  uint64_t offset = 0;
  uint64_t first_row = 0;
  uint32_t num_rows = 0;
  uint32_t unused = 0;
};
struct sample_entry {
  uint64_t place = 0;
  uint32_t num_bytes = 0;
  uint32_t unused = 0;
};
struct file_tail {
  char magic[8] = {};
  uint32_t version = 0;
  uint32_t row_bytes = 0;
  uint64_t num_rows = 0;
  uint64_t num_frames = 0;
  uint64_t samples_offset = 0;
  uint64_t samples_checksum = 0;
  uint64_t index_offset = 0;
  uint64_t checksum = 0;
};
static_assert(sizeof(frame_header) == 24 && sizeof(frame_entry) == 24 && sizeof(sample_entry) == 16 &&
              sizeof(file_tail) == 64);

template <class T>
void put(std::vector<std::byte>& to, const T& value) {
  const auto* const from = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), from, from + sizeof value);
}
void put(std::vector<std::byte>& to, const void* data, size_t num_bytes) {
  const auto* const from = static_cast<const std::byte*>(data);
  to.insert(to.end(), from, from + num_bytes);
}

// A file in the place of another one is damage, too. The directory is the attempt's of a task.
std::string names_of(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
  return (whole.parent_path().filename() / whole.filename()).string();
}

uint64_t checksum_of(const std::string& path, const std::byte* index, size_t num_bytes, const file_tail& tail) {
  const std::string names = names_of(path);
  std::unique_ptr<XXH3_state_t, void (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                               [](XXH3_state_t* s) { XXH3_freeState(s); });
  XXH3_64bits_reset(state.get());
  XXH3_64bits_update(state.get(), index, num_bytes);
  XXH3_64bits_update(state.get(), &tail, offsetof(file_tail, checksum));
  XXH3_64bits_update(state.get(), names.data(), names.size());
  return XXH3_64bits_digest(state.get());
}

std::vector<uint32_t> string_offsets_of(const record::row_type& type) {
  std::vector<uint32_t> out;
  for (const record::column& c : type.columns())
    if (c.type.is_string()) out.push_back(c.offset);
  return out;
}

// Copies the row's strings behind `heap`, and makes the row, which lies at `to`, refer to them there.
void move_strings(const std::vector<uint32_t>& offsets, std::byte* to, const std::byte* from_heap,
                  std::vector<std::byte>& heap) {
  for (const uint32_t offset : offsets) {
    record::string_ref ref = record::load_ref(to + offset);
    const std::byte* const text = from_heap + ref.offset;
    ref.offset = static_cast<decltype(ref.offset)>(heap.size());
    heap.insert(heap.end(), text, text + ref.length);
    std::memcpy(to + offset, &ref, sizeof ref);
  }
}

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw damaged_file(fmt::format("{}: {}", path, what),
                     "the file is damaged, or was cut short: run the job again, and look at the disk");
}

// Takes what was put, front to back, and never reads beyond the end.
class reader {
 public:
  reader(const std::byte* from, const std::byte* end, const std::string& path) : at_(from), end_(end), path_(path) {}
  template <class T>
  T take() {
    T out;
    std::memcpy(&out, take(sizeof out), sizeof out);
    return out;
  }
  const std::byte* take(size_t num_bytes) {
    if (num_bytes > static_cast<size_t>(end_ - at_)) damaged(path_, "its index is damaged");
    at_ += num_bytes;
    return at_ - num_bytes;
  }
  bool at_end() const { return at_ == end_; }

 private:
  const std::byte* at_;
  const std::byte* const end_;
  const std::string& path_;
};

// The bytes of a file from one place to another.
std::vector<std::byte> bytes_of(std::ifstream& in, const std::string& path, uint64_t from, uint64_t num_bytes) {
  std::vector<std::byte> out(num_bytes);
  in.seekg(static_cast<std::streamoff>(from));
  if (!in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(num_bytes)))
    damaged(path, "it can't be read to its end");
  return out;
}

std::ifstream opened(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  const int cause = errno;
  if (in) return in;
  const std::string message = fmt::format("can't read {}: {}", path, errno_text(cause));
  if (cause == EMFILE || cause == ENFILE)
    throw error(error_kind::resources, message,
                "a task opens each file that it merges: raise the limit of open files (ulimit -n), or give fewer --tasks");
  throw error(error_kind::missing_input, message, "another task should have written it");
}

}  // namespace

exchange_encoder::exchange_encoder(const record::row_type& type, size_t frame_bytes)
    : type_(type),
      frame_bytes_(std::bit_floor(frame_bytes)),
      string_offsets_(string_offsets_of(type)),
      sample_every_(first_sample_every) {
  const std::string text = record::to_string(type);
  put(index_, static_cast<uint32_t>(text.size()));
  put(index_, text.data(), text.size());
  begin_frame();
}

void exchange_encoder::begin_frame() {
  frame_at_ = pending_.size();
  put(pending_, frame_header());
  heap_.clear();
  num_in_frame_ = 0;
}

void exchange_encoder::add(const record::batch& in) {
  num_rows_ += in.num_rows;
  if (string_offsets_.empty()) return add_rows(in.rows, in.num_rows);
  for (size_t i = 0; i < in.num_rows; ++i) add_row(in, i);
}

void exchange_encoder::add_rows(const std::byte* rows, size_t count) {
  const size_t row_bytes = type_.row_bytes();
  for (size_t i = 0; i < count;) {
    if (is_sampled()) sample(rows + i * row_bytes);
    // Up to the next sample, and the end of the frame.
    const uint64_t to_sample = (sample_every_ - since_sample_ + row_bytes - 1) / row_bytes;
    const uint64_t in_frame = (frame_bytes_ - std::min(frame_bytes_, bytes_in_frame())) / row_bytes;
    const size_t n = std::min<uint64_t>({count - i, to_sample, std::max<uint64_t>(in_frame, 1)});
    put(pending_, rows + i * row_bytes, n * row_bytes);
    num_in_frame_ += static_cast<uint32_t>(n);
    since_sample_ += n * row_bytes;
    i += n;
    if (bytes_in_frame() + row_bytes > frame_bytes_) end_frame();
  }
}

void exchange_encoder::add_row(const record::batch& in, size_t row) {
  uint64_t row_bytes = type_.row_bytes();
  for (const uint32_t offset : string_offsets_) row_bytes += record::load_ref(in.row(row) + offset).length;
  if (bytes_in_frame() + row_bytes > frame_bytes_) end_frame();
  const size_t at = pending_.size();
  put(pending_, in.row(row), type_.row_bytes());
  move_strings(string_offsets_, pending_.data() + at, in.heap, heap_);
  if (is_sampled()) sample(pending_.data() + at);
  ++num_in_frame_;
  since_sample_ += row_bytes;
}

// Of the next row, which has its strings in the frame at hand.
void exchange_encoder::sample(const std::byte* row) {
  std::vector<std::byte> alone(row, row + type_.row_bytes()), heap;
  move_strings(string_offsets_, alone.data(), heap_.data(), heap);
  put(alone, heap.data(), heap.size());
  bytes_of_samples_ += alone.size();
  samples_.push_back({num_rows_before_ + num_in_frame_, std::move(alone)});
  since_sample_ = 0;
  while (samples_.size() > most_samples || (samples_.size() > 1 && bytes_of_samples_ > bytes_of_samples)) {
    bytes_of_samples_ = 0;
    size_t kept = 0;
    for (size_t i = 0; i < samples_.size(); i += 2) {
      bytes_of_samples_ += samples_[i].content.size();
      if (i != kept) samples_[kept] = std::move(samples_[i]);
      ++kept;
    }
    samples_.resize(kept);
    sample_every_ *= 2;
  }
}

void exchange_encoder::end_frame(bool is_last) {
  if (num_in_frame_ == 0) return;
  put(pending_, heap_.data(), heap_.size());
  const uint64_t end = offset_ + (pending_.size() - frame_at_);
  const uint64_t rest = is_last ? 0 : round_up(end, frame_bytes_) - end;
  const size_t filling = rest <= frame_bytes_ / parts_of_a_frame ? rest : 0;
  pending_.resize(pending_.size() + filling);
  const size_t num_bytes = pending_.size() - frame_at_;
  frame_header header{num_in_frame_, 0, heap_.size() + filling, 0};
  header.checksum = XXH3_64bits(pending_.data() + frame_at_ + sizeof header, num_bytes - sizeof header);
  std::memcpy(pending_.data() + frame_at_, &header, sizeof header);
  put(index_, frame_entry{offset_, num_rows_before_, num_in_frame_, 0});
  offset_ += num_bytes;
  num_rows_before_ += num_in_frame_;
  ++num_frames_;
  begin_frame();
}

void exchange_encoder::finish(const std::string& path) {
  end_frame(true);
  pending_.resize(frame_at_);  // there is no other frame
  const size_t at = frame_at_;
  for (const kept_sample& s : samples_) {
    put(pending_, sample_entry{s.place, static_cast<uint32_t>(s.content.size()), 0});
    put(pending_, s.content.data(), s.content.size());
  }
  file_tail tail;
  std::memcpy(tail.magic, magic, sizeof tail.magic);
  tail.version = version;
  tail.row_bytes = type_.row_bytes();
  tail.num_rows = num_rows_;
  tail.num_frames = num_frames_;
  tail.samples_offset = offset_;
  tail.samples_checksum = XXH3_64bits(pending_.data() + at, pending_.size() - at);
  tail.index_offset = offset_ + (pending_.size() - at);
  tail.checksum = checksum_of(path, index_.data(), index_.size(), tail);
  put(pending_, index_.data(), index_.size());
  put(pending_, tail);
  frame_at_ = pending_.size();
}

void exchange_encoder::forget(size_t num_bytes) {
  written_ += num_bytes;
  if (written_ < frame_at_) return;
  // What is there of the frame at hand comes to the front. Where a batch is a frame, that is a header.
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(frame_at_));
  frame_at_ = written_ = 0;
}

uint64_t exchange_index::num_row_bytes() const {
  uint64_t out = 0;
  for (const exchange_frame& f : frames_) out += f.num_bytes - sizeof(frame_header);
  return out;
}

exchange_index exchange_index::load(const std::string& path, const record::row_type& type) {
  std::ifstream in = opened(path);
  std::error_code problem;
  const uint64_t file_bytes = std::filesystem::file_size(path, problem);
  file_tail tail;
  if (problem || file_bytes < sizeof tail) damaged(path, "it is no whole exchange file");
  const std::vector<std::byte> end = bytes_of(in, path, file_bytes - sizeof tail, sizeof tail);
  std::memcpy(&tail, end.data(), sizeof tail);
  if (std::memcmp(tail.magic, magic, sizeof tail.magic) != 0 || tail.version != version ||
      tail.index_offset > file_bytes - sizeof tail || tail.samples_offset > tail.index_offset)
    damaged(path, "it is no whole exchange file");
  const std::vector<std::byte> content =
      bytes_of(in, path, tail.index_offset, file_bytes - sizeof tail - tail.index_offset);
  if (checksum_of(path, content.data(), content.size(), tail) != tail.checksum)
    damaged(path, "its index is damaged, or another file's");
  reader index(content.data(), content.data() + content.size(), path);
  const auto text_bytes = index.take<uint32_t>();
  const std::string text(reinterpret_cast<const char*>(index.take(text_bytes)), text_bytes);
  if (text != record::to_string(type))
    throw error(error_kind::bad_data, fmt::format("{} has rows {}, not {}", path, text, record::to_string(type)),
                "all tasks of a job must be run by the same program");
  exchange_index out;
  while (!index.at_end()) {
    const auto entry = index.take<frame_entry>();
    if (!out.frames_.empty()) out.frames_.back().num_bytes = entry.offset - out.frames_.back().offset;
    out.frames_.push_back({entry.offset, 0, entry.first_row, entry.num_rows});
  }
  if (!out.frames_.empty()) out.frames_.back().num_bytes = tail.samples_offset - out.frames_.back().offset;
  out.num_rows_ = tail.num_rows;
  out.samples_offset_ = tail.samples_offset;
  out.samples_bytes_ = tail.index_offset - tail.samples_offset;
  out.samples_checksum_ = tail.samples_checksum;
  return out;
}

size_t exchange_index::frame_of(uint64_t place) const {
  const auto behind = std::upper_bound(frames_.begin(), frames_.end(), place,
                                       [](uint64_t at, const exchange_frame& f) { return at < f.first_row; });
  return static_cast<size_t>(behind - frames_.begin()) - 1;
}

exchange_samples exchange_samples::load(const std::string& path, const record::row_type& type,
                                        const exchange_index& index, size_t most) {
  std::ifstream in = opened(path);
  const std::vector<std::byte> all = bytes_of(in, path, index.samples_offset_, index.samples_bytes_);
  if (XXH3_64bits(all.data(), all.size()) != index.samples_checksum_) damaged(path, "its samples are damaged");
  std::vector<std::pair<sample_entry, const std::byte*>> found;
  for (reader samples(all.data(), all.data() + all.size(), path); !samples.at_end();) {
    const auto entry = samples.take<sample_entry>();
    found.emplace_back(entry, samples.take(entry.num_bytes));
  }
  exchange_samples out;
  const size_t step = std::max<size_t>((found.size() + most - 1) / most, 1);
  std::vector<size_t> begins;
  for (size_t i = 0; i < found.size(); i += step) {
    begins.push_back(out.content_.size());
    put(out.content_, found[i].second, found[i].first.num_bytes);
  }
  for (size_t i = 0; i < begins.size(); ++i) {
    const std::byte* const row = out.content_.data() + begins[i];
    out.rows_.push_back({found[i * step].first.place, row, row + type.row_bytes()});
  }
  return out;
}

record::batch rows_of_frame(const std::string& path, const exchange_frame& frame, uint32_t row_bytes,
                            const std::byte* bytes, std::shared_ptr<const void> owner) {
  frame_header header;
  std::memcpy(&header, bytes, sizeof header);
  const uint64_t rest = frame.num_bytes - sizeof header;
  if (header.num_rows != frame.num_rows || header.unused != 0 ||
      uint64_t{header.num_rows} * row_bytes + header.heap_bytes != rest ||
      XXH3_64bits(bytes + sizeof header, rest) != header.checksum)
    damaged(path,
            fmt::format("the rows from {} on, at byte {}, are not what was written", frame.first_row, frame.offset));
  record::batch out;
  out.rows = bytes + sizeof header;
  out.num_rows = header.num_rows;
  out.row_bytes = row_bytes;
  out.heap = out.rows + out.num_rows * row_bytes;
  out.heap_bytes = header.heap_bytes;
  out.first_row = frame.first_row;
  out.owner = std::move(owner);
  return out;
}

record::batch read_frame(const std::string& path, const exchange_frame& frame, uint32_t row_bytes) {
  std::shared_ptr<std::byte[]> bytes(new std::byte[frame.num_bytes]);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw error(error_kind::missing_input, fmt::format("can't read {}: {}", path, errno_text(errno)), "");
  uint64_t done = 0;
  while (done < frame.num_bytes) {
    const ssize_t got =
        ::pread(descriptor, bytes.get() + done, frame.num_bytes - done, static_cast<off_t>(frame.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<uint64_t>(got);
  }
  ::close(descriptor);
  if (done < frame.num_bytes) damaged(path, "it can't be read to its end");
  return rows_of_frame(path, frame, row_bytes, bytes.get(), bytes);
}

}  // namespace flowrun::cluster
