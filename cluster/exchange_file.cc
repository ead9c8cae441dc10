#include "cluster/exchange_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::cluster {

namespace {

constexpr char magic[] = "FLOWREX\n";
constexpr uint32_t version = 1;
constexpr uint64_t sample_bytes = 4 * KiB;

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
  uint32_t num_samples = 0;
};
struct sample_entry {
  uint32_t in_frame = 0;
  uint32_t num_bytes = 0;
};
struct file_tail {
  char magic[8] = {};
  uint32_t version = 0;
  uint32_t row_bytes = 0;
  uint64_t num_rows = 0;
  uint64_t num_frames = 0;
  uint64_t tally = 0;
  uint64_t index_offset = 0;
  uint64_t checksum = 0;
};
static_assert(sizeof(frame_header) == 24 && sizeof(frame_entry) == 24 && sizeof(sample_entry) == 8 &&
              sizeof(file_tail) == 56);

template <class T>
void put(std::vector<std::byte>& to, const T& value) {
  const auto* const from = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), from, from + sizeof value);
}
void put(std::vector<std::byte>& to, const void* data, size_t num_bytes) {
  const auto* const from = static_cast<const std::byte*>(data);
  to.insert(to.end(), from, from + num_bytes);
}

uint64_t checksum_of(const std::byte* index, size_t num_bytes, const file_tail& tail) {
  std::unique_ptr<XXH3_state_t, void (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                               [](XXH3_state_t* s) { XXH3_freeState(s); });
  XXH3_64bits_reset(state.get());
  XXH3_64bits_update(state.get(), index, num_bytes);
  XXH3_64bits_update(state.get(), &tail, offsetof(file_tail, checksum));
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
  throw error(error_kind::bad_data, fmt::format("{}: {}", path, what),
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

}  // namespace

exchange_encoder::exchange_encoder(const record::row_type& type, size_t frame_bytes)
    : type_(type), frame_bytes_(frame_bytes), tallier_(type), string_offsets_(string_offsets_of(type)) {
  const std::string text = record::to_string(type);
  put(index_, static_cast<uint32_t>(text.size()));
  put(index_, text.data(), text.size());
}

void exchange_encoder::add(const record::batch& in) {
  tally_ += tallier_.tally(in);
  num_rows_ += in.num_rows;
  if (string_offsets_.empty()) return add_rows(in.rows, in.num_rows);
  for (size_t i = 0; i < in.num_rows; ++i) add_row(in, i);
}

void exchange_encoder::add_rows(const std::byte* rows, size_t count) {
  const size_t row_bytes = type_.row_bytes();
  for (size_t i = 0; i < count;) {
    // Up to the next sample.
    if (num_in_frame_ == 0 || since_sample_ >= sample_bytes) sample(rows + i * row_bytes, num_in_frame_);
    const size_t n = std::min<size_t>(count - i, (sample_bytes - since_sample_ + row_bytes - 1) / row_bytes);
    put(rows_, rows + i * row_bytes, n * row_bytes);
    num_in_frame_ += static_cast<uint32_t>(n);
    since_sample_ += n * row_bytes;
    i += n;
    if (rows_.size() >= frame_bytes_) end_frame();
  }
}

void exchange_encoder::add_row(const record::batch& in, size_t row) {
  const size_t at = rows_.size(), heap_before = heap_.size();
  put(rows_, in.row(row), type_.row_bytes());
  move_strings(string_offsets_, rows_.data() + at, in.heap, heap_);
  if (num_in_frame_ == 0 || since_sample_ >= sample_bytes) sample(rows_.data() + at, num_in_frame_);
  ++num_in_frame_;
  since_sample_ += type_.row_bytes() + heap_.size() - heap_before;
  if (rows_.size() + heap_.size() >= frame_bytes_) end_frame();
}

// Of a row of the frame at hand, or of one without strings.
void exchange_encoder::sample(const std::byte* row, uint32_t in_frame) {
  std::vector<std::byte> alone(row, row + type_.row_bytes()), heap;
  move_strings(string_offsets_, alone.data(), heap_.data(), heap);
  put(samples_, sample_entry{in_frame, static_cast<uint32_t>(alone.size() + heap.size())});
  put(samples_, alone.data(), alone.size());
  put(samples_, heap.data(), heap.size());
  ++num_samples_;
  since_sample_ = 0;
}

void exchange_encoder::end_frame() {
  if (num_in_frame_ == 0) return;
  frame_header header{num_in_frame_, 0, heap_.size(), 0};
  const size_t at = pending_.size();
  put(pending_, header);
  put(pending_, rows_.data(), rows_.size());
  put(pending_, heap_.data(), heap_.size());
  header.checksum = XXH3_64bits(pending_.data() + at + sizeof header, rows_.size() + heap_.size());
  std::memcpy(pending_.data() + at, &header, sizeof header);
  put(index_, frame_entry{offset_, num_rows_before_, num_in_frame_, num_samples_});
  put(index_, samples_.data(), samples_.size());
  offset_ += pending_.size() - at;
  num_rows_before_ += num_in_frame_;
  ++num_frames_;
  rows_.clear();
  heap_.clear();
  samples_.clear();
  num_in_frame_ = num_samples_ = 0;
}

void exchange_encoder::finish() {
  end_frame();
  file_tail tail;
  std::memcpy(tail.magic, magic, sizeof tail.magic);
  tail.version = version;
  tail.row_bytes = type_.row_bytes();
  tail.num_rows = num_rows_;
  tail.num_frames = num_frames_;
  tail.tally = tally_.sum;
  tail.index_offset = offset_;
  tail.checksum = checksum_of(index_.data(), index_.size(), tail);
  put(pending_, index_.data(), index_.size());
  put(pending_, tail);
}

void exchange_encoder::forget(size_t num_bytes) {
  written_ += num_bytes;
  if (written_ < pending_.size()) return;
  pending_.clear();
  written_ = 0;
}

exchange_index exchange_index::load(const std::string& path, const record::row_type& type) {
  std::ifstream in(path, std::ios::binary);
  std::error_code problem;
  const uint64_t file_bytes = std::filesystem::file_size(path, problem);
  if (!in || problem)
    throw error(error_kind::missing_input, fmt::format("can't read {}", path), "another task should have written it");
  const auto read_at = [&](uint64_t offset, void* to, size_t num_bytes) {
    in.seekg(static_cast<std::streamoff>(offset));
    if (!in.read(static_cast<char*>(to), static_cast<std::streamsize>(num_bytes)))
      damaged(path, "it can't be read to its end");
  };
  file_tail tail;
  if (file_bytes < sizeof tail) damaged(path, "it is no whole exchange file");
  read_at(file_bytes - sizeof tail, &tail, sizeof tail);
  if (std::memcmp(tail.magic, magic, sizeof tail.magic) != 0 || tail.version != version ||
      tail.index_offset > file_bytes - sizeof tail)
    damaged(path, "it is no whole exchange file");
  exchange_index out;
  out.content_.resize(file_bytes - sizeof tail - tail.index_offset);
  read_at(tail.index_offset, out.content_.data(), out.content_.size());
  if (checksum_of(out.content_.data(), out.content_.size(), tail) != tail.checksum)
    damaged(path, "its index is damaged");
  reader index(out.content_.data(), out.content_.data() + out.content_.size(), path);
  const auto text_bytes = index.take<uint32_t>();
  const std::string text(reinterpret_cast<const char*>(index.take(text_bytes)), text_bytes);
  if (text != record::to_string(type))
    throw error(error_kind::bad_data, fmt::format("{} has rows {}, not {}", path, text, record::to_string(type)),
                "all tasks of a job must be run by the same program");
  while (!index.at_end()) {
    const auto entry = index.take<frame_entry>();
    if (!out.frames_.empty()) out.frames_.back().num_bytes = entry.offset - out.frames_.back().offset;
    out.frames_.push_back({entry.offset, 0, entry.first_row, entry.num_rows});
    for (uint32_t i = 0; i < entry.num_samples; ++i) {
      const auto sample = index.take<sample_entry>();
      const std::byte* const row = index.take(sample.num_bytes);
      out.samples_.push_back({entry.first_row + sample.in_frame, out.frames_.size() - 1, row, row + type.row_bytes()});
    }
  }
  if (!out.frames_.empty()) out.frames_.back().num_bytes = tail.index_offset - out.frames_.back().offset;
  out.num_rows_ = tail.num_rows;
  out.tally_ = {tail.num_rows, tail.tally};
  return out;
}

record::batch rows_of_frame(const std::string& path, const exchange_frame& frame, uint32_t row_bytes,
                            std::shared_ptr<const std::byte[]> bytes) {
  frame_header header;
  std::memcpy(&header, bytes.get(), sizeof header);
  const uint64_t rest = frame.num_bytes - sizeof header;
  if (header.num_rows != frame.num_rows || header.unused != 0 ||
      uint64_t{header.num_rows} * row_bytes + header.heap_bytes != rest ||
      XXH3_64bits(bytes.get() + sizeof header, rest) != header.checksum)
    damaged(path,
            fmt::format("the rows from {} on, at byte {}, are not what was written", frame.first_row, frame.offset));
  record::batch out;
  out.rows = bytes.get() + sizeof header;
  out.num_rows = header.num_rows;
  out.row_bytes = row_bytes;
  out.heap = out.rows + out.num_rows * row_bytes;
  out.heap_bytes = header.heap_bytes;
  out.first_row = frame.first_row;
  out.owner = std::move(bytes);
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
  return rows_of_frame(path, frame, row_bytes, std::move(bytes));
}

}  // namespace flowrun::cluster
