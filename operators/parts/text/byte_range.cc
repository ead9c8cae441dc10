#include "operators/parts/text/byte_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/decoder.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

namespace {

constexpr const char* plain_file = "a file that isn't compressed";

// Nothing where the file has no such byte.
std::optional<char> byte_at(const std::string& path, uint64_t offset) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(offset));
  char out = 0;
  return in.get(out) ? std::optional(out) : std::nullopt;
}

uint64_t count_before(const std::string& path, uint64_t end, char byte) {
  std::ifstream in(path, std::ios::binary);
  std::string buffer(MiB, '\0');
  uint64_t out = 0;
  while (end > 0 && in) {
    in.read(buffer.data(), static_cast<std::streamsize>(std::min<uint64_t>(buffer.size(), end)));
    const auto num_bytes = static_cast<size_t>(in.gcount());
    out += count_byte({buffer.data(), num_bytes}, byte);
    end -= num_bytes;
  }
  return out;
}

struct counted_lines {
  std::once_flag once;
  uint64_t count = 0;
};

}  // namespace

plan::parameter_declaration byte_range_parameter() {
  plan::parameter_declaration p;
  p.name = "range";
  p.kind = plan::parameter_kind::text;
  p.help =
      "FROM:TO, the bytes to read of a single file that isn't compressed, counted from 0, without byte TO; what the "
      "file doesn't have is left out. Each end is one of a line, outside quotes, or of the file. Messages count lines "
      "from the file's beginning, row_number from the range's.";
  return p;
}

byte_range read_byte_range(plan::node_checker& node, const std::vector<std::string>& paths, input_facts& inputs) {
  const byte_range out = row_range_parameter(node, "range", "bytes");
  if (out.is_all()) return out;
  if (paths.size() != 1 || paths.front() == "-")
    node.fault_at_parameter("range", "a range needs a single file", "one path",
                            "name the file, or leave the range out");
  else if (inputs.decoder_bytes > 0)
    node.fault_at_parameter("range", fmt::format("{} is compressed", paths.front()), plain_file);
  if (inputs.num_bytes) inputs.num_bytes = std::min(out.to, *inputs.num_bytes) - std::min(out.from, *inputs.num_bytes);
  return out;
}

void look_at_range(const std::string& path, const byte_range& range, char line_end) {
  std::error_code ignored;
  if (range.is_all() || !std::filesystem::exists(path, ignored)) return;  // who opens it says what is missing
  if (!std::filesystem::is_regular_file(path) || io::is_compressed(path))
    throw error(error_kind::bad_data, fmt::format("{} can't be read from byte {} on", path, range.from),
                fmt::format("a range needs {}", plain_file));
  for (const uint64_t end : {range.from, range.to}) {
    if (end == 0 || end == UINT64_MAX || !byte_at(path, end)) continue;
    if (byte_at(path, end - 1) != line_end)
      throw error(error_kind::bad_data, fmt::format("{}: byte {} of the range is within a line", path, end),
                  "a range begins and ends at ends of lines; was the file changed?");
  }
}

line_counter lines_in_front(const std::vector<std::string>& paths, const byte_range& range, char line_end) {
  if (range.from == 0) return {};
  return [counted = std::make_shared<counted_lines>(), path = paths.front(), end = range.from, line_end] {
    std::call_once(counted->once, [&] { counted->count = count_before(path, end, line_end); });
    return counted->count;
  };
}

}  // namespace flowrun::operators
