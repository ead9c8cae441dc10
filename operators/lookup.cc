// lookup: columns added to a stream from a table in memory, by key. No sort on either side, so the stream keeps its
// order; the table is read as a whole before the stream flows (lookup_table.h).
//
// Looking up is a stage without state, so batches are looked up in parallel and each batch hides its own memory
// accesses.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/expr/conversion.h"
#include "engine/record/value_text.h"
#include "operators/parts/order/lookup_table.h"
#include "operators/parts/rules/added_columns.h"
#include "operators/parts/rules/column_copy.h"
#include "operators/parts/rules/constant_row.h"
#include "operators/parts/rules/estimates.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

constexpr size_t table_input = 1;

enum class missing_key { fail, drop, defaults };

struct settings {
  std::vector<std::pair<std::string, std::string>> by;  // (column of the stream, column of the table)
  lookup_kind kind = lookup_kind::automatic;
  missing_key missing = missing_key::fail;
  named_expressions defaults;
  plan::row_estimate table;
  bool certain = false;     // the table takes just what `table` says
  uint64_t most_bytes = 0;  // what the table can take at most
  void bind(const expr::scalar_values& values) { expr::bind(defaults, values); }

  bool is_key(const std::string& table_column) const {
    return std::any_of(by.begin(), by.end(), [&](const auto& pair) { return pair.second == table_column; });
  }
};

settings read(plan::node_checker& node) {
  settings s;
  s.by = node.column_pairs("by");
  s.table = node.input_estimate(table_input);
  const std::string kind = node.text("kind"), missing = node.text("missing");
  s.kind = kind == "array" ? lookup_kind::array : kind == "hash" ? lookup_kind::hash : lookup_kind::automatic;
  s.missing = missing == "drop" ? missing_key::drop : missing == "default" ? missing_key::defaults : missing_key::fail;
  if (node.has("defaults"))
    s.defaults = read_constants(node, "defaults", node.input_type(table_input), node.input_name(table_input));
  return s;
}

// Rows in chunks, and slots of a hash table, at most 2/3 of them full, that has just grown beside the one before it.
uint64_t table_bytes(uint64_t rows, uint64_t rows_bytes) {
  const uint64_t slots = std::bit_ceil(rows + rows / 2 + 2);
  return rows_bytes + rows_bytes / 512 + 12 * slots + 4 * MiB;
}

bool may_be_an_array(const settings& s, const record::row_type& table) {
  return s.kind == lookup_kind::automatic && s.by.size() == 1 &&
         table[*table.index_of(s.by[0].second)].type.is_unsigned();
}

// Before the run it is certain how large the table becomes: its rows are counted and have no texts, and its keys are no
// places of an array.
bool size_is_certain(const settings& s, const record::row_type& table) {
  return s.table.exact && !table.has_strings() && s.kind != lookup_kind::array && !may_be_an_array(s, table);
}

// A table takes what it needs up to its maximum, and fails above it. So only a bound may be the maximum, never an
// estimate.
uint64_t most_table_bytes(const settings& s, const record::row_type& table) {
  constexpr uint64_t unknown_most = uint64_t{1} << 40;
  const plan::row_estimate& rows = s.table;
  if (s.kind == lookup_kind::array || rows.most_bytes >= unknown_most || rows.most_rows >= unknown_most)
    return unknown_most;
  const uint64_t hashed = table_bytes(rows.most_rows, rows.most_bytes);
  return may_be_an_array(s, table) ? hashed + lookup_table::gap_bytes(table, rows.most_rows) : hashed;
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  const record::row_type& stream = node.input_type(0);
  const record::row_type& table = node.input_type(table_input);
  if (node.ok() && s.by.empty()) node.fault_at_parameter("by", "a lookup needs at least one key", "[column, …]");
  for (const auto& [l, r] : s.by) {
    const record::value_type left = stream[*stream.index_of(l)].type;
    const record::value_type right = table[*table.index_of(r)].type;
    const expr::one_type one = expr::one_type_of(l, left, r, right);
    if (left != right)
      node.fault_at_parameter(
          "by",
          fmt::format("'{}' is {} in '{}', '{}' is {} in '{}'", l, to_string(left), node.input_name(0), r,
                      to_string(right), node.input_name(table_input)),
          "keys of the same type",
          fmt::format(
              "put a map with \"*\": all and {} between {} and the lookup", one.columns,
              one.of_a && one.of_b ? "each input" : fmt::format("'{}'", node.input_name(one.of_a ? 0 : table_input))));
  }
  if (node.ok() && s.kind == lookup_kind::array &&
      (s.by.size() != 1 || !table[*table.index_of(s.by[0].second)].type.is_unsigned()))
    node.fault_at_parameter("kind", "an array needs one key of an unsigned type", "kind: hash",
                            "its keys are places: 0, 1, 2, …");
  if (!s.defaults.empty() && s.missing != missing_key::defaults)
    node.fault_at_parameter("defaults", "`defaults` are for keys that are missing", "missing: default with it");
  for (const auto& [name, value] : s.defaults)
    if (s.is_key(name))
      node.fault_at_parameter("defaults." + name, fmt::format("'{}' is a key", name), "a column that is added");
  if (!node.ok()) return s;
  std::vector<record::column> columns = stream.columns();
  std::vector<std::string> keys;
  for (const auto& [l, r] : s.by) keys.push_back(r);
  add_columns(node, keys, columns);
  if (!node.ok()) return s;
  record::row_type output(std::move(columns));
  plan::row_estimate estimate = with_type(node.input_estimate(0), stream, output);
  if (s.missing == missing_key::drop) estimate = at_most(estimate);
  s.certain = size_is_certain(s, table);
  s.most_bytes = most_table_bytes(s, table);
  node.set_output(0, std::move(output), node.input_order(0), estimate);
  return s;
}

