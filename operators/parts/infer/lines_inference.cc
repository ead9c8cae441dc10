// Lines of text: whatever is no table.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "operators/parts/infer/source_format.h"
#include "operators/parts/text/text_scan.h"
#include "specs/source_text.h"

namespace flowrun::operators {

namespace {

class lines_inference final : public source_inference {
 public:
  void begin_file(const std::string&) override {}

  size_t add(const text_stretch& stretch, uint64_t most_rows) override {
    const char* p = stretch.text.data();
    const char* const end = p + stretch.text.size();
    if (!stretch.begins) p = behind_line(p, end);
    for (const uint64_t before = num_rows_; p != end && num_rows_ - before < most_rows;) {
      const char* const line_end = find_byte(p, end, '\n');
      if (line_end == end && !stretch.ends) break;
      take({p, line_end});
      p = line_end == end ? end : line_end + 1;
    }
    return static_cast<size_t>(p - stretch.text.data());
  }

  uint64_t num_rows() const override { return num_rows_; }

  inferred_source finish() override {
    inferred_source out;
    out.format = "lines";
    out.op = "file.read_lines";
    out.sink_op = "file.write_lines";
    out.notes.push_back(fmt::format("lines of {} to {} bytes, as rows {{text: string}}",
                                    format_count(num_rows_ == 0 ? 0 : shortest_), format_count(longest_)));
    if (num_empty_ > 0) out.notes.push_back(fmt::format("{} lines are empty", format_count(num_empty_)));
    if (num_objects_ == num_rows_ && num_rows_ > 0) out.notes.emplace_back("each line looks like an object of JSON");
    if (num_returns_ > 0)
      out.questions.push_back(
          fmt::format("{} of {} lines end with \\r\\n, and the \\r stays in the text: "
                      "trim_right(text, \"\\r\") in a map takes it off",
                      format_count(num_returns_), format_count(num_rows_)));
    if (not_utf8_ > 0) out.notes.push_back(fmt::format("{} lines are not UTF-8", format_count(not_utf8_)));
    return out;
  }

 private:
  static const char* behind_line(const char* p, const char* end) {
    const char* const found = find_byte(p, end, '\n');
    return found == end ? end : found + 1;
  }

  void take(std::string_view line) {
    ++num_rows_;
    shortest_ = std::min(shortest_, line.size());
    longest_ = std::max(longest_, line.size());
    num_empty_ += line.empty();
    not_utf8_ += !specs::is_utf8(line);
    num_returns_ += line.ends_with('\r');
    if (line.ends_with('\r')) line.remove_suffix(1);
    num_objects_ += line.starts_with('{') && line.ends_with('}');
  }

  uint64_t num_rows_ = 0;
  size_t shortest_ = SIZE_MAX, longest_ = 0;
  uint64_t num_empty_ = 0, not_utf8_ = 0, num_returns_ = 0, num_objects_ = 0;
};

// Lists of objects, and objects over several lines: nobody wants their lines as rows.
void refuse_other_json(const file_beginning& beginning) {
  const std::string_view text = beginning.text;
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '[' && text[first] != '{')) return;
  const size_t next = text.find_first_not_of(" \t\r\n", first + 1);
  const char inside = next == std::string_view::npos ? '\0' : text[next];
  const std::string_view line = text.substr(0, text.find('\n', first));
  const bool is_list = text[first] == '[' && inside == '{';
  const bool is_cut = text[first] == '{' && inside == '"' && line.find('}') == std::string_view::npos;
  if (text[first] == '{' && inside == '\'')
    throw error(error_kind::bad_data,
                fmt::format("{}: these look like dicts of Python, and JSON has \" for '", beginning.path),
                "print(json.dumps(row)) writes a line of JSON; --as lines takes the lines as they are");
  if (is_list || is_cut)
    throw error(error_kind::bad_data,
                fmt::format("{}: this looks like JSON, but not one object a line", beginning.path),
                fmt::format("jq -c {} FILE > FILE.jsonl writes one a line; --as lines takes the lines as they are",
                            is_list ? "'.[]'" : "."));
}

}  // namespace

std::unique_ptr<source_inference> recognise_lines(const file_beginning& beginning, const infer_options&, bool asked) {
  if (!asked) refuse_other_json(beginning);
  return std::make_unique<lines_inference>();
}

}  // namespace flowrun::operators
