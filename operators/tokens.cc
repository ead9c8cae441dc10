// tokens: the words of a text, one row each.
//
// A program in front computes the text and the columns that are kept; its rows already have the shape of the output, so
// a token's row is its text's row with the string_ref moved: no text is copied, all rows share the heap. The characters
// of tokens are a table of 256 flags. Counting words or n-grams is then a sort with combine.
#include <fmt/format.h>

#include <algorithm>

#include "operators/parts/rules/column_copy.h"
#include "operators/parts/rules/estimates.h"
#include "operators/parts/rules/program.h"
#include "operators/parts/text/token_set.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  named_expressions columns;  // those kept, then the text under the token's name
  token_set in_token;
  void bind(const expr::scalar_values& values) { expr::bind(columns, values); }
};

settings read(plan::node_checker& node) {
  settings s;
  const record::row_type& input = node.input_type();
  if (node.has("keep"))
    for (const std::string& name : node.columns("keep"))
      s.columns.emplace_back(name, expr::column_expression(input, *input.index_of(name)));
  const std::string name = node.text("as");
  if (std::any_of(s.columns.begin(), s.columns.end(), [&](const auto& c) { return c.first == name; }))
    node.fault_at_parameter("as", fmt::format("the column '{}' is kept already", name), "a name of its own");
  if (const auto text = node.expression("text", expr::scope{.row = &input})) {
    if (auto string = text->converted_to(record::value_type::of(record::type_kind::string)); text->type().is_text())
      s.columns.emplace_back(name, *std::move(string));
    else
      node.fault_at_parameter("text", fmt::format("'{}' is {}", text->text(), to_string(text->type())),
                              "string or bytes[N]");
  }
  const bool separated = node.has("separators");
  if (separated && node.has("characters"))
    node.fault_at_parameter("separators", "tokens has either characters or separators", "one of them");
  const char* parameter = separated ? "separators" : "characters";
  const auto is_beyond_ascii = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  if (const std::string text = separated ? node.text(parameter) : "";
      std::any_of(text.begin(), text.end(), is_beyond_ascii))
    node.fault_at_parameter(parameter, "a separator is one byte, and characters beyond ASCII have several",
                            "characters of ASCII, such as ' ,;'",
                            "put blanks in the place of others before: map, with: {text: \"replace(text, '–', ' ')\"}");
  const auto given = token_set::parse(
      separated || node.has("characters") ? node.text(parameter) : std::string(token_set::default_characters),
      separated);
  if (given)
    s.in_token = *given;
  else
    node.fault_at_parameter(parameter, fmt::format("'{}' is no set of characters", node.text(parameter)),
                            "characters and ranges, such as A-Za-z0-9_",
                            "a - of its own comes first or last, or is written \\-");
  return s;
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  if (!node.ok()) return s;
  // A text has about a token per six bytes; how many can't be known. What sorts the texts doesn't sort their tokens.
  const named_expressions kept(s.columns.begin(), s.columns.end() - 1);
  node.set_output(0, type_of(s.columns), plan::carried_over(node.input_order(), renamed(kept, node.input_type())));
  return s;
}

class token_stage final : public exec::stateless_stage {
 public:
  token_stage(const record::row_type& type, const token_set& in_token, record::batch_pool& pool, size_t batch_bytes)
      : row_bytes_(type.row_bytes()),
        token_offset_(type[type.num_columns() - 1].offset),
        in_token_(in_token),
        pool_(pool),
        max_rows_(std::max<size_t>(batch_bytes / type.row_bytes(), 1)) {}

  void apply(const record::batch& in, exec::output& out) const override {
    std::shared_ptr<std::byte[]> rows;
    size_t num_rows = 0;
    auto at = static_cast<uint32_t>(out.within());  // where the text goes on
    for (size_t i = 0; i < in.num_rows; ++i, at = 0) {
      const record::string_ref text = record::load_ref(in.row(i) + token_offset_);
      const auto* bytes = reinterpret_cast<const unsigned char*>(in.heap) + text.offset;
      for (;;) {
        const token_set::place found = in_token_.next(bytes, text.length, at);
        if (found.from == text.length) break;
        at = static_cast<uint32_t>(found.from);
        const auto end = static_cast<uint32_t>(found.end);
        if (num_rows == max_rows_) {
          out.emit(sharing_heap(in, std::move(rows), num_rows, row_bytes_));
          return out.leave(i, at);
        }
        if (rows == nullptr) rows = pool_.take(max_rows_ * row_bytes_);
        std::byte* to = rows.get() + num_rows * row_bytes_;
        copy_bytes(to, in.row(i), row_bytes_);
        const record::string_ref token{text.offset + at, end - at};
        std::memcpy(to + token_offset_, &token, sizeof token);
        ++num_rows;
        at = end;
      }
    }
    if (num_rows > 0) out.emit(sharing_heap(in, std::move(rows), num_rows, row_bytes_));
  }

 private:
  uint32_t row_bytes_, token_offset_;
  token_set in_token_;
  record::batch_pool& pool_;
  size_t max_rows_;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  out.stages.push_back(make_program(c.input_type(), {program_step::map(s.columns)}, c.job.pool()));
  out.stages.emplace_back(
      std::make_unique<token_stage>(c.output_type(), s.in_token, c.job.pool(), c.batches.target_bytes));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"tokens">() {
  plan::operator_declaration d;
  d.name = "tokens";
  d.summary = "Cuts texts into tokens, such as words: a row for each.";
  d.details =
      "A token is a longest run of characters of one set. `characters` names the set, by default letters, digits and "
      "_; bytes beyond ASCII always belong to it, so words in UTF-8 stay whole. `separators` names its complement "
      "instead. For words without regard to case, give text: \"lower(text)\".\n\n"
      "n-grams of words are windows over tokens; n-grams of characters are windows over a file that is read as rows of "
      "{c: u8}.";
  d.order = "keeps: the leading order columns that are kept";
  d.example =
      "words: {op: tokens, in: lines, with: {text: \"lower(text)\"}}\n"
      "pairs: {op: window, in: words, with: {before: 1, let: {pair: \"concat(row[-1].token, ' ', token)\"}}}\n";
  d.role = plan::operator_role::stateless;
  d.inputs = {{"in", "rows with a text"}};
  d.outputs = {{"out", "the kept columns and the token, in the order of the text"}};
  d.parameters = {
      {.name = "text", .kind = plan::parameter_kind::expression, .required = true, .help = "The text to cut."},
      {.name = "as",
       .kind = plan::parameter_kind::new_column,
       .default_text = "token",
       .help = "The name of the token's column."},
      {.name = "keep",
       .kind = plan::parameter_kind::columns,
       .help = "Columns that each token's row has in front of the token."},
      {.name = "characters",
       .kind = plan::parameter_kind::text,
       .help = "What tokens consist of: characters and ranges, A-Za-z0-9_ by default."},
      {.name = "separators",
       .kind = plan::parameter_kind::text,
       .help = "What stands between tokens, in place of `characters`: \" ,;\", for example."}};
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
