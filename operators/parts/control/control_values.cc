#include "operators/parts/control/control_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <numeric>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/expr/conversion.h"
#include "engine/expr/mentions.h"
#include "engine/record/key.h"
#include "specs/value.h"

namespace flowrun::operators {

namespace {

using record::type_kind;
using record::value_type;

void store_lane(std::byte* field, value_type type, uint64_t lane) {
  if (type.is_float() && type.num_bytes == 4)
    lane = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(lane)));
  std::memcpy(field, &lane, type.num_bytes);
}

std::vector<std::string> input_names(const plan::node_checker& node) {
  std::vector<std::string> out;
  for (const plan::input_port& in : node.node().inputs) out.push_back(in.name);
  return out;
}

// A scalar of that name hides it.
void add_memory(std::vector<expr::constant>& names, const std::vector<expr::constant>& scalars, uint64_t num_bytes) {
  constexpr const char* memory_name = "memory";
  if (std::none_of(scalars.begin(), scalars.end(), [&](const expr::constant& c) { return c.name == memory_name; }))
    names.push_back({memory_name, value_type::of(type_kind::u64), num_bytes});
}

}  // namespace

uint64_t value_of(const expr::expression& checked, const expr::scalar_values& values) {
  const std::optional<uint64_t> bits = checked.with(values).constant_bits();
  FLOWRUN_CHECK(bits.has_value());
  return *bits;
}

bool holds(const expr::expression& condition, const expr::scalar_values& values) {
  return value_of(condition, values) != 0;
}

std::optional<expr::expression> check_scalar(plan::node_checker& node, const specs::Value& text,
                                             const std::vector<expr::constant>& names) {
  const std::optional<expr::expression> value = node.compiled(text, expr::scope{.constants = names});
  if (!value) return std::nullopt;
  if (const std::optional<value_type> type = expr::scalar_type(value->type())) return value->converted_to(*type);
  node.fault_at(text.position(), "a scalar can't be a text", "a number, a time or a condition");
  return std::nullopt;
}

std::vector<expr::constant> with_outer(std::vector<expr::constant> names, const std::vector<expr::constant>& more) {
  const size_t inner = names.size();
  for (const expr::constant& c : more)
    if (std::none_of(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(inner),
                     [&](const expr::constant& own) { return own.name == c.name; }))
      names.push_back(c);
  return names;
}

std::vector<uint64_t> values_of(const std::vector<expr::constant>& scalars) {
  std::vector<uint64_t> out;
  for (const expr::constant& c : scalars) out.push_back(c.bits);
  return out;
}

// --- rows ---

given_rows check_rows(plan::node_checker& node, const specs::Value& rows, record::row_type type) {
  if (!specs::is_list(rows)) {
    node.fault_at(rows.position(), fmt::format("rows is {}", specs::kind_name(rows)),
                  "a list of maps {column: value}; [] for none");
    return {};
  }
  given_rows out;
  for (const specs::Value& row : rows.list().items()) {
    if (!specs::is_map(row)) {
      node.fault_at(row.position(), fmt::format("a row is {}", specs::kind_name(row)), "a map {column: value}");
      return {};
    }
    if (row.map().entries().empty() && type.num_columns() == 0) {
      node.fault_at(row.position(), "a row without columns", "a map {column: value}; rows: [] for no rows");
      return {};
    }
    std::vector<record::column> columns;
    std::map<std::string, expr::expression> values;
    for (const specs::Entry& entry : row.map().entries()) {
      const std::optional<expr::expression> value = node.compiled(entry.value(), expr::scope{});
      if (!value) continue;
      if (type.num_columns() == 0) {
        columns.push_back({entry.key(), value->type()});
        values.emplace(entry.key(), *value);
        continue;
      }
      const auto column = type.index_of(entry.key());
      if (!column)
        node.fault_at(entry.key_position(), fmt::format("the rows have no column '{}'", entry.key()),
                      one_of(type.names()), did_you_mean(entry.key(), type.names()));
      else if (const auto converted = value->converted_to(type[*column].type))
        values.emplace(entry.key(), *converted);
      else {
        const value_type wanted = type[*column].type;
        const expr::problem why = expr::conversion_problem(*value, wanted);
        node.fault_at(entry.value().position(),
                      fmt::format("'{}' is {}: {}", entry.key(), record::to_string(wanted), why.message), why.expected,
                      why.hint);
      }
    }
    if (!node.ok()) return {};
    if (type.num_columns() == 0) type = record::row_type(std::move(columns));
    std::vector<expr::expression>& fields = out.rows.emplace_back();
    for (const std::string& name : type.names()) {
      if (const auto value = values.find(name); value != values.end())
        fields.push_back(value->second);
      else
        node.fault_at(row.position(), fmt::format("the column '{}' is missing", name), "a value for every column");
    }
  }
  if (!node.ok()) return {};
  out.type = std::move(type);
  return out;
}

