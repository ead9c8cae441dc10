#include "operators/parts/files/row_index.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::operators {

namespace {

constexpr char magic[] = "FLOWRIX\n";
constexpr uint32_t version = 1;
constexpr uint64_t block_bytes = 64 * KiB;
constexpr uint64_t longest_paged_block = 256 * KiB;
constexpr uint64_t page = 4096;
constexpr uint64_t longest_description = 16 * MiB;  // more than any row type has

struct front {
  char magic[8];
  uint32_t version;
  uint32_t row_bytes;
};
struct footer {
  uint64_t num_rows;
  uint64_t num_blocks;
  uint32_t rows_per_block;
  uint32_t description_bytes;
  uint64_t checksum;
};
static_assert(sizeof(front) == 16 && sizeof(footer) == 32);

uint32_t choose_rows_per_block(uint64_t row_bytes) {
  const uint64_t unit = page / std::gcd(page, row_bytes);  // rows that fill whole pages
  if (unit * row_bytes > longest_paged_block)
    return static_cast<uint32_t>(std::max<uint64_t>(block_bytes / row_bytes, 1));
  return static_cast<uint32_t>(std::max<uint64_t>(block_bytes / (unit * row_bytes), 1) * unit);
}

// The columns' names are left out, so that a reader may give them other names.
std::string types_of(const record::row_type& type) {
  std::string out;
  for (const record::column& c : type.columns()) out += (out.empty() ? "" : " ") + record::to_string(c.type);
  return out;
}

std::string order_of(const record::row_type& type, const plan::order& sorted_by) {
  std::string out;
  for (const plan::order_term& t : sorted_by) {
    out += fmt::format("{}{}{}", out.empty() ? "" : " ", t.descending ? '-' : '+', *type.index_of(t.column));
    if (t.length > 0) out += fmt::format("[{}:{}]", t.from, t.from + t.length);
  }
  return out;
}

class index_file {
 public:
  explicit index_file(std::string path) : path_(std::move(path)), in_(path_, std::ios::binary) {
    std::error_code problem;
    num_bytes_ = std::filesystem::file_size(path_, problem);
    if (problem || !in_)
      throw error(error_kind::missing_input, fmt::format("can't read the index {}: {}", path_, problem.message()),
                  "file.write_rows with index: true writes it; without `index` the rows are read from front to back");
  }

  const std::string& path() const { return path_; }
  uint64_t num_bytes() const { return num_bytes_; }

  void read(void* to, uint64_t from, uint64_t num_bytes) {
    in_.seekg(static_cast<std::streamoff>(from));
    in_.read(static_cast<char*>(to), static_cast<std::streamsize>(num_bytes));
    if (static_cast<uint64_t>(in_.gcount()) != num_bytes)
      throw error(error_kind::io,
                  fmt::format("can't read {}: it ended at byte {}", path_, from + static_cast<uint64_t>(in_.gcount())));
  }

 private:
  const std::string path_;
  std::ifstream in_;
  uint64_t num_bytes_ = 0;
};

const char* const write_anew = "write the rows anew with file.write_rows and index: true, or leave out `index`";

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw error(error_kind::bad_data, fmt::format("{}: {}", path, why), write_anew);
}

void check_age(const std::string& rows_path, const std::string& path) {
  std::error_code problem;
  const auto rows = std::filesystem::last_write_time(rows_path, problem);
  const auto index = problem ? rows : std::filesystem::last_write_time(path, problem);
  if (!problem && index < rows)
    refuse(path, fmt::format("the index is older than the rows in {}, which have changed since", rows_path));
}

// What stands around the blocks' entries.
struct index_frame {
  front begin;
  footer end;
  std::string description;
};

// Throws error(bad_data) where the frame is not that of an index, or its numbers don't fit together. So a
// caller may read as many entries as it says.
index_frame frame_of(index_file& file) {
  index_frame out{};
  const uint64_t num_bytes = file.num_bytes();
  if (num_bytes >= sizeof out.begin) file.read(&out.begin, 0, sizeof out.begin);
  if (std::memcmp(out.begin.magic, magic, sizeof out.begin.magic) != 0) refuse(file.path(), "this is no index of rows");
  if (out.begin.version != version)
    refuse(file.path(),
           fmt::format("the index has version {}, and this program reads version {}", out.begin.version, version));
  if (num_bytes < sizeof out.begin + sizeof out.end) refuse(file.path(), "the index is cut short");
  file.read(&out.end, num_bytes - sizeof out.end, sizeof out.end);
  const uint64_t row_bytes = out.begin.row_bytes;
  const uint64_t entry_bytes = row_bytes + sizeof(uint64_t);
  const uint64_t rest = num_bytes - sizeof out.begin - sizeof out.end;
  const footer& end = out.end;
  // A reader takes memory for whole blocks.
  const bool has_blocks = row_bytes > 0 && end.rows_per_block > 0 &&
                          end.rows_per_block * row_bytes <= std::max(longest_paged_block, row_bytes);
  if (!has_blocks || end.description_bytes > std::min(rest, longest_description) ||
      end.num_blocks != (rest - end.description_bytes) / entry_bytes ||
      end.num_blocks * entry_bytes != rest - end.description_bytes ||
      end.num_blocks != end.num_rows / end.rows_per_block + (end.num_rows % end.rows_per_block != 0 ? 1 : 0))
    refuse(file.path(), "the index is damaged: its numbers don't fit together");
  out.description.resize(end.description_bytes);
  file.read(out.description.data(), sizeof out.begin + end.num_blocks * entry_bytes, end.description_bytes);
  return out;
}

