#include "tests/engine/plan/toy_operators.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "engine/base/units.h"
#include "engine/plan/node_checker.h"
#include "specs/yaml_reader.h"

namespace flowrun::plan {

namespace {

using declaration = std::unique_ptr<operator_declaration>;

declaration make(std::string name, operator_role role, std::vector<port_declaration> inputs,
                 std::vector<port_declaration> outputs) {
  auto d = std::make_unique<operator_declaration>();
  d->name = std::move(name);
  d->summary = "a toy";
  d->role = role;
  d->inputs = std::move(inputs);
  d->outputs = std::move(outputs);
  return d;
}

expr::scope over(node_checker& n, size_t input = 0) {
  expr::scope scope;
  scope.row = &n.input_type(input);
  return scope;
}

std::function<checked_settings(node_checker&)> without_settings(void (*check)(node_checker&)) {
  return [check](node_checker& n) {
    check(n);
    return checked_settings();
  };
}

struct sort_settings {
  uint64_t least_memory = 0;
};

order terms_of(const std::vector<sort_key>& keys) {
  order out;
  for (const sort_key& key : keys) {
    if (!key.term) break;
    out.push_back(*key.term);
  }
  return out;
}

declaration source_operator() {
  declaration d = make("source", operator_role::source, {}, {{"out", "rows"}});
  d->has_error_port = true;
  d->parameters = {{"path", parameter_kind::path, false, "", {}, "a file"},
                   {"rows", parameter_kind::integer, false, "", {}, "how many"},
                   {"type", parameter_kind::row_type, false, "", {}, "the columns"},
                   {"mode", parameter_kind::choice, false, "fast", {"fast", "slow"}, "how"},
                   {"sorted_by", parameter_kind::sort_keys, false, "", {}, "declared order"}};
  d->check = without_settings([](node_checker& n) {
    const record::row_type type =
        n.row_type("type").value_or(record::row_type(std::vector<record::column>{{"x", {}}, {"y", {}}}));
    expr::scope scope;
    scope.row = &type;
    const std::vector<sort_key> keys = n.sort_keys("sorted_by", scope);
    row_estimate e;
    if (n.has("rows")) e = exact_rows(n.integer("rows"), type.row_bytes());
    n.set_output(0, type, terms_of(keys), e);
    if (n.on_error().what == node_checker::error_policy::action::to_port)
      n.set_output(
          n.add_output(n.on_error().port),
          record::row_type(std::vector<record::column>{{"text", record::value_type::of(record::type_kind::string)}}));
  });
  return d;
}

declaration map_operator() {
  declaration d = make("map", operator_role::stateless, {{"in", ""}}, {{"out", ""}});
  d->free_columns = true;
  d->keeps_row_count = true;
  d->check = without_settings([](node_checker& n) {
    std::vector<record::column> columns;
    std::vector<std::pair<std::string, std::string>> kept;
    for (const auto& [name, e] : n.named_expressions("", over(n))) {
      columns.push_back({name, e.type()});
      if (const auto column = e.as_column()) kept.emplace_back(n.input_type()[*column].name, name);
    }
    if (!n.ok()) return;
    const record::row_type type(std::move(columns));
    row_estimate e = n.input_estimate();
    e.num_bytes = e.rows * type.row_bytes();
    e.most_bytes = bound_times(e.most_rows, type.row_bytes());
    n.set_output(0, type, carried_over(n.input_order(), kept), e);
  });
  return d;
}

declaration filter_operator() {
  declaration d = make("filter", operator_role::stateless, {{"in", ""}}, {{"out", ""}});
  d->parameters = {{"where", parameter_kind::condition, true, "", {}, "which rows"}};
  d->check = without_settings([](node_checker& n) {
    n.condition("where", over(n));
    row_estimate e = n.input_estimate();
    e.exact = false;
    n.set_output(0, n.input_type(), n.input_order(), e);
  });
  return d;
}

declaration number_operator() {
  declaration d = make("number", operator_role::ordered, {{"in", ""}}, {{"out", ""}});
  d->keeps_row_count = true;
  d->parameters = {{"behind", parameter_kind::integer, false, "0", {}, "rows held back"}};
  d->check = without_settings([](node_checker& n) {
    n.facts().rows_behind = n.integer("behind");
    n.set_output(0, n.input_type(), n.input_order(), n.input_estimate());
  });
  return d;
}

declaration sort_operator() {
  declaration d = make("sort", operator_role::breaker, {{"in", ""}}, {{"out", ""}});
  d->order = "gives: by";
  d->example = "sorted: {op: sort, in: a, with: {by: [x]}}";
  d->parameters = {{"by", parameter_kind::sort_keys, true, "", {}, "the keys | signs"},
                   {"memory", parameter_kind::bytes, false, "1MiB", {}, "the least"},
                   {"limit", parameter_kind::integer, false, "", {}, "rows"}};
  d->check = [](node_checker& n) {
    const order by = terms_of(n.sort_keys("by", over(n)));
    n.node().elided = satisfies(n.input_order(), by);
    if (n.has("limit")) n.facts().sort.limit_rows = n.integer("limit");
    n.set_output(0, n.input_type(), by, n.input_estimate());
    return checked_settings::of(sort_settings{n.bytes("memory")});
  };
  d->memory = [](const node& n, node_part) {
    return n.elided ? memory_wish{} : memory_wish{n.settings.as<sort_settings>().least_memory, 64 * GiB, 1};
  };
  return d;
}

declaration join_operator() {
  declaration d = make("join", operator_role::meeting, {{"left", ""}, {"right", ""}}, {{"out", ""}});
  d->parameters = {{"by", parameter_kind::column_pairs, true, "", {}, "shared columns"}};
  d->check = without_settings([](node_checker& n) {
    order left, right;
    for (const auto& [a, b] : n.column_pairs("by")) {
      left.push_back({a});
      right.push_back({b});
    }
    if (!n.ok()) return;
    n.require_order(0, left);
    n.require_order(1, right);
    row_estimate e = n.input_estimate();
    e.exact = false;
    n.set_output(0, n.input_type(), n.input_order(), e);
  });
  d->memory = [](const node&, node_part) { return memory_wish{64 * KiB, 1 * MiB, 0.1}; };
  return d;
}

declaration zip_operator() {
  declaration d = make("zip", operator_role::meeting, {{"a", ""}, {"b", ""}}, {{"out", ""}});
  d->keeps_row_count = true;
  d->check =
      without_settings([](node_checker& n) { n.set_output(0, n.input_type(), n.input_order(), n.input_estimate()); });
  return d;
}

declaration concat_operator() {
  declaration d = make("concat", operator_role::meeting, {{"in", ""}}, {{"out", ""}});
  d->any_number_of_inputs = true;
  d->check = without_settings([](node_checker& n) { n.set_output(0, n.input_type()); });
  return d;
}

declaration split_operator() {
  declaration d = make("split", operator_role::stateless, {{"in", ""}}, {});
  d->outputs_from_parameters = true;
  d->parameters = {{"ports", parameter_kind::named_conditions, true, "", {}, "a condition per port"}};
  d->check = without_settings([](node_checker& n) {
    for (const auto& [name, condition] : n.named_conditions("ports", over(n)))
      n.set_output(n.add_output(name), n.input_type());
  });
  return d;
}

declaration group_operator() {
  declaration d = make("group", operator_role::ordered, {{"in", ""}}, {{"out", ""}});
  d->parameters = {{"by", parameter_kind::columns, true, "", {}, "columns"},
                   {"let", parameter_kind::aggregates, true, "", {}, "aggregates"}};
  d->check = without_settings([](node_checker& n) {
    const std::vector<std::string> by = n.columns("by");
    std::vector<record::column> columns;
    for (const std::string& c : by) columns.push_back(n.input_type()[*n.input_type().index_of(c)]);
    for (const auto& [name, a] : n.aggregates("let", over(n))) columns.push_back({name, a.result});
    if (n.ok()) n.require_adjacent(0, by);
    if (n.ok()) n.set_output(0, record::row_type(std::move(columns)));
  });
  return d;
}

declaration lookup_operator() {
  declaration d = make("lookup", operator_role::ordered, {{"in", ""}, {"table", "", true}}, {{"out", ""}});
  d->check =
      without_settings([](node_checker& n) { n.set_output(0, n.input_type(), n.input_order(), n.input_estimate()); });
  d->memory = [](const node&, node_part part) {
    return part == node_part::intake ? memory_wish{1 * MiB, 8 * MiB, 1} : memory_wish{};
  };
  return d;
}

declaration hold_operator() {
  declaration d = make("hold", operator_role::meeting, {{"in", "", true, true}}, {{"out", ""}});
  d->inputs_by_name = true;
  d->check = without_settings([](node_checker& n) { n.set_output(0, n.input_type(), {}, n.input_estimate()); });
  return d;
}

}  // namespace

toy_operators::toy_operators() {
  declarations_.push_back(source_operator());
  declarations_.push_back(map_operator());
  declarations_.push_back(filter_operator());
  declarations_.push_back(number_operator());
  declarations_.push_back(sort_operator());
  declarations_.push_back(join_operator());
  declarations_.push_back(zip_operator());
  declarations_.push_back(concat_operator());
  declarations_.push_back(split_operator());
  declarations_.push_back(group_operator());
  declarations_.push_back(lookup_operator());
  declarations_.push_back(hold_operator());
  declaration sink = make("sink", operator_role::sink, {{"in", ""}}, {});
  sink->parameters = {{"path", parameter_kind::path, true, "", {}, "the file"}};
  sink->parameters[0].names_columns = true;
  sink->check = without_settings([](node_checker& n) {
    if (!n.input_type().has_strings()) n.facts().written_row_bytes = n.input_type().row_bytes();
  });
  declarations_.push_back(std::move(sink));
  declaration count = make("count", operator_role::ordered, {{"in", ""}}, {{"out", ""}});
  count->output_optional = true;
  count->check = without_settings([](node_checker& n) {
    n.set_output(0, record::row_type(std::vector<record::column>{{"n", {}}}));
  });
  declarations_.push_back(std::move(count));
  for (const declaration& d : declarations_) catalog_.add(d.get());
}

check_result check_job(const toy_operators& toys, const std::string& nodes, const std::map<std::string, int64_t>& files,
                       const outer_files& others) {
  specs::read_result read = specs::read_job("flowrun: 1\n" + nodes, "job.yaml");
  EXPECT_TRUE(read.faults.empty()) << render(read.faults, read.text);
  return check(
      std::make_shared<const specs::JobSpec>(std::move(read.job)), toys.catalog(),
      [files](const std::string& path) {
        const auto it = files.find(path);
        return it == files.end() ? int64_t{-1} : it->second;
      },
      others);
}

graph good_graph(const toy_operators& toys, const std::string& nodes, const std::map<std::string, int64_t>& files) {
  check_result result = check_job(toys, nodes, files);
  EXPECT_TRUE(result.faults.empty()) << render(result.faults, "flowrun: 1\n" + nodes);
  return std::move(result.checked);
}

std::vector<std::string> short_faults(const std::vector<fault>& faults) {
  std::vector<std::tuple<int, int, std::string>> sorted;
  for (const fault& f : faults) sorted.emplace_back(f.where.line, f.where.column, f.message);
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> out;
  for (const auto& [line, column, message] : sorted) out.push_back(fmt::format("{}:{} {}", line, column, message));
  return out;
}

machine machine_with(uint64_t memory_bytes) {
  machine m;
  m.memory_bytes = memory_bytes;
  m.threads = 2;
  return m;
}

}  // namespace flowrun::plan