plan::memory_wish memory(const plan::node& n, plan::node_part part) {
  if (part != plan::node_part::intake) return {};
  const auto& s = n.settings.as<settings>();
  return {.minimum = s.certain ? s.most_bytes : 4 * MiB, .maximum = s.most_bytes, .weight = 1};
}

class table_sink final : public exec::ordered_stage {
 public:
  explicit table_sink(std::shared_ptr<lookup_table> table) : table_(std::move(table)) {}
  outcome push(record::batch& in, exec::output&, waker&) override {
    table_->add(in);
    return outcome::ready();
  }

 private:
  std::shared_ptr<lookup_table> table_;
};

class lookup_stage final : public exec::stateless_stage {
 public:
  lookup_stage(exec::build_context& c, const settings& s, std::shared_ptr<const lookup_table> table)
      : node_(c.node.id),
        stream_name_(c.input_name(0)),
        table_name_(c.input_name(table_input)),
        stream_(c.input_type(0)),
        output_(c.output_type()),
        missing_(s.missing),
        table_(std::move(table)),
        pool_(c.job.pool()),
        batch_bytes_(c.batches.target_bytes),
        question_(table_->ask(stream_, stream_keys(stream_, s))),
        from_stream_(stream_, output_, stream_columns(stream_)),
        from_table_(table_->stored_type(), output_, table_columns(table_->stored_type(), s)),
        from_defaults_(c.input_type(table_input), output_, table_columns(c.input_type(table_input), s)),
        defaults_(constant_row(c.input_type(table_input), s.defaults, c.job.pool())) {}

  void apply(const record::batch& in, exec::output& out) const override {
    size_t num_taken = 0;
    if (output_.has_strings()) {
      num_taken = with_strings(in, out);
    } else {
      num_taken = std::min(in.num_rows, std::max<size_t>(out.room() / output_.row_bytes(), 1));
      without_strings(in.slice(0, num_taken), out);
    }
    if (num_taken < in.num_rows) out.leave(num_taken);
  }

 private:
  // Rows whose texts may be long are looked up so many at a time: those that don't fit the output any more come again.
  static constexpr size_t few_rows = 256;

  static std::vector<size_t> stream_keys(const record::row_type& type, const settings& s) {
    std::vector<size_t> out;
    for (const auto& [stream, table] : s.by) out.push_back(*type.index_of(stream));
    return out;
  }
  static std::vector<std::pair<size_t, size_t>> stream_columns(const record::row_type& type) {
    std::vector<std::pair<size_t, size_t>> out;
    for (size_t i = 0; i < type.num_columns(); ++i) out.emplace_back(i, i);
    return out;
  }
  std::vector<std::pair<size_t, size_t>> table_columns(const record::row_type& type, const settings& s) const {
    std::vector<std::pair<size_t, size_t>> out;
    for (size_t i = 0; i < type.num_columns(); ++i)
      if (!s.is_key(type[i].name)) out.emplace_back(i, stream_.num_columns() + out.size());
    return out;
  }

  std::vector<uint64_t> find(const record::batch& in) const {
    std::vector<uint64_t> places;
    table_->find(in, question_, places);
    if (missing_ == missing_key::fail) {
      const auto at = std::find(places.begin(), places.end(), lookup_table::none);
      if (at != places.end()) fail(in, static_cast<size_t>(at - places.begin()));
    }
    return places;
  }

  void without_strings(const record::batch& in, exec::output& out) const {
    const std::vector<uint64_t> places = find(in);
    const uint32_t row_bytes = output_.row_bytes();
    std::shared_ptr<std::byte[]> rows = pool_.take(in.num_rows * row_bytes);
    std::byte* to = rows.get();
    size_t num_rows = 0;
    for (size_t i = 0; i < in.num_rows; ++i) {
      const bool found = places[i] != lookup_table::none;
      if (!found && missing_ == missing_key::drop) continue;
      from_stream_.copy_fields(in.row(i), to);
      if (found)
        from_table_.copy_fields(table_->at(places[i]), to);
      else
        from_defaults_.copy_fields(defaults_.rows, to);
      to += row_bytes;
      ++num_rows;
    }
    out.emit(sharing_heap(in, std::move(rows), num_rows, row_bytes));
  }

