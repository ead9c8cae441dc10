#include "operators/parts/text/json_line_reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "operators/parts/text/csv_advice.h"
#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/json_syntax.h"
#include "operators/parts/text/json_tokens.h"
#include "operators/parts/text/json_value.h"

namespace flowrun::operators {

namespace ondemand = simdjson::ondemand;
static_assert(json_reading::padding_bytes >= simdjson::SIMDJSON_PADDING);

namespace {

// Where the tokens of a text begin: texts, other scalars, and the six marks. Behind the last one is the text's end.
using token = ondemand::token_position;

class token_list {
 public:
  // False where what texts hold is no JSON: control characters, no closing quote, no UTF-8.
  bool find(std::string_view text) {
    constexpr size_t least_bytes = 4096;
    if (text.size() > parser_.capacity() &&
        parser_.allocate(std::bit_ceil(std::max(text.size(), least_bytes))) != simdjson::SUCCESS)
      throw error(error_kind::resources, "there is no memory for the tokens of a line",
                  "split the line, or run the job where there is more memory");
    ondemand::json_iterator all;
    const simdjson::padded_string_view padded(text.data(), text.size(), text.size() + json_reading::padding_bytes);
    if (parser_.iterate_raw(padded).get(all) != simdjson::SUCCESS) return false;
    first_ = all.position();
    return true;
  }
  token first() const { return first_; }

  // Where the text whose opening quote is `quote` ends in `to`; null: an escape is wrong.
  char* unescape(const char* quote, char* to) const {
    auto* end = reinterpret_cast<uint8_t*>(to);
    std::string_view text;
    const auto* const raw = reinterpret_cast<const uint8_t*>(quote) + 1;
    return parser_.unescape(ondemand::raw_json_string(raw), end).get(text) == simdjson::SUCCESS
               ? reinterpret_cast<char*>(end)
               : nullptr;
  }

 private:
  ondemand::parser parser_;
  token first_ = nullptr;
};

}  // namespace

// What reads a value is given its token, and returns the one behind it; null: the line is malformed. The end of the
// text is no token that JSON has, so nothing goes beyond it.
class json_line_reader::steps {
 public:
  steps(const json_reading& how, row_filler& to)
      : how_(how),
        to_(to),
        taken_((how.layout.num_entries + 63) / 64),
        first_(how.layout.objects.size()),
        next_(how.layout.num_entries) {
    for (const json_layout::object& object : how.layout.objects)
      for (size_t i = 0; i < object.entries.size(); ++i) next_[object.entries[i].number] = i + 1;
  }

  void look_ahead(std::string_view lines) {
    ahead_ = lines;
    next_line_ = !lines.empty() && many_.find(lines) ? many_.first() : nullptr;
  }

  bool read(std::string_view line, std::byte* row) {
    line_ = line;
    row_ = row;
    if (next_line_ != nullptr) {
      FLOWRUN_CHECK(line.data() >= ahead_.data() && line.data() < ahead_.data() + ahead_.size());
      telling_ = false;
      text_ = ahead_.data();
      text_end_ = ahead_.data() + ahead_.size();
      while (at(next_line_) < line.data()) ++next_line_;
      if (const token behind = read_record(next_line_)) {
        next_line_ = behind;
        return true;
      }
      to_.drop_row();  // its texts are read again
    }
    telling_ = true;
    text_ = line.data();
    text_end_ = line.data() + line.size();
    if (line[line.find_first_not_of(json_blanks)] != '{') return no_object();
    if (!alone_.find(line)) {
      syntax();
      return false;
    }
    return read_record(alone_.first()) != nullptr;
  }

  const char* where = nullptr;
  std::string reason;

 private:
  using entry = json_layout::entry;

  const token_list& tokens() const { return telling_ ? alone_ : many_; }
  const char* at(token t) const { return text_ + *t; }
  // A scalar, with its quotes.
  std::string_view scalar(token t) const { return trimmed({at(t), static_cast<size_t>(at(t + 1) - at(t))}); }

  // `why` gives the reason.
  template <class Why>
  token fail(const char* place, const Why& why) {
    if (!telling_) return nullptr;
    where = std::clamp(place, line_.data(), line_.data() + line_.size());
    reason = why();
    return nullptr;
  }

