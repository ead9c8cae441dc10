// file.read_npy: NumPy's own files, columns by the names of the fields.
//
// A serial head reads each file's header and cuts what follows into whole rows (npy_source.h), the stage behind makes
// rows of the type in parallel (npy_rows.h): by copying columns, or, where the file has just these, by looking at them
// as they lie there.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/exec/parcel.h"
#include "engine/io/decoder.h"
#include "operators/parts/files/file_input.h"
#include "operators/parts/files/npy_layout.h"
#include "operators/parts/files/npy_rows.h"
#include "operators/parts/files/npy_source.h"
#include "operators/parts/order/declared_order.h"
#include "operators/parts/rules/estimates.h"
#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/file_column.h"
#include "operators/parts/text/rejection_tally.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

using action = plan::node_checker::error_policy::action;

struct settings {
  std::vector<std::string> paths;
  input_facts inputs = {};
  npy_columns columns;
  record::row_type given_type;  // with the file's name
  plan::order sorted_by;
  plan::node_checker::error_policy on_error;
};

void read_names(plan::node_checker& node, npy_columns& columns) {
  columns.names = columns.type.names();
  for (const auto& [column, name] : node.column_texts("names", columns.type))
    columns.names[*columns.type.index_of(column)] = name;
}

settings read(plan::node_checker& node) {
  settings s;
  s.paths = node.paths("path");
  if (auto type = node.row_type("type")) s.columns.type = *std::move(type);
  read_names(node, s.columns);
  s.on_error = node.on_error();
  s.sorted_by = read_declared_order(node, s.columns.type);
  if (!s.sorted_by.empty() && s.on_error.what == action::to_port)
    node.fault_at_parameter("sorted_by", "an order can't be checked where rows leave for another output", "",
                            "say `on_error: skip`, or leave out `sorted_by` and sort the rows");
  s.given_type = with_file_column(node, s.columns.type);
  return s;
}

// Rows of the error port: where the value is, in its file, and what is wrong with it.
record::row_type reject_type() {
  using record::type_kind;
  using record::value_type;
  return record::row_type({{"row_in_file", value_type::of(type_kind::u64)},
                           {"column", value_type::of(type_kind::string)},
                           {"reason", value_type::of(type_kind::string)}});
}

// As the headers say, where all can be looked at. What is wrong with one is said by look_into(), or by the run.
plan::row_estimate estimate(const plan::node_checker& node, const settings& s) {
  constexpr size_t looked_at = size_t{64} * 1024;
  if (!s.inputs.num_bytes) return {};
  uint64_t rows = 0, most_bytes = *s.inputs.num_bytes, row_bytes = 1;
  for (const std::string& path : s.paths) {
    const std::string content = node.file_beginning(path, looked_at);
    const auto bytes = std::as_bytes(std::span(content));
    const io::encoding how = io::recognise(bytes);
    const std::string text = how == io::encoding::plain ? content : io::decoded_beginning(how, bytes, looked_at).text;
    try {
      const std::optional<npy_layout> layout = npy_layout_of(path, text, s.columns);
      if (!layout) return {};
      rows = plan::bound_plus(rows, layout->num_rows);
      row_bytes = std::max(row_bytes, layout->row_bytes);
    } catch (const error&) {
      return {};
    }
  }
  // (A header may say anything.)
  const uint64_t most_rows = rows;
  rows = std::min(rows, most_bytes / row_bytes);
  plan::row_estimate out = exactly(rows, s.given_type);
  out.exact = rows == most_rows && !s.inputs.estimated && s.on_error.what == action::fail;
  if (!out.exact) {
    out.most_rows = most_rows;
    out.most_bytes = s.given_type.has_strings() ? plan::row_estimate::unbounded
                                                : plan::bound_times(most_rows, s.given_type.row_bytes());
  }
  return out;
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  for (const record::column& c : s.columns.type.columns())
    if (c.type.is_string())
      node.fault_at_parameter("type", fmt::format("column '{}' is a string, which NumPy's arrays don't have", c.name),
                              "columns of fixed width, such as bytes[16]",
                              "an array of text (U<N>) becomes bytes with numpy.char.encode(a, 'utf-8')");
  const size_t port = s.on_error.what == action::to_port ? node.add_output(s.on_error.port) : 0;
  if (!node.ok()) return s;
  s.inputs = look_at_inputs(node, s.paths);
  s.inputs.beginning.clear();
  const plan::row_estimate rows = estimate(node, s);
  if (port > 0) node.set_output(port, reject_type(), {}, plan::row_estimate{});
  node.set_output(0, s.given_type, s.sorted_by, rows);
  return s;
}

