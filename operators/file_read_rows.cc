// file.read_rows: packed rows, exactly as they lie in the file. The hot path copies nothing: a batch is a view into the
// buffer that the disk has filled.
//
// Chunks are whole multiples of a row wherever that is possible, so that rows straddle two chunks only in pipes, behind
// a range, and where rows are wider than a chunk.
#include <algorithm>
#include <deque>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "engine/io/decoder.h"
#include "operators/parts/files/boolean_bytes.h"
#include "operators/parts/files/file_input.h"
#include "operators/parts/files/row_cutter.h"
#include "operators/parts/files/row_index.h"
#include "operators/parts/files/row_range.h"
#include "operators/parts/order/declared_order.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  std::vector<std::string> paths;
  record::row_type type;
  row_range range;
  plan::order sorted_by;
  bool index = false;
  bool decode = true;
  input_facts inputs;
};

settings read(plan::node_checker& node) {
  settings s;
  s.paths = node.paths("path");
  if (auto type = node.row_type("type")) s.type = *std::move(type);
  s.range = row_range_parameter(node, "range");
  s.index = node.boolean("index");
  s.decode = node.text("compression") == "auto";
  s.sorted_by = read_declared_order(node, s.type);
  return s;
}

// Rows in the files, as far as their sizes are known.
plan::row_estimate estimate(const settings& s) {
  if (!s.inputs.num_bytes) return {};
  const uint64_t rows = *s.inputs.num_bytes / std::max<uint32_t>(s.type.row_bytes(), 1);
  const uint64_t wanted = std::min(s.range.to, rows) - std::min(s.range.from, rows);
  plan::row_estimate out = plan::exact_rows(wanted, s.type.row_bytes());
  if (s.inputs.estimated) {
    out.exact = false;
    out.most_rows = s.range.to - s.range.from;  // without a range there is no bound
    out.most_bytes = plan::bound_times(out.most_rows, s.type.row_bytes());
  }
  return out;
}

// A join that skips may then seek in the file (join_settings.cc).
void check_index(plan::node_checker& node, const settings& s) {
  plan::index_facts& index = node.facts().index.emplace();
  if (!s.paths.empty()) index.path = s.paths.front();
  if (s.sorted_by.empty())
    node.fault_at_parameter("index", "by what are the rows sorted?", "sorted_by: the columns that they were sorted by");
  if (s.paths.size() != 1 || s.paths.front() == "-")
    node.fault_at_parameter("index", "an index belongs to one file", "path: NAME");
  else if (const int64_t num_bytes = node.file_bytes(index_path(s.paths.front())); num_bytes > 0)
    index.num_bytes = static_cast<uint64_t>(num_bytes);
  if (node.has("range"))
    node.fault_at_parameter("index", "an index is of all rows of its file", "no range", "leave out `index`");
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  if (!node.ok()) return s;
  for (const record::column& c : s.type.columns())
    if (c.type.is_string())
      node.fault_at_parameter("type", fmt::format("column '{}' is a string, which has no fixed width", c.name),
                              "columns of fixed width, such as bytes[16]",
                              "read text with file.read_csv or file.read_lines");
  if ((s.range.from > 0 || s.range.to < UINT64_MAX) && s.paths.size() > 1)
    node.fault_at_parameter("range", "a range needs a single file", "one path",
                            "read the parts with nodes of their own and join them with concat");
  s.inputs = look_at_inputs(node, s.paths, s.decode && !s.index);
  s.inputs.beginning.clear();
  if (s.index) check_index(node, s);
  if (!node.ok()) return s;
  node.set_output(0, s.type, s.sorted_by, estimate(s));
  return s;
}

[[noreturn]] void truncated(const std::string& path, uint64_t num_bytes, uint32_t row_bytes) {
  throw error(error_kind::bad_data,
              fmt::format("{}: {} bytes are {} rows of {} bytes and {} bytes more", path, num_bytes,
                          num_bytes / row_bytes, row_bytes, num_bytes % row_bytes),
              "was the file cut short, or is `type` not the type it was written with?");
}

file_input::part part_of(const settings& s, const std::string& path) {
  const uint64_t row_bytes = s.type.row_bytes();
  const auto bytes = [row_bytes](uint64_t rows) {
    return rows > UINT64_MAX / row_bytes ? UINT64_MAX : rows * row_bytes;
  };
  return {path, bytes(s.range.from), bytes(s.range.to)};
}

class rows_source final : public exec::source {
 public:
  rows_source(exec::build_context& context, const settings& s)
      : row_bytes_(s.type.row_bytes()),
        from_(s.range.from),
        booleans_(s.type),
        options_(options(context, s)),
        input_(context.job, context.counters, parts(s), options_, beginning_at(context.begin_at)),
        cutter_(row_bytes_, record::shape_for(s.type, context.batches.target_bytes).max_rows, options_.max_held,
                context.job.pool()) {
    if (context.begin_at == nullptr) return;
    file_bytes_ = context.begin_at->at(1);
    rows_queued_ = context.begin_at->at(2);
  }

  // File, byte in the part of it that is read, rows before.
  resume::source_position position() const override {
    const uint64_t num_rows = batches_.empty() ? rows_queued_ : batches_.front().first_row - from_;
    return {input_.file(), file_bytes_ - cutter_.num_straddling() - (rows_queued_ - num_rows) * row_bytes_, num_rows};
  }

