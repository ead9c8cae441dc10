#include "read.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "failures.h"
#include "file_format.h"
#include "portion_stream.h"
#include "row_packer.h"
#include "type_map.h"

namespace columnar {

namespace {

// While a job is checked, a file's schema and the places of its portions are read, and no more.
constexpr int64_t memory_of_a_check = 64 << 20;

// What reading may ask for beyond its minimum.
constexpr uint64_t most_memory = uint64_t{1} << 30;
// What is decoded at once, where the format leaves a choice.
constexpr int64_t decoded_bytes = 512 << 10;

std::unique_ptr<input_file> open(file_format f, const std::string& path, counting_pool& pool, count_bytes count) {
  return f == file_format::parquet ? open_parquet(path, pool, std::move(count))
                                   : open_ipc(path, pool, std::move(count));
}

std::string list_of(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

struct read_settings {
  file_format from = file_format::parquet;
  std::vector<std::string> paths;
  std::vector<std::string> wanted;  // columns; empty: all
  bool nulls_are_zero = false;
  fr::error_policy on_error;
  fr::row_type type;
};

// A row that can't be used: which it is, and why.
const fr::row_type& reject_type() {
  static const fr::row_type type({{"path", {FR_STRING, 8}},
                                  {"portion", {FR_U64, 8}},
                                  {"row", {FR_U64, 8}},
                                  {"column", {FR_STRING, 8}},
                                  {"reason", {FR_STRING, 8}}});
  return type;
}

bool is_column_name(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || is_digit(c); });
}

// The fields that are read, and what they are in rows. Reports what has no counterpart.
template <class Fault>
std::pair<std::vector<int>, fr::row_type> match(const arrow::Schema& schema, const std::string& path,
                                                const std::vector<std::string>& wanted, Fault fault) {
  const std::string parameter = wanted.empty() ? "path" : "columns";
  std::vector<int> fields;
  for (const std::string& name : wanted) {
    const std::vector<int> found = schema.GetAllFieldIndices(name);
    if (found.empty())
      fault(parameter, "'" + path + "' has no column '" + name + "'", "one of " + list_of(schema.field_names()), "");
    else
      fields.push_back(found[0]);
  }
  for (int i = 0; wanted.empty() && i < schema.num_fields(); ++i) fields.push_back(i);
  std::vector<fr::column> columns;
  for (const int f : fields) {
    const arrow::Field& field = *schema.field(f);
    const counterpart c = row_type_of(*field.type());
    const std::string who = "column '" + field.name() + "' of '" + path + "'";
    if (!c.type)
      fault(parameter, who + " is of type " + field.type()->ToString(), "numbers, bool, texts, bytes, days and times",
            c.hint + "; or leave it out: columns");
    else if (!is_column_name(field.name()))
      fault(parameter, who + " has a name that expressions can't have", "letters, digits and _",
            "have it renamed, or leave it out: columns");
    else if (schema.GetAllFieldIndices(field.name()).size() > 1)
      fault(parameter, "'" + path + "' has two columns '" + field.name() + "'", "distinct names",
            "leave them out: columns");
    else
      columns.push_back({field.name(), *c.type});
  }
  return {fields, fr::row_type(std::move(columns))};
}

bool is_same(const fr::row_type& a, const fr::row_type& b) {
  return std::equal(a.columns().begin(), a.columns().end(), b.columns().begin(), b.columns().end(),
                    [](const fr::column& x, const fr::column& y) {
                      return x.name == y.name && x.type.kind == y.type.kind && x.type.num_bytes == y.type.num_bytes;
                    });
}

// What a file adds to what is known before the run.
void add(const input_file& file, const std::vector<int>& fields, const fr::row_type& type, fr::estimate& rows,
         fr::memory_wish& memory) {
  const row_count count = file.num_rows();
  rows.rows += static_cast<uint64_t>(count.rows);
  rows.exact = rows.exact && count.is_exact;
  rows.num_bytes += static_cast<uint64_t>(count.rows) * type.row_bytes();
  if (type.has_strings()) rows.num_bytes += static_cast<uint64_t>(file.bytes_of(fields));
  for (int i = 0; i < file.num_portions(); ++i) {
    memory.minimum = std::max(memory.minimum, static_cast<uint64_t>(file.memory_of(i, fields, false)));
    memory.maximum = std::max(memory.maximum, static_cast<uint64_t>(file.memory_of(i, fields, true)));
  }
}

// Looks into the files: their columns are the node's.
void look_into_files(fr::node& node, read_settings& s) {
  counting_pool pool(memory_of_a_check);
  fr::estimate rows;
  rows.known = rows.exact = true;
  fr::memory_wish memory;
  for (const std::string& path : s.paths) {
    std::unique_ptr<input_file> file;
    try {
      file = open(s.from, path, pool, nullptr);
    } catch (const fr::error& e) {
      node.fault("path", e.what(), "a file that is there when the job is checked: its columns become the node's",
                 e.hint());
      continue;
    }
    const auto [fields, type] = match(file->schema(), path, s.wanted, [&](auto&&... what) { node.fault(what...); });
    if (!node.good()) continue;
    if (type.columns().empty()) node.fault("path", "'" + path + "' has no columns", "at least one");
    if (s.type.columns().empty()) s.type = type;
    if (!is_same(type, s.type))
      node.fault("path", "the columns of '" + path + "' are others than those of '" + s.paths.front() + "'",
                 "files with the same columns", "columns: picks those that they share");
    add(*file, fields, type, rows, memory);
  }
  if (!node.good()) return;
  memory.minimum += static_cast<uint64_t>(pool.max_memory());  // where the portions are
  if (rows.exact) rows.most_rows = rows.rows;
  if (rows.exact && !s.type.has_strings()) rows.most_bytes = rows.num_bytes;
  rows.exact = rows.exact && s.nulls_are_zero;
  node.set_output(0, s.type, {}, rows);
  // Beyond the minimum, for portions that are decoded ahead.
  memory.maximum = std::clamp<uint64_t>(4 * memory.maximum, 4 * memory.minimum, most_memory);
  node.set_memory(memory);
}

read_settings check_reading(fr::node& node, file_format from) {
  read_settings s;
  s.from = from;
  s.paths = node.paths("path");
  s.wanted = node.names("columns");
  if (node.has("columns") && s.wanted.empty())
    node.fault("columns", "no column is read", "at least one", "without `columns` all of them are");
  s.nulls_are_zero = node.text("nulls") == "zero";
  s.on_error = node.on_error();
  if (s.on_error.action == FR_ON_ERROR_TO_PORT) node.set_output(s.on_error.port, reject_type());
  if (s.nulls_are_zero && s.on_error.action != FR_ON_ERROR_FAIL)
    node.fault("nulls", "no row is bad where nulls become zero", "nulls: bad, or no on_error");
  look_into_files(node, s);
  return s;
}

// A run of a source.
class rows_reader {
 public:
  rows_reader(const read_settings& s, const fr::job& job)
      : settings_(s), job_(job), pool_(static_cast<int64_t>(job.memory_bytes())), stream_(job, open_files(), pool_) {
    job.reserve(job.memory_bytes());
  }

