#include "operators/parts/text/json_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "operators/parts/text/json_line_reader.h"
#include "operators/parts/text/json_tokens.h"
#include "operators/parts/text/row_filler.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

namespace {

constexpr size_t most_ahead = 32 * KiB;  // whose tokens lie in the cache

}  // namespace

parse_progress json_parser::parse(std::string_view text, uint64_t first_line, bool is_padded, record::batch_pool& pool,
                                  size_t batch_bytes, std::vector<record::batch>& rows, const record_rejecter& reject,
                                  uint64_t most_bytes) const {
  if (text.size() > UINT32_MAX - reading_.missing.default_texts.size() - padding_bytes)
    throw error(error_kind::bad_data, fmt::format("line {}: longer than 4 GiB", first_line + 1),
                "split the line or store it as several rows");
  row_filler to(reading_.type, reading_.least_line_bytes, reading_.missing.default_texts, pool, batch_bytes, rows,
                padding_bytes);
  json_line_reader reader(reading_, to);
  parse_progress done;
  uint64_t rejected_bytes = 0;
  uint64_t lines = first_line;
  std::string tail;  // a copy of the last lines, with padding
  const char* p = text.data();
  const char* end = p + text.size();
  size_t copied_at = 0;       // of the text, where the tail begins
  const char* looked_at = p;  // up to which the reader knows the lines
  const size_t look_ahead = std::min<uint64_t>(most_ahead, most_bytes);
  while (p != end && to.num_bytes() + rejected_bytes < most_bytes) {
    if (p >= looked_at) {
      const char* const readable = is_padded ? end : end - std::min(static_cast<size_t>(end - p), padding_bytes);
      const char* const wanted = p + std::min(static_cast<size_t>(readable - p), look_ahead);
      const char* const last = find_last_byte(p, wanted, '\n');
      reader.look_ahead({p, last == nullptr ? p : last});
      looked_at = last == nullptr ? p : last + 1;
    }
    const char* behind = find_byte(p, end, '\n');
    if (!is_padded && static_cast<size_t>(end - behind) < padding_bytes) {
      copied_at = static_cast<size_t>(p - text.data());
      tail.reserve(text.size() - copied_at + padding_bytes);
      tail.assign(p, end);
      const auto line_bytes = static_cast<size_t>(behind - p);
      tail.resize(tail.size() + padding_bytes);
      p = tail.data();
      behind = p + line_bytes;
      end = p + tail.size() - padding_bytes;
      is_padded = true;
      looked_at = p;
    }
    const std::string_view line(p, static_cast<size_t>(behind - p));
    const auto left = static_cast<size_t>(end - p);
    p = behind == end ? end : behind + 1;
    ++lines;
    if (line.find_first_not_of(json_blanks) == std::string_view::npos) continue;
    ++done.num_records;
    if (reader.read(line, to.begin_row(left))) [[likely]] {
      to.end_row();
      continue;
    }
    to.drop_row();
    malformed_record bad;
    bad.text = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
    bad.line = lines;
    bad.column = static_cast<uint64_t>(reader.where() - line.data()) + 1;
    bad.reason = reader.reason();
    rejected_bytes += bad.text.size() + bad.reason.size() + sizeof bad;
    if (!reject(bad)) {
      p = end;
      break;
    }
  }
  to.flush();
  done.num_bytes =
      tail.empty() ? static_cast<size_t>(p - text.data()) : copied_at + static_cast<size_t>(p - tail.data());
  return done;
}

}  // namespace flowrun::operators