class convert_stage final : public exec::parcel_stage<npy_piece> {
 public:
  convert_stage(const settings& s, std::shared_ptr<rejection_tally> tally, record::batch_pool& pool, size_t batch_bytes)
      : settings_(s),
        type_(settings_.columns.type),
        reject_type_(reject_type()),
        tally_(std::move(tally)),
        pool_(pool),
        file_column_(type_, s.given_type, s.paths),
        batch_bytes_(batch_bytes) {}

  void open(const npy_piece& in, exec::output& out) const override {
    const size_t begin = out.within();
    if (in.layout->is_rows) {
      record::batch b;
      b.rows = in.rows;
      b.num_rows = in.num_rows;
      b.row_bytes = type_.row_bytes();
      b.first_row = in.first_row;
      b.owner = in.owner;
      emit(std::move(b), in, out);
      return tally_->parsed(in.num_rows, true);
    }
    // Rows that are rejected may take more than they took in the file.
    const bool keep = settings_.on_error.what == action::to_port;
    size_t done = begin;
    while (done < in.num_rows && !out.full()) {
      const size_t count = std::min(in.num_rows - done, keep ? rows_at_once : in.num_rows);
      convert(in, done, count, keep, out);
      done += count;
    }
    const bool ends = done == in.num_rows;
    tally_->parsed(done - begin, ends);
    if (!ends) out.leave(0, done);
  }

 private:
  static constexpr size_t rows_at_once = 1024;

  void emit(record::batch b, const npy_piece& in, exec::output& out) const {
    if (b.num_rows == 0) return;
    out.emit(settings_.given_type.num_columns() > type_.num_columns() ? file_column_.add(b, in.file, pool_)
                                                                      : std::move(b));
  }

  void convert(const npy_piece& in, size_t from, size_t count, bool keep, exec::output& out) const {
    std::shared_ptr<std::byte[]> rows = pool_.take(count * type_.row_bytes());
    std::vector<npy_rejected_row> rejected;
    record::batch b;
    b.rows = rows.get();
    b.row_bytes = type_.row_bytes();
    b.first_row = in.first_row + from;
    b.num_rows = rows_of_npy(*in.layout, type_, in.rows + from * in.layout->row_bytes, count, rows.get(), rejected);
    b.owner = std::move(rows);
    emit(std::move(b), in, out);
    if (rejected.empty()) return;
    record::batch_builder rejects(reject_type_, pool_, record::rows_of_any_length(batch_bytes_));
    std::vector<record::batch> ready;
    for (const npy_rejected_row& r : rejected) {
      malformed_record bad;
      bad.line = in.row_in_file + from + r.row;
      bad.column = r.column;
      bad.reason = fmt::format("column '{}' {}", type_[r.column].name, r.reason);
      if (!tally_->reject(in.file, bad)) break;
      if (!keep) continue;
      std::byte* const row = rejects.append();
      std::memcpy(row + reject_type_[0].offset, &bad.line, sizeof bad.line);
      rejects.put_string(row + reject_type_[1].offset, type_[r.column].name);
      rejects.put_string(row + reject_type_[2].offset, bad.reason);
      if (rejects.full()) ready.push_back(rejects.take());
    }
    if (!rejects.empty()) ready.push_back(rejects.take());
    out.emit(ready, 1);
  }

  const settings settings_;
  const record::row_type& type_;  // of settings_
  const record::row_type reject_type_;
  const std::shared_ptr<rejection_tally> tally_;
  record::batch_pool& pool_;
  const file_column file_column_;
  const size_t batch_bytes_;
};

rejection_words words_of_rows(const record::row_type& type) {
  rejection_words words;
  words.one = "row";
  words.several = "rows";
  const bool has_times = std::any_of(type.columns().begin(), type.columns().end(),
                                     [](const record::column& c) { return c.type.is_time(); });
  words.mend = has_times ? "mend the array (a[~numpy.isnat(a['t'])] leaves out what is missing)" : "mend the array";
  words.check = "check `type`, mend the array";
  words.place = [](const std::string& path, uint64_t row, uint64_t) {
    return fmt::format("{}: row {} (counted from 0)", path, row);
  };
  return words;
}

