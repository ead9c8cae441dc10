// split: deals rows out to ports by conditions; a row goes to the first port whose condition holds.
//
// One program computes all conditions of a batch as columns of bool. The rows of each port then move into an exact-size
// buffer that shares the heap of the input; a batch that goes to one port as a whole is handed on as it is.
#include <fmt/format.h>

#include <algorithm>

#include "operators/parts/rules/column_copy.h"
#include "operators/parts/rules/estimates.h"
#include "operators/parts/rules/program.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  named_expressions ports;
  std::string rest;  // empty: rows that match nothing are dropped
  void bind(const expr::scalar_values& values) { expr::bind(ports, values); }
};

settings read(plan::node_checker& node) {
  settings out;
  out.ports = node.named_conditions("ports", expr::scope{.row = &node.input_type(), .row_number = true});
  if (node.has("rest")) out.rest = node.text("rest");
  return out;
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  if (node.ok() && s.ports.empty()) {
    node.fault_at_parameter("ports", "a split needs at least one port", "ports: {name: condition, …}");
    return s;
  }
  const bool clash = std::any_of(s.ports.begin(), s.ports.end(), [&](const auto& p) { return p.first == s.rest; });
  if (clash)
    node.fault_at_parameter("rest", fmt::format("the port '{}' has a condition already", s.rest), "a name of its own");
  std::vector<std::string> names;
  for (const auto& [name, condition] : s.ports) names.push_back(name);
  if (!s.rest.empty() && !clash) names.push_back(s.rest);
  for (const std::string& name : names)
    node.set_output(node.add_output(name), node.input_type(), node.input_order(), at_most(node.input_estimate()));
  return s;
}

class splitter {
 public:
  splitter(const record::row_type& input, const settings& s, record::batch_pool& pool)
      : conditions_(exec::program_stage::compile(input, {program_step::map(s.ports)})),
        num_conditions_(static_cast<uint32_t>(s.ports.size())),
        has_rest_(!s.rest.empty()),
        pool_(pool) {}

  // Thread-safe.
  void split(const record::batch& in, uint64_t first_row, exec::output& out) const {
    std::vector<record::batch> flags;
    conditions_.run(in, first_row, pool_, flags, {.row_bytes = out.limits().row_bytes});
    size_t from = 0;
    for (const record::batch& f : flags) {
      deal(in.slice(from, f.num_rows), f, out);
      from += f.num_rows;
    }
  }

 private:
  void deal(const record::batch& in, const record::batch& flags, exec::output& out) const {
    // Port num_conditions_ is the rest, or nowhere.
    std::vector<uint32_t> port_of(in.num_rows);
    std::vector<size_t> counts(num_conditions_ + 1, 0);
    for (size_t i = 0; i < in.num_rows; ++i) {
      const std::byte* row = flags.row(i);
      uint32_t port = 0;
      while (port < num_conditions_ && row[port] == std::byte{0}) ++port;
      port_of[i] = port;
      ++counts[port];
    }
    for (uint32_t port = 0; port < num_conditions_ + (has_rest_ ? 1 : 0); ++port) {
      if (counts[port] == 0) continue;
      if (counts[port] == in.num_rows) return out.emit(in, port);
      std::shared_ptr<std::byte[]> rows = pool_.take(counts[port] * in.row_bytes);
      std::byte* to = rows.get();
      for (size_t i = 0; i < in.num_rows; ++i) {
        if (port_of[i] != port) continue;
        copy_bytes(to, in.row(i), in.row_bytes);
        to += in.row_bytes;
      }
      out.emit(sharing_heap(in, std::move(rows), counts[port], in.row_bytes), port);
    }
  }

  expr::row_program conditions_;
  uint32_t num_conditions_;
  bool has_rest_;
  record::batch_pool& pool_;
};

class split_stage final : public exec::stateless_stage {
 public:
  explicit split_stage(splitter s) : splitter_(std::move(s)) {}
  void apply(const record::batch& in, exec::output& out) const override { splitter_.split(in, 0, out); }

 private:
  splitter splitter_;
};

// For conditions that use row_number.
class counting_split final : public exec::ordered_stage {
 public:
  explicit counting_split(splitter s) : splitter_(std::move(s)) {}
  outcome push(record::batch& in, exec::output& out, waker&) override {
    splitter_.split(in, next_row_, out);
    next_row_ += in.num_rows;
    return outcome::ready();
  }

 private:
  splitter splitter_;
  uint64_t next_row_ = 0;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  const bool counts =
      std::any_of(s.ports.begin(), s.ports.end(), [](const auto& p) { return p.second.uses_row_number(); });
  splitter parts(c.input_type(), s, c.job.pool());
  exec::assembly out;
  if (counts)
    out.stages.emplace_back(std::make_unique<counting_split>(std::move(parts)));
  else
    out.stages.emplace_back(std::make_unique<split_stage>(std::move(parts)));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"split">() {
  plan::operator_declaration d;
  d.name = "split";
  d.summary = "Deals rows out to several outputs by conditions.";
  d.details =
      "A row goes to the first port, in the order written, whose condition holds. A row that meets no condition goes "
      "to the port named by `rest`; without `rest` it is dropped. Read a port as `node.port`.";
  d.order = "keeps: the input's order, on every port";
  d.example =
      "sides: {op: split, in: edges, with: {ports: {up: \"src < dst\", down: \"src > dst\"}, rest: loops}}\n"
      "up:    {op: file.write_rows, in: sides.up, with: {path: up.bin}}\n";
  d.role = plan::operator_role::stateless;
  d.inputs = {{"in", "the rows to deal out"}};
  d.outputs_from_parameters = true;
  d.parameters = {{.name = "ports",
                   .kind = plan::parameter_kind::named_conditions,
                   .required = true,
                   .help = "The output ports, each with the condition of its rows; the first that holds wins."},
                  {.name = "rest",
                   .kind = plan::parameter_kind::text,
                   .help = "The port for rows that meet no condition; without it they are dropped."}};
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