  // Returns how many rows of `in` are done.
  size_t with_strings(const record::batch& in, exec::output& out) const {
    record::batch_builder builder(output_, pool_, {batch_bytes_, out.limits().row_bytes});
    std::vector<uint64_t> places;
    size_t i = 0;
    for (; i < in.num_rows && !out.full(); ++i) {
      if (i % few_rows == 0) places = find(in.slice(i, std::min(few_rows, in.num_rows - i)));
      const uint64_t place = places[i % few_rows];
      const bool found = place != lookup_table::none;
      if (!found && missing_ == missing_key::drop) continue;
      std::byte* to = builder.append();
      from_stream_.copy(in.row(i), in.heap, to, builder);
      if (found)
        from_table_.copy(table_->at(place), table_->heap(), to, builder);
      else
        from_defaults_.copy(defaults_.rows, defaults_.heap, to, builder);
      if (builder.full()) out.emit(builder.take());
    }
    out.emit(builder.take());
    return i;
  }

  [[noreturn]] void fail(const record::batch& in, size_t row) const {
    throw error(error_kind::bad_data,
                fmt::format("node '{}': the table '{}' has no row for {} of '{}'", node_, table_name_,
                            record::row_text(stream_, in.row(row), in.heap), stream_name_),
                "missing: drop leaves such rows out, missing: default gives them 0 or `defaults`");
  }

  std::string node_, stream_name_, table_name_;
  const record::row_type& stream_;
  const record::row_type& output_;
  missing_key missing_;
  std::shared_ptr<const lookup_table> table_;
  record::batch_pool& pool_;
  size_t batch_bytes_;
  lookup_table::question question_;
  column_copy from_stream_, from_table_, from_defaults_;
  record::batch defaults_;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  if (c.is_intake()) {
    const record::row_type& type = c.input_type(table_input);
    std::vector<size_t> keys;
    for (const auto& [stream, column] : s.by) keys.push_back(*type.index_of(column));
    auto table = std::make_shared<lookup_table>(c.node.id, c.input_name(table_input), type, std::move(keys), s.kind,
                                                c.memory_bytes);
    c.states[table_input] = table;
    out.stages.emplace_back(std::make_unique<table_sink>(std::move(table)));
    return out;
  }
  auto table = std::any_cast<std::shared_ptr<lookup_table>>(c.states[table_input]);
  out.stages.emplace_back(std::make_unique<lookup_stage>(c, s, std::move(table)));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"lookup">() {
  plan::operator_declaration d;
  d.name = "lookup";
  d.summary = "Adds columns from a table in memory, by key.";
  d.details =
      "The table is read first, as a whole; then each row of the stream gets the columns that the table has for its "
      "key, which must be unique there. The output has the columns of the stream, then those of the table without its "
      "keys, under other names where `rename` says so. Unlike a join it needs no order on either side and keeps the "
      "stream's; but the table must fit the memory.\n\n"
      "A table whose keys are dense numbers (node ids) becomes an array without keys: 4 bytes and a bit per node for a "
      "u32. Others become a hash table: their rows, and 12 to 24 bytes each.";
  d.order = "keeps: the stream's order";
  d.example =
      "ranked: {op: lookup, in: {stream: edges, table: degrees}, with: {by: {src: node}, missing: default, defaults: "
      "{degree: 0}}}\n";
  d.role = plan::operator_role::ordered;
  d.division = plan::operator_division::pieces;
  d.inputs = {{"stream", "the rows that columns are added to"},
              {.name = "table", .help = "the rows to look up, one for each key", .stored = true}};
  d.outputs = {{"out", "the rows of the stream with the table's columns"}};
  d.parameters = {
      {.name = "by",
       .kind = plan::parameter_kind::column_pairs,
       .required = true,
       .help = "The keys: columns that both have, or a map {column of the stream: column of the table}."},
      rename_parameter("table"),
      {.name = "missing",
       .kind = plan::parameter_kind::choice,
       .default_text = "fail",
       .choices = {"fail", "drop", "default"},
       .help = "What happens to a row whose key the table doesn't have."},
      {.name = "defaults",
       .kind = plan::parameter_kind::named_expressions,
       .help = "With missing: default, the values of added columns, by their names in the table, constants; 0 or "
               "empty otherwise."},
      {.name = "kind",
       .kind = plan::parameter_kind::choice,
       .default_text = "auto",
       .choices = {"auto", "array", "hash"},
       .help = "How the table lies in memory; auto: an array while keys are dense."}};
  d.memory = memory;
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