exec::assembly build(exec::build_context& c, const settings& s) {
  auto tally = std::make_shared<rejection_tally>(s.on_error, s.paths, c.counters, words_of_rows(s.given_type));
  const size_t most_rows = record::shape_for(s.given_type, c.batches.target_bytes).max_rows;
  exec::assembly out;
  out.head = make_npy_source(c, s.paths, s.columns, most_rows, tally);
  out.stages.push_back(std::make_unique<convert_stage>(s, std::move(tally), c.job.pool(), c.batches.target_bytes));
  if (!s.sorted_by.empty()) out.stages.push_back(make_order_check(s.given_type, s.sorted_by, s.paths));
  return out;
}

void look_into(const settings& s, const std::string& path) {
  const std::optional<npy_layout> layout = npy_layout_of_file(path, s.columns);
  if (io::is_compressed(path)) return;  // its length is known when it has been read
  std::error_code problem;
  const uint64_t file_bytes = std::filesystem::file_size(path, problem);
  if (problem) return;  // the run says why
  if (!layout || file_bytes < layout->begin) npy_without_header(path, file_bytes);
  const uint64_t num_bytes = file_bytes - layout->begin;
  if (num_bytes < layout->num_bytes()) npy_cut_short(path, *layout, num_bytes);
  if (num_bytes > layout->num_bytes()) npy_goes_on(path, *layout);
}

}  // namespace

template <>
exec::operator_definition word<"file_read_npy">() {
  using plan::parameter_kind;
  plan::operator_declaration d;
  d.name = "file.read_npy";
  d.summary = "Reads NumPy files (.npy): an array is a table.";
  d.details =
      "A structured array has the columns of `type` as fields, which are taken by name; other fields and padding are "
      "skipped. An array of one dimension without fields is a single column, and one of two dimensions is rows of as "
      "many columns of one type; these take their names from `type`. The types must be those of the file: bool is b1, "
      "u8 to u64, i8 to i64, f32 and f64 are u1 to u8, i1 to i8, f4 and f8, bytes[N] is S<N> or V<N>, date is M8[D], "
      "timestamp M8[us]; u24, u40 and u48 are numbers of 32 and 64 bits that are small enough, and decimal[S] is i8, "
      "the number of its units. Bytes may lie in either order. A file whose fields or types are others is refused, "
      "before the run, with the `type` that it has.\n\n"
      "A row with a value that its column can't have ends the job: a time that is missing (NaT), a day that is no "
      "date, a number that is too large, a bool that is neither 0 nor 1. `on_error: skip` drops such rows, `on_error: "
      "{to: PORT}` drops them and tells an output of that name {row_in_file: u64, column: string, reason: string}, "
      "with rows counted from 0 in their file.\n\n"
      "Versions 1.0 to 3.0 of the format are read. Arrays of Python's objects, of more dimensions, and of two in "
      "Fortran order are refused. A file of another length than its header says ends the job. `sorted_by` declares an "
      "order that the rows have, so that no sort is needed; it is checked while reading.";
  d.order = "gives: sorted_by";
  d.example =
      "edges:  {op: file.read_npy, with: {path: edges.npy, type: {src: u32, weight: f64}}}\n"
      "points: {op: file.read_npy, with: {path: \"points-*.npy\", type: {x: f32, y: f32}, file_column: file}}\n";
  d.role = plan::operator_role::source;
  d.division = plan::operator_division::files;
  d.outputs = {{"out", "the rows"}};
  d.has_error_port = true;
  d.parameters.resize(3);
  d.parameters[0] = input_path_parameter();
  d.parameters[1] = input_type_parameter("The columns to take, of a structured array in any order; no strings.");
  d.parameters[2].name = "names";
  d.parameters[2].kind = parameter_kind::column_texts;
  d.parameters[2].help =
      "What the array calls the field of a column, such as {amount: \"Amount (EUR)\"}; else it has the column's name.";
  d.parameters.push_back(declared_order_parameter());
  d.parameters.push_back(file_column_parameter());
  d.memory = [](const plan::node& n, plan::node_part) { return reading_memory(n.settings.as<settings>().inputs); };
  return exec::define<settings>(std::move(d), check, build, look_into);
}

}  // namespace flowrun::operators