  token syntax() {
    if (!telling_) return nullptr;
    const auto fault = json_fault_in(line_);
    return fail(line_.data() + (fault ? fault->at : 0),
                [&] { return fault ? fault->what : std::string("this is no JSON"); });
  }

  bool no_object() {
    const std::string_view value = trimmed(line_.substr(line_.find_first_not_of(json_blanks)));
    if (value[0] == '[') {
      fail(value.data(), [] {
        return "expected an object, got an array; where the file is one array, `jq -c '.[]'` makes lines of it";
      });
    } else if (value.starts_with(byte_order_mark)) {
      fail(value.data(), [] { return "a byte order mark that isn't at the file's beginning"; });
    } else if (json_fault_in(line_)) {
      syntax();
    } else {
      fail(value.data(), [&] { return "expected an object, got " + json_kind(value); });
    }
    return false;
  }

  token read_record(token t) {
    num_columns_ = 0;
    std::fill(taken_.begin(), taken_.end(), 0);
    const char* const end = line_.data() + line_.size();
    if (*at(t) != '{') return syntax();
    const token behind = read_object(t + 1, 0);
    if (behind == nullptr) return nullptr;
    if (at(behind - 1) >= end) return syntax();  // it goes on in the next line
    if (at(behind) < end) return fail(at(behind), [] { return "text behind the object; each line has one"; });
    return num_columns_ == how_.layout.paths.size() || take_missing() ? behind : nullptr;
  }

  // The entry of a key; null: no column takes it. `key` begins behind the key's quote. `next`: which entry it was in
  // the line before.
  const entry* find(size_t object, const char* key, size_t& next, bool& bad) {
    const std::vector<entry>& entries = how_.layout.objects[object].entries;
    const auto left = static_cast<size_t>(text_end_ - key);
    if (next < entries.size() && is_key(how_.fronts[entries[next].number], entries[next].quoted, key, left))
      return &entries[next];
    std::string_view name = key_at(key);
    if (may_have_escape(name) && !unescape(name)) {
      bad = true;
      return nullptr;
    }
    const auto found = how_.keys[object].find(name);
    if (found == how_.keys[object].end()) return nullptr;
    next = found->second;
    return &entries[next];
  }

  // Whether the text at `key` is the key, as it is written without needless escapes, with its quote.
  static bool is_key(const json_reading::key_front& front, const std::string& quoted, const char* key, size_t left) {
    if (((load_word(key) ^ front.word) & front.mask) != 0) return false;
    const size_t size = quoted.size() - 1;
    return size <= sizeof front.word || (size <= left && std::memcmp(key, quoted.data() + 1, size) == 0);
  }

  static std::string_view key_at(const char* key) {
    const char* end = key;  // there is a closing quote
    while (*end != '"') end += *end == '\\' ? 2 : 1;
    return {key, static_cast<size_t>(end - key)};
  }

  // Of a text without its quotes; false: an escape is wrong.
  bool unescape(std::string_view& text) {
    unescaped_.resize(text.size() + json_reading::padding_bytes);
    const char* const end = tokens().unescape(text.data() - 1, unescaped_.data());
    if (end == nullptr) return false;
    text = {unescaped_.data(), end};
    return true;
  }

  // Behind its brace.
  token read_object(token t, size_t number) {
    if (*at(t) == '}') return t + 1;
    size_t* next = &first_[number];
    while (true) {
      if (*at(t) != '"' || *at(t + 1) != ':') return syntax();
      const char* const key = at(t) + 1;
      bool bad = false;
      const entry* const e = find(number, key, *next, bad);
      if (bad) return syntax();
      t += 2;
      if (e == nullptr) {
        if (!how_.skip_others) return fail(key - 1, [&] { return unknown_key(key, number); });
        t = skip(t, 1);
      } else {
        uint64_t& taken = taken_[e->number / 64];
        const uint64_t bit = uint64_t{1} << (e->number % 64);
        if ((taken & bit) != 0)
          return fail(key - 1, [&] { return fmt::format("the key {} is there twice", quoted_excerpt(e->key)); });
        taken |= bit;
        next = &next_[e->number];
        t = e->column ? read_value(t, *e->column) : read_inner(t, *e);
      }
      if (t == nullptr) return nullptr;
      const char mark = *at(t++);
      if (mark == '}') return t;
      if (mark != ',') return syntax();
    }
  }