record::batch load_rows(const std::vector<std::vector<expr::expression>>& rows, const record::row_type& type,
                        const expr::scalar_values& values, record::batch_pool& pool) {
  record::batch_builder unsorted(type, pool,
                                 record::rows_of_any_length((rows.size() + 1) * (type.row_bytes() + 64) * 2));
  for (const std::vector<expr::expression>& row : rows) {
    std::byte* const to = unsorted.append();
    for (size_t i = 0; i < type.num_columns(); ++i) {
      const record::column& c = type[i];
      const expr::expression value = row[i].with(values);
      if (c.type.is_string()) {
        unsorted.put_string(to + c.offset, value.constant_text().value());
      } else if (c.type.is_bytes()) {
        const std::string text = value.constant_text().value();
        std::memcpy(to + c.offset, text.data(), std::min<size_t>(text.size(), c.type.num_bytes));
      } else {
        store_lane(to + c.offset, c.type, value.constant_bits().value());
      }
    }
  }
  const record::batch batch = unsorted.take();
  record::key key;
  for (size_t i = 0; i < type.num_columns(); ++i) key.push_back({i, false, 0, 0});
  const record::row_comparator compare(type, key);
  std::vector<size_t> sequence(batch.num_rows);
  std::iota(sequence.begin(), sequence.end(), size_t{0});
  std::sort(sequence.begin(), sequence.end(), [&](size_t a, size_t b) {
    return compare.compare(batch.row(a), batch.heap, batch.row(b), batch.heap) < 0;
  });
  record::batch_builder sorted(type, pool, record::rows_of_any_length(batch.num_bytes() + type.row_bytes() + 64));
  for (size_t i : sequence) sorted.append_row(batch.row(i), batch.heap);
  return sorted.take();
}

plan::order by_all_columns(const record::row_type& type) {
  plan::order out;
  for (const std::string& name : type.names()) out.push_back({name});
  return out;
}

plan::order weakened(const plan::order& order, const plan::order& have) {
  plan::order out = order;
  while (!out.empty() && !plan::satisfies(have, out)) out.pop_back();
  return out;
}

// --- what expressions say about nodes ---

void mentioned_nodes::scan(const specs::Value& text, const specs::Body* body, std::vector<plan::body_output>& outputs) {
  const expr::mentions found = expr::mentioned(specs::text(text));
  const auto knows = [](const auto& all, const std::string& name) {
    return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  };
  for (const std::string& what : found.counted) {
    const std::string name = "rows(" + what + ")";
    if (knows(counts_, name)) continue;
    const bool stream = std::find(streams_.begin(), streams_.end(), what) != streams_.end();
    counts_.push_back({name, stream ? what : name, stream});
    if (stream) continue;
    const plan::endpoint_name from = plan::split_endpoint(what);
    outputs.push_back({name, from.node, from.port, text.position(), true});
  }
  for (const auto& [node, column] : found.members) {
    const bool stream = std::find(streams_.begin(), streams_.end(), node) != streams_.end();
    const bool exists = body != nullptr && std::any_of(body->nodes().begin(), body->nodes().end(),
                                                       [id = &node](const specs::Node& n) { return n.id() == *id; });
    if ((!exists && !stream) || knows(fields_, node + "." + column)) continue;
    const std::string id = stream ? node : "row of " + node;
    fields_.push_back({node + "." + column, id, stream, column, text.position(), {}, 0, {}});
    if (!stream && std::none_of(outputs.begin(), outputs.end(), [&](const plan::body_output& o) { return o.id == id; }))
      outputs.push_back({id, node, {}, text.position(), false});
  }
}

