// file.read_lines: each line of a text is a row {text: string}.
//
// The head cuts the text at line ends, the stage behind builds the rows in parallel: one pass of memchr and one copy of
// the text, which becomes the heap of the batch as it is. The line ends stay in that heap, but no row refers to them.
#include <algorithm>
#include <utility>

#include "engine/base/units.h"
#include "engine/exec/parcel.h"
#include "operators/parts/files/file_input.h"
#include "operators/parts/text/byte_range.h"
#include "operators/parts/text/file_column.h"
#include "operators/parts/text/line_delimiter.h"
#include "operators/parts/text/text_source.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  std::vector<std::string> paths;
  char delimiter = '\n';
  record::row_type type;
  input_facts inputs = {};
  byte_range range = {};
};

record::row_type line_type() { return record::row_type({{"text", record::value_type::of(record::type_kind::string)}}); }

settings check(plan::node_checker& node) {
  settings s{node.paths("path"), line_delimiter(node), with_file_column(node, line_type())};
  if (!node.ok()) return s;
  s.inputs = look_at_inputs(node, s.paths);
  s.range = read_byte_range(node, s.paths, s.inputs);
  if (!node.ok()) return s;
  node.set_output(0, s.type, {}, rows_of_text(s.inputs, s.delimiter, 1, line_type()));
  return s;
}

class line_stage final : public exec::parcel_stage<numbered_text> {
 public:
  line_stage(const settings& s, record::batch_pool& pool, size_t batch_bytes)
      : delimiter_(s.delimiter),
        max_rows_(record::shape_for(s.type, batch_bytes).max_rows),
        names_file_(s.type.num_columns() > 1),
        file_column_(line_type(), s.type, s.paths),
        pool_(pool) {}

  void open(const numbered_text& in, exec::output& out) const override {
    const std::string_view text = in.piece.text;
    const std::string_view done = text.substr(0, out.within());
    uint64_t row_number = in.first_row + count_byte(done, delimiter_);
    const char* p = text.data() + done.size();
    const char* const end = text.data() + text.size();
    while (p != end) {
      if (out.full()) return out.leave(0, static_cast<uint64_t>(p - text.data()));
      const char* const heap_begin = p;
      const size_t capacity = std::min<size_t>(max_rows_, static_cast<size_t>(end - p));
      std::shared_ptr<std::byte[]> rows = pool_.take(capacity * sizeof(record::string_ref));
      size_t num_rows = 0;
      for (; p != end && num_rows < capacity; ++num_rows) {
        const char* const line = p;
        p = find_byte(p, end, delimiter_);
        const record::string_ref ref{static_cast<uint32_t>(line - heap_begin), static_cast<uint32_t>(p - line)};
        std::memcpy(rows.get() + num_rows * sizeof ref, &ref, sizeof ref);
        if (p != end) ++p;
      }
      record::batch b;
      b.rows = rows.get();
      b.num_rows = num_rows;
      b.row_bytes = sizeof(record::string_ref);
      b.heap_bytes = static_cast<size_t>(p - heap_begin);
      b.first_row = row_number;
      row_number += num_rows;
      std::shared_ptr<const void> text_owner = in.piece.owner;
      b.heap = reinterpret_cast<const std::byte*>(heap_begin);
      // A long line that was put together is not copied again.
      if (!in.piece.is_copy || b.heap_bytes < least_shared_bytes) {
        std::shared_ptr<std::byte[]> heap = pool_.take(b.heap_bytes);
        std::memcpy(heap.get(), heap_begin, b.heap_bytes);
        b.heap = heap.get();
        text_owner = std::move(heap);
      }
      b.owner = std::make_shared<std::pair<std::shared_ptr<std::byte[]>, std::shared_ptr<const void>>>(
          std::move(rows), std::move(text_owner));
      out.emit(names_file_ ? file_column_.add(b, in.file, pool_) : std::move(b));
    }
  }

 private:
  static constexpr size_t least_shared_bytes = 64 * KiB;

  const char delimiter_;
  const size_t max_rows_;
  const bool names_file_;
  const file_column file_column_;
  record::batch_pool& pool_;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  cutter_options cutting = default_cutting(c, s.inputs);
  cutting.line_end = s.delimiter;
  cutting.lines_in_front = lines_in_front(s.paths, s.range, s.delimiter);
  cutting.max_record_bytes = longest_line(c, cutting);
  exec::assembly out;
  out.head = make_text_source(c, s.paths, cutting, nullptr, s.range);
  out.stages.push_back(std::make_unique<line_stage>(s, c.job.pool(), cutting.piece_bytes));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"file_read_lines">() {
  plan::operator_declaration d;
  d.name = "file.read_lines";
  d.summary = "Reads text files; each line is a row {text: string}.";
  d.details =
      "A line is everything up to the delimiter, byte for byte: \\r, NUL bytes and invalid UTF-8 are kept. The last "
      "line may lack its delimiter.";
  d.order = "gives: nothing known; rows come in the order of the files";
  d.example =
      "log: {op: file.read_lines, with: {path: [access.log.1, access.log]}}\n"
      "all: {op: file.read_lines, with: {path: \"access.log*\", file_column: file}}\n";
  d.role = plan::operator_role::source;
  d.division = plan::operator_division::files;
  d.work_per_byte = 0.8;
  d.outputs = {{"out", "one row for each line"}};
  d.parameters = {input_path_parameter()};
  d.parameters.push_back(line_delimiter_parameter());
  d.parameters.push_back(byte_range_parameter());
  d.parameters.push_back(file_column_parameter());
  d.memory = [](const plan::node& n, plan::node_part) { return text_reading_memory(n.settings.as<settings>().inputs); };
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
