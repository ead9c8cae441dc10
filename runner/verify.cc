// flowrun verify: tells whether a file of rows is sorted, how many rows and duplicate keys it has, and its checksum.
// For the records of the sort benchmark it says what valsort 1.5 says, so that the two can be compared. A folder that a
// job on a cluster has written is held against its manifest.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "cluster/manifest_key.h"
#include "cluster/output_manifest.h"
#include "engine/base/buffer.h"
#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "engine/io/decoder.h"
#include "engine/io/encoding.h"
#include "engine/record/key.h"
#include "operators/parts/algorithms/sort_benchmark.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/row_description.h"

namespace flowrun::runner {

namespace {

struct findings {
  uint64_t num_rows = 0;
  uint64_t duplicates = 0;  // rows whose key is that of the row before
  uint64_t unordered = 0;   // rows that are smaller than the row before
  uint64_t first_unordered = 0;
  record::word128 checksum = 0;  // of the rows' CRC-32
};

class input {
 public:
  explicit input(const std::string& path) : path_(path) {
    descriptor_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0)
      throw error(error_kind::missing_input, "can't open " + path + ": " + errno_text(errno), "give a file of rows");
  }
  ~input() {
    if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
  }
  input(const input&) = delete;
  input& operator=(const input&) = delete;

  // Fills `to`; less only at the end.
  size_t read(std::byte* to, size_t num_bytes) {
    size_t filled = 0;
    while (filled < num_bytes) {
      const ssize_t got = ::read(descriptor_, to + filled, num_bytes - filled);
      if (got == 0) break;
      if (got > 0) {
        filled += static_cast<size_t>(got);
      } else if (errno != EINTR) {
        const int cause = errno;
        throw error(
            cause == EISDIR ? error_kind::missing_input : error_kind::io,
            "can't read " + path_ + ": " + errno_text(cause),
            cause == EISDIR ? "give a file of rows, or a folder with the manifest.json of a job on a cluster" : "");
      }
    }
    return filled;
  }

 private:
  std::string path_;
  int descriptor_;
};

class inspector {
 public:
  inspector(const row_description& rows, bool any_order)
      : row_bytes_(rows.type.row_bytes()),
        any_order_(any_order),
        order_(rows.type, rows.key),
        previous_(rows.type.row_bytes()) {}

  void add(const std::byte* rows, size_t count) {
    for (size_t i = 0; i < count; ++i, rows += row_bytes_) {
      found_.checksum += operators::crc32(rows, row_bytes_);
      if (!any_order_ && found_.num_rows > 0) compare(i == 0 ? previous_.data() : rows - row_bytes_, rows);
      ++found_.num_rows;
    }
    std::memcpy(previous_.data(), rows - row_bytes_, row_bytes_);
  }
  const findings& found() const { return found_; }
  const std::byte* last_row() const { return previous_.data(); }

 private:
  void compare(const std::byte* before, const std::byte* row) {
    const int order = order_.compare(before, nullptr, row, nullptr);
    if (order == 0) ++found_.duplicates;
    if (order > 0 && found_.unordered++ == 0) found_.first_unordered = found_.num_rows;
  }

  const uint32_t row_bytes_;
  const bool any_order_;
  record::row_comparator order_;
  std::vector<std::byte> previous_;
  findings found_;
};

std::string hexadecimal(record::word128 value) {
  const auto high = static_cast<uint64_t>(value >> 64);
  const auto low = static_cast<uint64_t>(value);
  return high == 0 ? fmt::format("{:x}", low) : fmt::format("{:x}{:016x}", high, low);
}

constexpr const char* hint_for_compressed =
    "it is compressed, and rows are looked at as they lie in a file: decompress it first";

// What to do about a file that has not as many rows as it should.
std::string hint_for(const std::string& path, const char* otherwise) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && io::is_compressed(path) ? hint_for_compressed : otherwise;
}

// `num_bytes`: of the buffer, whole rows. The first row goes into `first`, if there is one.
void look_at(const std::string& path, size_t row_bytes, aligned_buffer& buffer, size_t num_bytes, inspector& look,
             std::vector<std::byte>& first) {
  input from(path);
  size_t got = num_bytes;
  std::optional<io::encoding> content;  // as its first bytes tell
  while (got == num_bytes) {
    got = from.read(buffer.data(), num_bytes);
    if (!content) content = io::recognise(std::span(buffer.data(), got));
    if (first.empty() && got >= row_bytes) first.assign(buffer.data(), buffer.data() + row_bytes);
    if (got / row_bytes > 0) look.add(buffer.data(), got / row_bytes);
    if (got % row_bytes > 0)
      throw error(error_kind::bad_data,
                  fmt::format("{} ends within a row: {} of {} bytes behind {}", path == "-" ? "standard input" : path,
                              got % row_bytes, row_bytes, counted(look.found().num_rows, "row")),
                  content != io::encoding::plain ? hint_for_compressed
                                                 : "the file is truncated, or --type is not the type of its rows");
  }
}