  fr::outcome pull(fr::out& out) {
    while (!packer_ || row_ == packer_->num_rows()) {
      packer_.reset();
      if (const fr::outcome o = stream_.next(rows_, from_); !o.is_ready()) return o;
      packer_.emplace(settings_.type, *rows_);
      row_ = 0;
    }
    emit_some(out);
    return fr::outcome::ready();
  }

 private:
  // (What check_reading() has seen may have been replaced since.)
  std::vector<source_file> open_files() {
    std::vector<source_file> out;
    for (const std::string& path : settings_.paths) {
      source_file f{
          path, open(settings_.from, path, pool_, [this](uint64_t n) { job_.count("file_read_bytes", n); }), {}};
      fr::row_type type;
      std::tie(f.how.fields, type) =
          match(f.file->schema(), path, settings_.wanted, [](auto&&, auto&& message, auto&&, auto&&) {
            throw fr::error(message, "the file was another one when the job was checked");
          });
      if (!is_same(type, settings_.type))
        throw fr::error("the columns of '" + path + "' are others than when the job was checked");
      f.how.rows_at_once = rows_at_once(*f.file, f.how.fields);
      for (int i = 0; i < f.file->num_portions(); ++i)
        job_.count("file_total_bytes", static_cast<uint64_t>(f.file->stored_bytes(i, f.how.fields)));
      out.push_back(std::move(f));
    }
    return out;
  }

