// JSON lines. The last bytes of an input choose the columns and where the text is cut.
//
// What holds of every text: however it is cut into chunks and pieces, with something readable behind it or not, the
// same rows come of it, and the same lines are refused for the same reasons; a line is taken where nlohmann-json finds
// it to be an object whose values fit, with these values, and no other line is; and rows that are written read as the
// same.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/json_formatter.h"
#include "operators/parts/text/json_parser.h"
#include "operators/parts/text/text_cutter.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/parsed_text.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

using nlohmann::json;
using operators::json_parser;
using record::row_type;

struct form {
  values paths;
  row_type type;       // of the values
  row_type read_type;  // and what tells which are missing
  bool skip_others = false;
  operators::csv_missing missing;
};

form form_of(input& in) {
  constexpr const char* types[] = {"string",   "u64",  "i64",       "f64", "bool", "u8",
                                   "bytes[3]", "date", "timestamp", "f32", "i16",  "decimal[2]"};
  constexpr const char* paths[] = {"a", "b", "o.a", "o.b"};
  form out;
  std::vector<record::column> columns(1 + in.below(4));
  for (size_t i = 0; i < columns.size(); ++i) {
    out.paths.emplace_back(paths[i]);
    columns[i] = {std::string(1, static_cast<char>('p' + i)),
                  *record::parse_value_type(types[in.below(std::size(types))])};
  }
  out.type = row_type(std::move(columns));
  out.skip_others = in.flag();
  out.missing.values.resize(out.type.row_bytes());
  out.missing.columns.resize(out.type.num_columns());
  const size_t may_miss = in.below(16);
  for (size_t i = 0; i < out.type.num_columns(); ++i) {
    if ((may_miss >> i & 1) == 0) continue;
    out.missing.columns[i] = {.allowed = true, .told_by = out.type.row_bytes() + out.missing.told_by.size()};
    out.missing.told_by.push_back("no_" + out.type[i].name);
  }
  out.read_type = with_told_columns(out.type, out.missing);
  return out;
}

// One piece of whole lines, in steps of about `most_bytes`.
void parse_piece(const form& f, std::string_view text, uint64_t first_line, bool is_padded, uint64_t most_bytes,
                 parsed& out) {
  record::batch_pool pool;
  const json_parser parser(f.read_type, operators::json_layout_of(f.paths), f.skip_others, f.missing, {});
  parse_in_steps(f.read_type, text, first_line, out,
                 [&](std::string_view part, uint64_t line, std::vector<record::batch>& rows, const auto& reject) {
                   return parser.parse(
                       part, line, is_padded, pool, 256, rows,
                       [&](const operators::malformed_record& bad) {
                         must_hold(bad.column <= bad.text.size() + 2, "'{}' is refused at column {}", bad.reason,
                                   bad.column);
                         return reject(bad);
                       },
                       most_bytes);
                 });
}

parsed parse_in_pieces(const form& f, std::string_view text, size_t chunk_bytes, size_t piece_bytes) {
  record::batch_pool pool;
  operators::cutter_options options;
  options.piece_bytes = piece_bytes;
  options.padding_bytes = json_parser::padding_bytes;
  operators::text_cutter cutter(options, pool);
  cutter.begin_file("in.jsonl");
  std::vector<operators::text_piece> pieces;
  for (size_t from = 0; from < text.size(); from += chunk_bytes) {
    const std::string_view part = text.substr(from, chunk_bytes);
    // Exactly as long as it is, so that what is read beyond its end is seen.
    const auto chunk = std::make_shared<const std::vector<char>>(part.begin(), part.end());
    cutter.feed(chunk, {chunk->data(), chunk->size()}, pieces);
  }
  cutter.finish(pieces);
  parsed out;
  for (const operators::text_piece& piece : pieces)
    parse_piece(f, piece.text, piece.first_line, piece.is_copy, ~uint64_t{0}, out);
  return out;
}

// What nlohmann-json makes of a line.
struct judged {
  enum class kind { row, none, open } is = kind::open;  // open: it says nothing about this line
  values row;
};