void check_folder(const std::string& folder, const cluster::output_manifest& manifest) {
  const std::vector<std::string> parts = cluster::paths_of_parts(folder, manifest);
  for (size_t i = 0; i < parts.size(); ++i)
    if (const std::string hash = cluster::hash_of_file(parts[i]); hash != manifest.parts[i].hash)
      throw error(error_kind::bad_data,
                  fmt::format("{}: its content is not what the manifest says: it has the hash {}, not {}", parts[i],
                              hash, manifest.parts[i].hash),
                  "it has changed since the job wrote it: write it again");
  if (const std::string stranger = cluster::stranger_in(folder, manifest); !stranger.empty())
    throw error(error_kind::bad_data, fmt::format("{}/{} is no part of the output", folder, stranger),
                "the folder's manifest doesn't name it: take it away");
}

// What the manifest says that the parts are sorted by, where these have such columns.
std::optional<record::key> key_of(const cluster::output_manifest& manifest, const record::row_type& type) {
  try {
    return parse_key(type, fmt::format("{}", fmt::join(manifest.sorted_by, ",")));
  } catch (const error&) {
    return std::nullopt;
  }
}

void check_key(const std::string& path, const char* which, const std::string& said, const std::string& found) {
  if (said != found)
    throw error(error_kind::bad_data,
                fmt::format("{} has the {} key {}, and the manifest says {}", path, which, found, said),
                "--type is not the type of its rows, or the manifest has changed: write it again");
}

std::string described(const cluster::output_manifest& manifest) {
  uint64_t rows = 0, bytes = 0;
  for (const cluster::output_manifest::part& p : manifest.parts) {
    rows += p.rows;
    bytes += p.bytes;
  }
  std::string out = fmt::format("{}, {}, {}: all as the manifest says\n", counted(manifest.parts.size(), "part"),
                                counted(rows, "row"), format_bytes(bytes));
  const auto has_rows = [](const cluster::output_manifest::part& p) { return !p.first.empty() && !p.last.empty(); };
  const auto first = std::find_if(manifest.parts.begin(), manifest.parts.end(), has_rows);
  const auto last = std::find_if(manifest.parts.rbegin(), manifest.parts.rend(), has_rows);
  if (first != manifest.parts.end())
    out += fmt::format("Sorted by {}, from {} to {}, says the manifest\n", fmt::join(manifest.sorted_by, ", "),
                       first->first, last->last);
  return out;
}

}  // namespace

int verify(const verify_arguments& arguments, terminal&) {
  const row_description rows = arguments.type.empty() ? parse_rows("{key: bytes[10], value: bytes[90]}",
                                                                   arguments.by.empty() ? "key" : arguments.by)
                                                      : parse_rows(arguments.type, arguments.by);
  std::vector<std::string> paths = {arguments.file};
  const std::optional<cluster::output_manifest> manifest = cluster::read_manifest(arguments.file);
  if (manifest) {
    check_folder(arguments.file, *manifest);
    print_lines(described(*manifest));
    // Its parts may be text, whose rows only the manifest counts.
    if (arguments.type.empty() && arguments.by.empty() && !arguments.any_order) return 0;
    paths = cluster::paths_of_parts(arguments.file, *manifest);
  }
  const size_t row_bytes = rows.type.row_bytes();
  inspector look(rows, arguments.any_order);
  const size_t rows_at_once = std::max<size_t>(1, 4 * MiB / row_bytes);
  aligned_buffer buffer(rows_at_once * row_bytes);
  const std::optional<record::key> told_key = manifest ? key_of(*manifest, rows.type) : std::nullopt;
  bool keys_compared = false;
  for (size_t i = 0; i < paths.size(); ++i) {
    const uint64_t before = look.found().num_rows;
    std::vector<std::byte> first;
    look_at(paths[i], row_bytes, buffer, rows_at_once * row_bytes, look, first);
    if (const uint64_t num_rows = look.found().num_rows - before; manifest && num_rows != manifest->parts[i].rows)
      throw error(error_kind::bad_data,
                  fmt::format("{} has {} rows of this type, and the manifest says {}", paths[i], format_count(num_rows),
                              format_count(manifest->parts[i].rows)),
                  hint_for(paths[i], "--type is not the type of its rows"));
    if (!told_key || first.empty() || manifest->parts[i].first.empty()) continue;
    const auto key = [&](const std::byte* row) { return cluster::key_as_json(rows.type, *told_key, row, nullptr); };
    check_key(paths[i], "first", manifest->parts[i].first, key(first.data()));
    check_key(paths[i], "last", manifest->parts[i].last, key(look.last_row()));
    keys_compared = true;
  }
  const findings& found = look.found();
  std::string out = fmt::format("Records: {}\nChecksum: {}\n", found.num_rows, hexadecimal(found.checksum));
  if (!arguments.any_order) out += fmt::format("Duplicate keys: {}\n", found.duplicates);
  if (!arguments.any_order && found.unordered == 0) out += "SUCCESS - all records are in order\n";
  if (keys_compared) out += "The first and the last key of each part: as the manifest says\n";
  print(out);
  if (found.unordered == 0) return 0;
  throw error(error_kind::bad_data,
              fmt::format("{} is not sorted: {} of its rows are smaller than the row before, first row {} (from 0)",
                          arguments.file, format_count(found.unordered), found.first_unordered),
              "by " + record_key_text(rows));
}

}  // namespace flowrun::runner