// Throws error(bad_data) where the index is of other rows than the file has now.
void check_belongs(const index_frame& frame, const std::string& path, const std::string& rows_path,
                   const record::row_type& type, const plan::order& sorted_by) {
  const std::string types = frame.description.substr(0, frame.description.find('\n'));
  const std::string order = frame.description.substr(std::min(types.size() + 1, frame.description.size()));
  const uint32_t row_bytes = frame.begin.row_bytes;
  if (types != types_of(type) || row_bytes != type.row_bytes())
    refuse(path, fmt::format("the index is of rows of ({}), not of ({})", types, types_of(type)));
  const std::string wanted = order_of(type, sorted_by);
  if (order != wanted && !order.starts_with(wanted + " "))
    refuse(path, fmt::format("the rows are sorted by the columns {} (counted from 0), not by {}", order, wanted));
  std::error_code problem;
  const uint64_t file_bytes = std::filesystem::file_size(rows_path, problem);
  if (problem) throw error(error_kind::missing_input, fmt::format("can't read {}: {}", rows_path, problem.message()));
  if (file_bytes / row_bytes != frame.end.num_rows || file_bytes % row_bytes != 0)
    refuse(path, fmt::format("the index is of {} rows of {} bytes, but {} has {} bytes", frame.end.num_rows, row_bytes,
                             rows_path, file_bytes));
  check_age(rows_path, path);
}

}  // namespace

std::string index_path(const std::string& rows_path) { return rows_path + ".index"; }

// --- making one ---

void row_index_builder::state_free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

row_index_builder::row_index_builder(const record::row_type& type, const plan::order& sorted_by)
    : row_bytes_(type.row_bytes()),
      rows_per_block_(choose_rows_per_block(type.row_bytes())),
      description_(types_of(type) + "\n" + order_of(type, sorted_by)),
      block_(XXH3_createState()),
      all_(XXH3_createState()) {
  FLOWRUN_CHECK(block_ && all_ && !sorted_by.empty());
  XXH3_64bits_reset(all_.get());
  front f{};
  std::memcpy(f.magic, magic, sizeof f.magic);
  f.version = version;
  f.row_bytes = row_bytes_;
  put(&f, sizeof f);
}

row_index_builder::~row_index_builder() = default;

void row_index_builder::put(const void* data, size_t num_bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  pending_.insert(pending_.end(), from, from + num_bytes);
  XXH3_64bits_update(all_.get(), data, num_bytes);
}

void row_index_builder::forget(size_t num_bytes) {
  written_ += num_bytes;
  if (written_ < pending_.size()) return;
  pending_.clear();
  written_ = 0;
}

void row_index_builder::end_block() {
  const uint64_t checksum = XXH3_64bits_digest(block_.get());
  put(&checksum, sizeof checksum);
  ++num_blocks_;
  in_block_ = 0;
}

void row_index_builder::add(const std::byte* rows, size_t num_rows) {
  num_rows_ += num_rows;
  while (num_rows > 0) {
    if (in_block_ == 0) {
      put(rows, row_bytes_);
      XXH3_64bits_reset(block_.get());
    }
    const auto count = static_cast<uint32_t>(std::min<size_t>(num_rows, rows_per_block_ - in_block_));
    const size_t num_bytes = size_t{count} * row_bytes_;
    XXH3_64bits_update(block_.get(), rows, num_bytes);
    rows += num_bytes;
    num_rows -= count;
    in_block_ += count;
    if (in_block_ == rows_per_block_) end_block();
  }
}

void row_index_builder::finish() {
  if (in_block_ > 0) end_block();
  put(description_.data(), description_.size());
  footer f{num_rows_, num_blocks_, rows_per_block_, static_cast<uint32_t>(description_.size()), 0};
  put(&f, offsetof(footer, checksum));
  f.checksum = XXH3_64bits_digest(all_.get());
  put(&f.checksum, sizeof f.checksum);
}

// --- reading one ---

row_index row_index::load(const std::string& rows_path, const record::row_type& type, const plan::order& sorted_by,
                          uint64_t most_bytes) {
  index_file file(index_path(rows_path));
  if (file.num_bytes() > most_bytes)
    throw error(error_kind::resources,
                fmt::format("the index {} has {}, and there is room for {}", file.path(),
                            format_bytes(file.num_bytes()), format_bytes(most_bytes)),
                "raise the memory budget, or leave out `index`");
  const index_frame frame = frame_of(file);
  row_index out;
  out.content_.resize(file.num_bytes());
  file.read(out.content_.data(), 0, file.num_bytes());
  const std::vector<std::byte>& all = out.content_;
  if (XXH3_64bits(all.data(), all.size() - sizeof frame.end.checksum) != frame.end.checksum)
    refuse(file.path(), "the index is damaged: its checksum is wrong");
  check_belongs(frame, file.path(), rows_path, type, sorted_by);
  out.entries_ = all.data() + sizeof frame.begin;
  out.num_rows_ = frame.end.num_rows;
  out.num_blocks_ = frame.end.num_blocks;
  out.rows_per_block_ = frame.end.rows_per_block;
  out.row_bytes_ = frame.begin.row_bytes;
  return out;
}

void row_index::look_into(const std::string& rows_path, const record::row_type& type, const plan::order& sorted_by) {
  index_file file(index_path(rows_path));
  check_belongs(frame_of(file), file.path(), rows_path, type, sorted_by);
}

bool row_index::is_block(uint64_t block, std::span<const std::byte> rows) const {
  uint64_t checksum = 0;
  std::memcpy(&checksum, first_row(block) + row_bytes_, sizeof checksum);
  return XXH3_64bits(rows.data(), rows.size()) == checksum;
}

}  // namespace flowrun::operators