// The value as the text that a column of the type has; nothing: it doesn't fit. `open`: that can't be told here.
std::optional<std::string> fitting(const json& value, record::value_type type, bool& open) {
  char out[operators::max_value_chars];
  std::vector<std::byte> bytes(std::max<size_t>(type.num_bytes, 8));
  const auto as_text = [&] { return std::string(out, operators::format_value(type, bytes.data(), out)); };
  if (type.is_string()) return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
  if (type.is_boolean())
    return value.is_boolean() ? std::optional<std::string>(value.get<bool>() ? "true" : "false") : std::nullopt;
  if (type.is_number() || (type.is_decimal() && !value.is_string())) {
    if (!value.is_number()) return std::nullopt;
    if (type.is_float() || value.is_number_float()) {  // 1.0, numbers beyond 64 bits, the digits of a float
      open = true;
      return std::nullopt;
    }
    if (!operators::parse_value(type, value.dump(), bytes.data())) return std::nullopt;
    return as_text();
  }
  if (!value.is_string()) return std::nullopt;
  const auto text = value.get<std::string>();
  if (!operators::parse_value(type, text, bytes.data())) return std::nullopt;
  if (type.is_bytes()) return text;
  return as_text();
}

judged judge(const form& f, std::string_view line) {
  using kind = judged::kind;
  if (line.find('\0') != std::string_view::npos || line.starts_with(operators::byte_order_mark))
    return {kind::none, {}};
  bool twice = false;
  int deepest = 0;
  std::vector<std::set<std::string>> keys(1);
  const auto look = [&](int depth, json::parse_event_t event, json& found) {
    const auto level = static_cast<size_t>(depth);
    deepest = std::max(deepest, depth);
    if (keys.size() <= level + 1) keys.resize(level + 2);
    if (event == json::parse_event_t::object_start) keys[level + 1].clear();
    if (event == json::parse_event_t::key) twice = twice || !keys[level].insert(found.get<std::string>()).second;
    return true;
  };
  json object;
  try {
    object = json::parse(line.begin(), line.end(), look);
  } catch (const json::parse_error&) {
    return {kind::none, {}};
  } catch (const json::exception&) {  // a number beyond those of a double
    return {};
  }
  if (!object.is_object()) return {kind::none, {}};
  if (twice || deepest >= static_cast<int>(operators::json_reading::most_nested)) return {};
  judged out{kind::row, {}};
  values told;
  bool open = false, fits = true;
  const auto known = [&](const json& in, const std::string& prefix) {
    for (const auto& item : in.items()) {
      const std::string& key = item.key();
      if (std::none_of(f.paths.begin(), f.paths.end(), [&](const std::string& path) {
            return path == prefix + key || (prefix.empty() && key == "o" && path.starts_with("o."));
          }))
        fits = fits && f.skip_others;
    }
  };
  known(object, "");
  const bool has_inner = f.paths.size() > 2;
  json inner = has_inner && object.contains("o") ? object["o"] : json();
  if (!inner.is_null() && !inner.is_object()) return {kind::none, {}};
  if (inner.is_object()) known(inner, "o.");
  for (size_t i = 0; i < f.paths.size(); ++i) {
    const json& in = i < 2 ? object : inner;
    const std::string key = f.paths[i].substr(i < 2 ? 0 : 2);
    const json value = in.is_object() && in.contains(key) ? in[key] : json();
    const bool missing = value.is_null();
    const record::column& c = f.type[i];
    if (missing) {
      fits = fits && f.missing.columns[i].allowed;
      out.row.push_back(value_at(c, f.missing.values.data(), f.missing.values.data()));
    } else {
      bool unsure = false;
      const std::optional<std::string> text = fitting(value, c.type, unsure);
      open = open || unsure;
      fits = fits && (text || unsure);
      out.row.push_back(text.value_or(""));
    }
    if (f.missing.columns[i].allowed) told.emplace_back(missing ? "true" : "false");
  }
  if (!fits) return {kind::none, {}};
  if (open) return {};
  out.row.insert(out.row.end(), told.begin(), told.end());
  return out;
}