std::vector<expr::constant> mentioned_nodes::names(plan::node_checker& node, const port_finder& port_of) {
  std::vector<expr::constant> out;
  for (const count& c : counts_) out.push_back({c.name, value_type::of(type_kind::u64), 0});
  for (field& f : fields_) {
    const plan::output_port& rows = port_of(f.id, f.of_stream);
    const std::string from = f.name.substr(0, f.name.find('.'));
    const auto column = rows.type.index_of(f.column);
    if (!column) {
      node.fault_at(f.position, fmt::format("'{}' has no column '{}'", from, f.column), one_of(rows.type.names()),
                    did_you_mean(f.column, rows.type.names()));
    } else if (const auto type = expr::scalar_type(rows.type[*column].type)) {
      f.type = *type;
      f.offset = rows.type[*column].offset;
      f.column_type = rows.type[*column].type;
      out.push_back({f.name, f.type, 0});
    } else {
      node.fault_at(f.position, fmt::format("'{}' is a text and no scalar", f.name), "a number or a condition");
    }
  }
  return out;
}

std::vector<expr::constant> mentioned_nodes::values(exec::control_context& context,
                                                    const exec::body_streams& streams) const {
  std::vector<expr::constant> out;
  for (const count& c : counts_)
    out.push_back({c.name, value_type::of(type_kind::u64),
                   c.of_stream ? streams.in.at(c.id)->num_rows() : streams.counts.at(c.id)});
  for (const field& f : fields_) {
    const exec::rows_handle& rows = f.of_stream ? streams.in.at(f.id) : streams.out.at(f.id);
    if (rows->num_rows() != 1)
      throw error(error_kind::bad_data, fmt::format("'{}' needs one row, and there are {}", f.name, rows->num_rows()),
                  "a reduce gives one row of aggregates");
    out.push_back({f.name, f.type, expr::scalar_bits(context.first_of(*rows).data() + f.offset, f.column_type)});
  }
  return out;
}

input_values::input_values(plan::node_checker& node, const specs::Value& text) : mentioned_(input_names(node)) {
  const std::vector<std::string> inputs = input_names(node);
  std::vector<plan::body_output> unknown;
  mentioned_.scan(text, nullptr, unknown);
  for (const plan::body_output& o : unknown)
    node.fault_at(o.position, fmt::format("'{}' has no input '{}'", node.node().id, o.from_node),
                  inputs.empty() ? "in: {name: node}" : one_of(inputs), did_you_mean(o.from_node, inputs));
  if (!node.ok()) return;
  names_ = mentioned_.names(node, [&](const std::string& name, bool) -> const plan::output_port& {
    const auto input = std::find(inputs.begin(), inputs.end(), name) - inputs.begin();
    return node.owner().input_of(node.node(), static_cast<size_t>(input));
  });
  add_memory(names_, node.owner().scalars, 0);
}

std::vector<expr::constant> input_values::values(exec::control_context& context,
                                                 const exec::body_streams& streams) const {
  std::vector<expr::constant> out = mentioned_.values(context, streams);
  add_memory(out, context.scalars(), context.body_bytes);
  return with_outer(std::move(out), context.known_scalars);
}

input_condition check_condition_on_inputs(plan::node_checker& node, const specs::Value& text) {
  input_condition out{input_values(node, text), {}};
  if (node.ok()) out.condition = node.compiled(text, expr::scope{.constants = out.mentioned.names()}, true);
  return out;
}

bool input_condition::holds(exec::control_context& context, const exec::body_streams& streams) const {
  return operators::holds(*condition, mentioned.values(context, streams));
}

bool may_name_call_depth(const specs::Graph& graph) {
  return graph.ShortDebugString().find(call_depth_name) != std::string::npos;
}

exec::rows_handle empty_rows(exec::control_context& context, const record::row_type& type,
                             const plan::order& sorted_by) {
  const auto out = context.make_rows(type, sorted_by);
  context.finish(*out);
  return out;
}

}  // namespace flowrun::operators