  std::string unknown_key(const char* key, size_t object) const {
    const std::string& path = how_.layout.objects[object].path;
    return fmt::format("no column takes the key {}{}{}; `other_keys: skip` leaves such keys out",
                       quoted_excerpt(key_at(key)), path.empty() ? "" : " of ", path);
  }

  token read_inner(token t, const entry& e) {
    if (*at(t) == '{') return read_object(t + 1, e.object);
    const std::string_view value = scalar(t);
    if (value == "null") return t + 1;  // and so are the columns in it
    if (!is_value(value)) return syntax();
    return fail(at(t), [&] {
      return fmt::format("expected an object at \"{}\", got {}", how_.layout.objects[e.object].path, json_kind(value));
    });
  }

  token read_value(token t, size_t number) {
    const record::column& column = how_.type[number];
    const std::string_view value = scalar(t);
    std::byte* const to = row_ + column.offset;
    if (*at(t) == '"' && (column.type.is_text() || column.type.is_time() || column.type.is_decimal())) {
      if (!read_text(value, number, to)) return nullptr;
    } else if (!read_scalar(column.type, value, to)) {
      if (value == "null") return set_missing(number, at(t)) ? t + 1 : nullptr;
      if (!is_value(value)) return syntax();
      return fail(at(t), [&] { return json_refusal(column.type, value) + advice_on_inner(t, value, number); });
    }
    tell(number, false);
    return t + 1;
  }

  // Of an object where a column has one value: its keys are named by paths.
  std::string advice_on_inner(token t, std::string_view value, size_t number) const {
    if (!value.starts_with('{') || *at(t + 1) == '}') return {};
    const std::string_view key = *at(t + 1) == '"' ? key_at(at(t + 1) + 1) : std::string_view();
    const bool plain = !key.empty() && key.size() <= 40 && key.find_first_of("\\\". ") == std::string_view::npos;
    return fmt::format("; what is in it has a path: names: {{{}: {}.{}}}", how_.type[number].name,
                       how_.layout.paths[number], plain ? key : "KEY");
  }

  static bool read_scalar(record::value_type type, std::string_view value, std::byte* to) {
    if (type.is_unsigned() && read_short_unsigned(value, type.num_bytes, to)) return true;
    if (type.is_number() || type.is_decimal()) return is_json_number(value) && parse_json_number(type, value, to);
    if (!type.is_boolean() || (value != "true" && value != "false")) return false;
    *to = static_cast<std::byte>(value[0] == 't');
    return true;
  }

  bool read_text(std::string_view value, size_t number, std::byte* to) {
    const record::value_type type = how_.type[number].type;
    std::string_view text = value.substr(1, value.size() - 2);
    if (type.is_string()) {
      if (copy_plain(text, to_.next_text())) {
        to_.end_text(to, text.size());
        return true;
      }
      char* const begin = reinterpret_cast<char*>(to_.next_text());
      const char* const end = tokens().unescape(value.data(), begin);
      if (end == nullptr) return syntax() != nullptr;
      to_.end_text(to, static_cast<size_t>(end - begin));
      return true;
    }
    if (may_have_escape(text) && !unescape(text)) return syntax() != nullptr;
    if (how_.times.has(number) ? how_.times.parse(number, type, text, to) : parse_value(type, text, to)) return true;
    fail(value.data(),
         [&] { return how_.times.has(number) ? how_.times.refusal(number, type, text) : refusal(type, text); });
    return false;
  }

  // What a JSON value begins with.
  static bool is_value(std::string_view value) {
    if (value.empty()) return false;
    if (value[0] == '"' || value[0] == '{' || value[0] == '[') return true;
    return value == "true" || value == "false" || value == "null" || is_json_number(value);
  }

  void tell(size_t number, bool missing) {
    ++num_columns_;
    if (const auto& told_by = how_.missing.columns[number].told_by) row_[*told_by] = static_cast<std::byte>(missing);
  }