void look_at_lines(const form& f, std::string_view text, const parsed& found) {
  size_t row = 0, bad = 0;
  for (uint64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool is_refused = bad < found.bad.size() && found.bad[bad].line == number;
    must_hold(is_refused || row < found.rows.size(), "line {} is neither a row nor refused", number);
    if (is_refused) must_hold(found.bad[bad].text == line, "line {} is refused as '{}'", number, found.bad[bad].text);
    const judged said = judge(f, line);
    if (said.is == judged::kind::none) must_hold(is_refused, "line {} is taken: {}", number, line);
    if (said.is == judged::kind::row) {
      must_hold(!is_refused, "line {} is refused: {}", number, is_refused ? found.bad[bad].reason : "");
      must_hold(said.row == found.rows[row], "line {} has other values: {}", number, line);
    }
    ++(is_refused ? bad : row);
  }
  must_hold(row == found.rows.size() && bad == found.bad.size(), "{} rows and {} lines refused, more than there are",
            row, bad);
}

void look_at_writing(const form& f, const parsed& found, uint64_t most_bytes) {
  const operators::json_formatter formatter(f.type.columns(), operators::json_layout_of(f.paths));
  record::batch_pool pool;
  std::string text;
  for (const record::batch& b : found.batches) {
    // The rows without what tells that values are missing.
    std::vector<std::byte> rows(b.num_rows * f.type.row_bytes());
    for (size_t r = 0; r < b.num_rows; ++r)
      std::memcpy(rows.data() + r * f.type.row_bytes(), b.row(r), f.type.row_bytes());
    record::batch left = b;
    left.rows = rows.data();
    left.row_bytes = f.type.row_bytes();
    while (left.num_rows > 0) {
      const operators::text_block block = formatter.format(left, pool, most_bytes);
      must_hold(block.num_rows > 0, "no row was written");
      text += block.text();
      left = left.slice(block.num_rows, left.num_rows - block.num_rows);
    }
  }
  parsed again;
  form same = f;
  same.missing.columns.assign(f.type.num_columns(), {});
  same.missing.told_by.clear();
  same.read_type = f.type;
  same.skip_others = false;
  parse_piece(same, text, 0, false, ~uint64_t{0}, again);
  must_hold(again.bad.empty(), "what was written is refused: {}", again.bad.empty() ? "" : again.bad[0].reason);
  must_hold(again.rows.size() == found.rows.size(), "{} rows were written, {} read", found.rows.size(),
            again.rows.size());
  for (size_t i = 0; i < again.rows.size(); ++i)
    must_hold(std::equal(again.rows[i].begin(), again.rows[i].end(), found.rows[i].begin()),
              "what was written reads as other rows:\n{}", text);
}

}  // namespace

void try_input(std::string_view bytes) {
  input in(bytes);
  const form f = form_of(in);
  const size_t chunk_bytes = 1 + in.byte(), piece_bytes = 1 + in.byte();
  const uint64_t most_bytes = 1 + in.byte();
  // Exactly as long as it is.
  const std::vector<char> exact(in.rest().begin(), in.rest().end());
  const std::string_view text(exact.data(), exact.size());
  parsed whole, stepwise, padded;
  parse_piece(f, text, 0, false, ~uint64_t{0}, whole);
  parse_piece(f, text, 0, false, most_bytes, stepwise);
  must_hold(whole.rows == stepwise.rows && whole.bad == stepwise.bad, "{} rows at once, {} in steps", whole.rows.size(),
            stepwise.rows.size());
  const std::string with_more =
      std::string(text) + '\0' + "}\"\\]}:1,\"" + std::string(json_parser::padding_bytes, '}');
  parse_piece(f, std::string_view(with_more).substr(0, text.size()), 0, true, ~uint64_t{0}, padded);
  must_hold(whole.rows == padded.rows && whole.bad == padded.bad, "{} rows alone, {} with text behind",
            whole.rows.size(), padded.rows.size());
  const parsed pieces = parse_in_pieces(f, text, chunk_bytes, piece_bytes);
  must_hold(whole.rows == pieces.rows && whole.bad == pieces.bad, "{} rows at once, {} in pieces", whole.rows.size(),
            pieces.rows.size());
  look_at_lines(f, text, whole);
  look_at_writing(f, whole, most_bytes);
}

}  // namespace flowrun::fuzz