  outcome pull(exec::output& out, waker& w) override {
    while (batches_.empty()) {
      io::chunk chunk;
      if (const outcome o = input_.next(chunk, w); !o.is_ready()) return o;
      if (chunk.num_bytes > 0) {
        cut(chunk);
      } else {
        if (cutter_.num_straddling() > 0) truncated(input_.path(), file_bytes_, row_bytes_);
        file_bytes_ = 0;
      }
    }
    out.emit(std::move(batches_.front()));
    batches_.pop_front();
    return outcome::ready();
  }

 private:
  static io::file_reader_options options(const exec::build_context& context, const settings& s) {
    io::file_reader_options out =
        reading_options(context.job, context.memory_bytes, s.type.row_bytes(), s.decode && !s.index);
    if (out.decoding) out.decoding->hint = "if its rows only begin as compressed content does, say compression: none";
    return out;
  }

  static std::vector<file_input::part> parts(const settings& s) {
    std::vector<file_input::part> all;
    for (const std::string& path : s.paths) all.push_back(part_of(s, path));
    return all;
  }

  void cut(const io::chunk& chunk) {
    uint64_t row = from_ + (file_bytes_ - cutter_.num_straddling()) / row_bytes_;  // in the file
    file_bytes_ += chunk.num_bytes;
    std::vector<row_cutter::piece> pieces;
    cutter_.feed(chunk, pieces);
    for (row_cutter::piece& piece : pieces) {
      record::batch b;
      b.rows = piece.rows;
      b.num_rows = piece.num_rows;
      b.row_bytes = row_bytes_;
      b.first_row = from_ + rows_queued_;
      b.owner = std::move(piece.owner);
      booleans_.check(b, input_.path(), row);
      row += b.num_rows;
      rows_queued_ += b.num_rows;
      batches_.push_back(std::move(b));
    }
  }

  const uint32_t row_bytes_;
  const uint64_t from_;
  const boolean_bytes booleans_;
  const io::file_reader_options options_;
  file_input input_;
  row_cutter cutter_;
  std::deque<record::batch> batches_;
  uint64_t rows_queued_ = 0;
  uint64_t file_bytes_ = 0;  // of the current file so far
};

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  out.head = std::make_unique<rows_source>(c, s);
  if (!s.sorted_by.empty()) out.stages.push_back(make_order_check(s.type, s.sorted_by, s.paths));
  return out;
}

void look_into(const settings& s, const std::string& path) {
  if (s.index && path == index_path(s.paths.front())) return row_index::look_into(s.paths.front(), s.type, s.sorted_by);
  if (s.decode && io::is_compressed(path)) return;  // its length is known when it has been read
  std::error_code problem;
  const uint64_t file_bytes = std::filesystem::file_size(path, problem);
  if (problem) return;  // the run says why
  const file_input::part part = part_of(s, path);
  const uint64_t num_bytes = std::min(part.end, file_bytes) - std::min(part.begin, file_bytes);
  if (num_bytes % s.type.row_bytes() != 0) truncated(path, num_bytes, s.type.row_bytes());
}

}  // namespace

template <>
exec::operator_definition word<"file_read_rows">() {
  using plan::parameter_kind;
  plan::operator_declaration d;
  d.name = "file.read_rows";
  d.summary = "Reads binary files of packed rows.";
  d.details =
      "A file is nothing but rows, packed in declared order, little endian, without padding: a packed C struct, or a "
      "NumPy structured array. A size that is no multiple of the row's width is an error, and so is a bool that is "
      "neither 0 nor 1. `sorted_by` declares an "
      "order that the file has, so that no sort is needed; it is checked while reading.\n\n"
      "`index: true` says that the file was written with an index, by file.write_rows. A join with skip: true whose "
      "right input is this node then doesn't read the file from front to back, but seeks in it: only blocks that may "
      "hold keys of its left rows are read. An index that is damaged, older than the file or of other rows ends the "
      "job, and so does a block that has changed since it was indexed.";
  d.order = "gives: sorted_by";
  d.example =
      "edges: {op: file.read_rows, with: {path: edges.u32x2, type: {src: u32, dst: u32}, sorted_by: [src, dst]}}\n"
      "known: {op: file.read_rows, with: {path: known.u64, type: {key: u64}, sorted_by: [key], index: true}}\n";
  d.role = plan::operator_role::source;
  d.division = plan::operator_division::rows;
  d.outputs = {{"out", "the rows"}};
  d.parameters.resize(6);
  d.parameters[0] = input_path_parameter();
  d.parameters[1] = input_type_parameter("The columns in the order they lie in the file; no strings.");
  d.parameters[2].name = "range";
  d.parameters[2].kind = parameter_kind::text;
  d.parameters[2].help =
      "FROM:TO, the rows to read of a single file, counted from 0, without row TO; what the file doesn't have is left "
      "out.";
  d.parameters[3] = declared_order_parameter();
  d.parameters[4].name = "index";
  d.parameters[4].kind = parameter_kind::boolean;
  d.parameters[4].default_text = "false";
  d.parameters[4].help = "The file has an index, PATH.index; a join with skip may seek in it.";
  d.parameters[5].name = "compression";
  d.parameters[5].kind = parameter_kind::choice;
  d.parameters[5].choices = {"auto", "none"};
  d.parameters[5].default_text = "auto";
  d.parameters[5].help =
      "none: the rows lie in the file as they are, though its first bytes may look like compressed content by chance. "
      "A file with an index is never compressed.";
  d.memory = [](const plan::node& n, plan::node_part) { return reading_memory(n.settings.as<settings>().inputs); };
  return exec::define<settings>(std::move(d), check, build, look_into);
}

}  // namespace flowrun::operators