  // A power of two, as the memory is that Arrow makes for them.
  int64_t rows_at_once(const input_file& file, const std::vector<int>& fields) const {
    int64_t row_bytes = settings_.type.row_bytes();
    if (settings_.type.has_strings()) row_bytes += file.bytes_of(fields) / std::max<int64_t>(file.num_rows().rows, 1);
    const auto fitting = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(decoded_bytes / row_bytes)));
    return std::clamp<int64_t>(fitting, 8, 64 << 10);
  }

  void emit_some(fr::out& out) {
    const uint64_t row_bytes = settings_.type.row_bytes();
    const uint64_t share = settings_.type.has_strings() ? out.batch_bytes() / 2 : out.batch_bytes();
    const auto most = static_cast<int64_t>(std::max<uint64_t>(share / row_bytes, 1));
    const int64_t count = packer_->rows_within(row_, most, share);
    const uint64_t text_bytes = packer_->text_bytes(row_, count);
    unsigned char* const rows = out.take(static_cast<uint64_t>(count) * row_bytes);
    unsigned char* const heap = text_bytes == 0 ? nullptr : out.take(text_bytes);
    packer_->pack(row_, count, rows, heap);
    const int64_t kept = packer_->has_nulls() && !settings_.nulls_are_zero ? without_nulls(rows, count, out) : count;
    if (kept > 0) out.emit({rows, static_cast<size_t>(kept), static_cast<uint32_t>(row_bytes), 0, heap, text_bytes, 0});
    row_ += count;
  }

  // Moves the rows that have no null together; returns how many they are.
  int64_t without_nulls(unsigned char* rows, int64_t count, fr::out& out) {
    const size_t row_bytes = settings_.type.row_bytes();
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (const std::string* const column = packer_->null_column(row_ + i)) {
        reject(static_cast<uint64_t>(from_.first_row + row_ + i), *column, out);
        continue;
      }
      if (kept != i)
        std::memmove(rows + static_cast<size_t>(kept) * row_bytes, rows + static_cast<size_t>(i) * row_bytes,
                     row_bytes);
      ++kept;
    }
    return kept;
  }

  void reject(uint64_t row, const std::string& column, fr::out& out) {
    const source_file& f = stream_.file(from_.file);
    if (settings_.on_error.action == FR_ON_ERROR_FAIL)
      throw fr::error("'" + f.path + "', " + f.file->portion_name() + " " + std::to_string(from_.portion) + ", row " +
                          std::to_string(row) + " (from 0): column '" + column + "' is null",
                      "rows have no nulls: with nulls: zero they become 0, false or empty; on_error says what becomes "
                      "of such rows");
    job_.count("rejected_rows", 1);
    if (settings_.on_error.action != FR_ON_ERROR_TO_PORT) return;
    const fr::row_type& type = reject_type();
    fr::row_writer& to = out.rows(type, settings_.on_error.port);
    unsigned char* const at = to.append();
    to.put_text(at, type[0].offset, f.path);
    fr::row_writer::put(at, type[1].offset, static_cast<uint64_t>(from_.portion));
    fr::row_writer::put(at, type[2].offset, row);
    to.put_text(at, type[3].offset, column);
    to.put_text(at, type[4].offset, "null");
  }

  const read_settings& settings_;
  const fr::job job_;
  counting_pool pool_;  // outlives what lies in it
  portion_stream stream_;
  origin from_;
  std::shared_ptr<arrow::RecordBatch> rows_;
  std::optional<row_packer> packer_;
  int64_t row_ = 0;
};

}  // namespace

void declare_readers(fr::plugin& plugin) {
  using reader = std::unique_ptr<rows_reader>;
  const auto declare = [&](file_format from, const char* word, const char* what, const char* portions) {
    plugin.add(
        fr::source<read_settings, reader>(word)
            .summary(std::string("Reads ") + what + ": a row of each of its rows.")
            .details(std::string("The columns are those of the file; it must be there when the job is checked. ") +
                     "Numbers, bool, texts and bytes become what they are; dates, times, timestamps and durations "
                     "become the integers that the file has for them, in its unit (i32 or i64: days, s, ms, us, ns). "
                     "Columns of dictionaries become what they stand for. Decimals, halves, lists, structs and maps "
                     "have no counterpart: leave them out with `columns`. " +
                     portions)
            .order("none")
            .example(std::string("rows: {op: arrow.") + word + ", with: {path: in.parquet, columns: [id, price]}}\n")
            .output("out", "the rows, in the order of the file")
            .parameter({.name = "path",
                        .kind = FR_PARAMETER_PATHS,
                        .required = true,
                        .help = "The file; or several with the same columns, one after the other."})
            .parameter({.name = "columns",
                        .kind = FR_PARAMETER_COLUMNS,
                        .help = "Names of columns: these, in this order, and no others are read. All, if it isn't "
                                "given."})
            .parameter({.name = "nulls",
                        .kind = FR_PARAMETER_CHOICE,
                        .default_text = "bad",
                        .choices = "bad zero",
                        .help = "What a null is: its row is bad, which ends the job unless on_error says otherwise; or "
                                "it is 0, false or empty."})
            .error_port()
            .check([from](fr::node& node) { return check_reading(node, from); })
            .run([](const read_settings& s, const fr::job& job) { return std::make_unique<rows_reader>(s, job); },
                 [](reader& r, fr::out& out) { return r->pull(out); }));
  };
  declare(file_format::parquet, "read_parquet", "a Parquet file",
          "Row groups may be larger than the memory: of each column a page lies there at a time.");
  declare(file_format::ipc, "read_ipc", "an Arrow IPC file (Feather, version 2)",
          "Its record batches must fit into the memory of the node.");
}

}  // namespace columnar