  bool set_missing(size_t number, const char* place) {
    const record::column& column = how_.type[number];
    if (!how_.missing.columns[number].allowed) {
      fail(place, [&] {
        return fmt::format(
            "null where a value is needed: '{}' has neither `default` nor `missing`; give it one of them: {}",
            column.name, way_to_allow(column));
      });
      return false;
    }
    std::memcpy(row_ + column.offset, how_.missing.values.data() + column.offset, column.type.num_bytes);
    tell(number, true);
    return true;
  }

  // The columns whose keys are not there.
  bool take_missing() {
    for (const json_layout::object& object : how_.layout.objects)
      for (const entry& e : object.entries) {
        if (!e.column || (taken_[e.number / 64] >> (e.number % 64) & 1) != 0) continue;
        if (how_.missing.columns[*e.column].allowed) {
          set_missing(*e.column, nullptr);
          continue;
        }
        fail(line_.data() + line_.find('{'), [&] {
          return fmt::format("there is no {}: '{}' has neither `default` nor `missing`; give it one of them: {}",
                             quoted_excerpt(how_.layout.paths[*e.column]), how_.type[*e.column].name,
                             way_to_allow(how_.type[*e.column]));
        });
        return false;
      }
    return true;
  }

  // A value that no column takes must be JSON, too. `depth`: objects and arrays around it.
  token skip(token t, size_t depth) {
    switch (*at(t)) {
      case '"': {
        std::string_view text = scalar(t);
        text = text.substr(1, text.size() - 2);
        return !may_have_escape(text) || unescape(text) ? t + 1 : syntax();
      }
      case '{':
      case '[':
        if (depth == json_reading::most_nested)
          return fail(
              at(t), [] { return fmt::format("objects and arrays nested deeper than {}", json_reading::most_nested); });
        return *at(t) == '{' ? skip_object(t + 1, depth) : skip_array(t + 1, depth);
      default: return is_value(scalar(t)) ? t + 1 : syntax();
    }
  }

  token skip_object(token t, size_t depth) {
    if (*at(t) == '}') return t + 1;
    while (true) {
      if (*at(t) != '"' || *at(t + 1) != ':') return syntax();
      t = skip(t, depth);  // the key is a text
      if (t == nullptr || (t = skip(t + 1, depth + 1)) == nullptr) return nullptr;
      const char mark = *at(t++);
      if (mark == '}') return t;
      if (mark != ',') return syntax();
    }
  }

  token skip_array(token t, size_t depth) {
    if (*at(t) == ']') return t + 1;
    while (true) {
      t = skip(t, depth + 1);
      if (t == nullptr) return nullptr;
      const char mark = *at(t++);
      if (mark == ']') return t;
      if (mark != ',') return syntax();
    }
  }

  const json_reading& how_;
  row_filler& to_;
  token_list many_, alone_;
  std::string_view ahead_;       // whose tokens are in many_
  token next_line_ = nullptr;    // the first of the lines that are left of it; null: there are none
  std::vector<uint64_t> taken_;  // a bit for each entry of the layout
  std::vector<size_t> first_;    // for each of its objects, the entry whose key came first in the line before
  std::vector<size_t> next_;     // for each entry, the one in its object that came behind it
  std::string unescaped_;
  std::string_view line_;
  std::byte* row_ = nullptr;
  const char* text_ = nullptr;      // that the tokens are of: many lines, or
  const char* text_end_ = nullptr;  // one alone
  bool telling_ = false;            // a line alone, and why it is malformed
  size_t num_columns_ = 0;          // that have a value
};

json_line_reader::json_line_reader(const json_reading& how, row_filler& to)
    : steps_(std::make_unique<steps>(how, to)) {}
json_line_reader::~json_line_reader() = default;

void json_line_reader::look_ahead(std::string_view lines) { steps_->look_ahead(lines); }
bool json_line_reader::read(std::string_view line, std::byte* row) { return steps_->read(line, row); }
const char* json_line_reader::where() const { return steps_->where; }
std::string json_line_reader::reason() const { return steps_->reason; }

}  // namespace flowrun::operators
