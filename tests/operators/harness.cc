#include "tests/operators/harness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "engine/base/error.h"
#include "engine/exec/vector_stages.h"
#include "engine/io/backends.h"
#include "engine/record/key.h"
#include "operators/parts/order/sort_order.h"
#include "operators/registry.h"
#include "specs/yaml_reader.h"
#include "tests/engine/block/scratch_fixture.h"
#include "tests/operators/stage_feeder.h"

namespace flowrun::operators::testing {

namespace {

using record::batch;
using record::row_type;

class test_services final : public exec::services {
 public:
  explicit test_services(bool force_spill) : blocks_(block::memory_options(*backend_, 2)) {
    options_.force_spill = force_spill;
    options_.block_bytes = 4096;
  }
  record::batch_pool& pool() override { return pool_; }
  io::backend& backend() override { return *backend_; }
  block::block_manager& blocks() override { return blocks_; }
  unsigned threads() const override { return 1; }
  const exec::job_options& options() const override { return options_; }
  bool cancelled() const override { return false; }
  void spawn(std::function<void()> work) override { work(); }
  void commit_at_end(std::unique_ptr<io::output_file>) override { internal_error("the test writes no files"); }
  void report_value(const std::string& node, const std::string& name, const std::string& value) override {
    values[node + "." + name] = value;
  }
  void warn(const std::string&) override {}
  std::map<std::string, std::string> values;

 private:
  record::batch_pool pool_;
  exec::job_options options_;
  std::unique_ptr<io::backend> backend_ = io::make_memory_backend();
  block::block_manager blocks_;
};

class no_waker final : public waker {
 public:
  void wake() noexcept override {}
};

// Hands out batches; every now and then it is blocked first.
class test_stream final : public exec::input_stream {
 public:
  test_stream(std::vector<batch> batches, uint64_t seed) : batches_(std::move(batches)), random_(seed) {}
  outcome peek(const batch*& front, waker& w) override {
    if (random_() % 3 == 0) {
      w.wake();
      return outcome::blocked(blocked_on::input);
    }
    if (next_ == batches_.size()) return outcome::done();
    front = &batches_[next_];
    return outcome::ready();
  }
  void pop() override { batches_[next_++] = {}; }

 private:
  std::vector<batch> batches_;
  size_t next_ = 0;
  std::mt19937_64 random_;
};

plan::operator_declaration source_declaration() {
  plan::operator_declaration d;
  d.name = "test.rows";
  d.role = plan::operator_role::source;
  d.outputs = {{"out", ""}};
  d.parameters = {{.name = "type", .kind = plan::parameter_kind::row_type, .required = true, .help = ""},
                  {.name = "sorted_by", .kind = plan::parameter_kind::sort_keys, .help = ""}};
  d.check = [](plan::node_checker& node) {
    const std::optional<row_type> type = node.row_type("type");
    if (!type) return plan::checked_settings();
    plan::order sorted_by;
    if (node.has("sorted_by"))
      for (const plan::sort_key& k : node.sort_keys("sorted_by", expr::scope{.row = &*type}))
        sorted_by.push_back(k.term.value());
    node.set_output(0, *type, sorted_by);
    return plan::checked_settings();
  };
  return d;
}

plan::operator_declaration sink_declaration() {
  plan::operator_declaration d;
  d.name = "test.sink";
  d.role = plan::operator_role::sink;
  d.inputs = {{"in", ""}};
  d.check = [](plan::node_checker&) { return plan::checked_settings(); };
  return d;
}

const plan::operator_declaration& test_rows() {
  static const plan::operator_declaration d = source_declaration();
  return d;
}
const plan::operator_declaration& test_sink() {
  static const plan::operator_declaration d = sink_declaration();
  return d;
}

int64_t no_file(const std::string&) { return -1; }

struct checked_job {
  plan::operator_catalog catalog = built_in_catalog();
  plan::check_result result;
};

checked_job check_job(const std::string& nodes, const std::string& more = {}) {
  checked_job out;
  out.catalog.add(&test_rows());
  out.catalog.add(&test_sink());
  std::string text = "flowrun: 1\nnodes:\n";
  for (size_t from = 0; from < nodes.size();) {
    const size_t end = std::min(nodes.find('\n', from), nodes.size());
    text += "  " + nodes.substr(from, end - from) + "\n";
    from = end + 1;
  }
  specs::read_result spec = specs::read_job(text + more, "test.yaml");
  if (!spec.faults.empty()) {
    out.result.faults = spec.faults;
    return out;
  }
  out.result = plan::check(std::make_shared<specs::JobSpec>(spec.job), out.catalog, no_file);
  return out;
}

std::string describe(const fault& f) {
  // Two lines and two columns stand before the nodes' own text.
  std::string out = fmt::format("{}:{}: {}", f.where.line - 2, f.where.column - 2, f.message);
  if (!f.expected.empty()) out += fmt::format(" (expected: {})", f.expected);
  if (!f.hint.empty()) out += fmt::format(" (help: {})", f.hint);
  return out;
}

std::vector<batch> cut(const std::vector<batch>& batches, size_t most_rows, std::mt19937_64& random) {
  std::vector<batch> out;
  for (const batch& b : batches)
    for (size_t from = 0; from < b.num_rows;) {
      const size_t count = std::min<size_t>(1 + random() % most_rows, b.num_rows - from);
      out.push_back(b.slice(from, count));
      from += count;
    }
  return out;
}

std::vector<batch> items_of_port(exec::output& out, unsigned port) {
  std::vector<batch> batches;
  for (auto& [p, b] : out.items())
    if (p == port) batches.push_back(b);
  return batches;
}

void append(exec::output& from, exec::output& to) {
  for (auto& [port, b] : from.items()) to.emit(std::move(b), port);
}

void feed_stage(exec::stage& stage, const batch& in, size_t batch_bytes, exec::output& out) {
  no_waker w;
  feed(
      stage, in, batch_bytes, w, [&](exec::output& made) { append(made, out); }, [] {});
}

void run_stage(exec::stage& stage, const std::vector<batch>& in, size_t batch_bytes, exec::output& out) {
  for (const batch& b : in) feed_stage(stage, b, batch_bytes, out);
  auto* ordered = std::get_if<std::unique_ptr<exec::ordered_stage>>(&stage);
  no_waker w;
  for (bool done = ordered == nullptr; !done;) {
    exec::output made({.num_bytes = batch_bytes});
    done = (*ordered)->finish(made, w).is_done();
    append(made, out);
  }
}

// The intake of a node with stored inputs, once for each of them.
void store_inputs(exec::build_context& context, const std::vector<std::vector<batch>>& in) {
  context.part = plan::node_part::intake;
  for (size_t k = 0; k < in.size(); ++k) {
    if (!context.node.inputs[k].stored) continue;
    context.input = k;
    if (context.node.inputs[k].as_vector) {
      auto rows = exec::make_vector(context.input_type(k), context.input_order(k), context.job,
                                    {context.memory_bytes, context.memory_bytes});
      context.states[k] = exec::shared_rows(rows);
      exec::stage sink = exec::make_vector_sink(std::move(rows));
      exec::output nothing;
      run_stage(sink, in[k], context.batch_bytes, nothing);
      continue;
    }
    exec::assembly parts = find_operator(context.node.declaration->name)->build(context);
    std::vector<batch> current = in[k];
    for (exec::stage& s : parts.stages) {
      exec::output out;
      run_stage(s, current, context.batch_bytes, out);
      current = items_of_port(out, 0);
    }
  }
  context.part = context.node.stores() ? plan::node_part::work : plan::node_part::whole;
  context.input = 0;
}

}  // namespace

record::batch to_batch(const row_type& type, const rows& text, record::batch_pool& pool) {
  record::batch_builder builder(type, pool, std::max<size_t>(2 * type.row_bytes() * text.size(), 64));
  for (const std::string& line : text) {
    std::byte* row = builder.append();
    size_t from = 0;
    for (const record::column& c : type.columns()) {
      const size_t end = std::min(line.find(',', from), line.size());
      const std::string cell = line.substr(from, end - from);
      from = end + 1;
      std::byte* field = row + c.offset;
      uint64_t bits = 0;
      if (c.type.is_string()) {
        builder.put_string(field, cell);
        continue;
      }
      if (c.type.is_bytes()) {
        FLOWRUN_CHECK(cell.size() == c.type.num_bytes);
        std::memcpy(field, cell.data(), cell.size());
        continue;
      }
      if (c.type.is_boolean())
        bits = cell == "true";
      else if (c.type.is_unsigned())
        bits = std::stoull(cell);
      else if (c.type.is_signed())
        bits = static_cast<uint64_t>(std::stoll(cell));
      else if (c.type.num_bytes == 4)
        bits = std::bit_cast<uint32_t>(std::stof(cell));
      else
        bits = std::bit_cast<uint64_t>(std::stod(cell));
      std::memcpy(field, &bits, c.type.num_bytes);
    }
  }
  return builder.take();
}

void append_text(const row_type& type, const record::batch& b, rows& out) {
  for (size_t i = 0; i < b.num_rows; ++i) {
    std::string line;
    for (const record::column& c : type.columns()) {
      if (c.offset > 0) line += ',';
      const std::byte* field = b.row(i) + c.offset;
      if (c.type.is_string()) {
        line += record::load_string(field, b.heap);
        continue;
      }
      if (c.type.is_bytes()) {
        line.append(reinterpret_cast<const char*>(field), c.type.num_bytes);
        continue;
      }
      const uint64_t bits = record::load_unsigned(field, c.type.num_bytes);
      const unsigned shift = 64 - 8 * c.type.num_bytes;
      if (c.type.is_boolean())
        line += bits ? "true" : "false";
      else if (c.type.is_unsigned())
        line += fmt::format("{}", bits);
      else if (c.type.is_signed())
        line += fmt::format("{}", static_cast<int64_t>(bits << shift) >> shift);
      else if (c.type.num_bytes == 4)
        line += fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
      else
        line += fmt::format("{}", std::bit_cast<double>(bits));
    }
    out.push_back(std::move(line));
  }
}

run_result run(const std::string& nodes, const std::map<std::string, rows>& inputs, const run_options& options) {
  run_result result;
  checked_job job = check_job(nodes);
  if (!job.result.faults.empty()) {
    for (const fault& f : job.result.faults) ADD_FAILURE() << describe(f);
    return result;
  }
  plan::graph& graph = job.result.checked;
  test_services services(options.force_spill);
  std::mt19937_64 random(options.seed);
  const plan::known_files file_bytes(no_file);
  std::vector<std::vector<std::vector<batch>>> streams(graph.nodes.size());  // by node and port
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    plan::node& node = graph.nodes[i];
    streams[i].resize(node.outputs.size());
    if (node.declaration == &test_rows()) {
      const rows& text = inputs.at(node.id);
      constexpr size_t most = 1000;  // rows of a batch that a builder surely has room for
      for (size_t from = 0; from < text.size(); from += most) {
        const auto begin = text.begin() + static_cast<std::ptrdiff_t>(from);
        const rows part(begin, begin + static_cast<std::ptrdiff_t>(std::min(most, text.size() - from)));
        streams[i][0].push_back(to_batch(node.outputs[0].type, part, services.pool()));
      }
      continue;
    }
    std::vector<std::vector<batch>> in;
    for (const plan::input_port& p : node.inputs)
      in.push_back(
          cut(streams[static_cast<size_t>(p.from_node)][static_cast<size_t>(p.from_port)], options.most_rows, random));
    if (node.declaration == &test_sink()) {
      rows& text = result.sinks[node.id];
      for (const batch& b : in[0]) append_text(graph.input_of(node, 0).type, b, text);
      continue;
    }
    std::any state;
    exec::node_counters counters;
    std::vector<std::unique_ptr<test_stream>> input_streams;
    std::vector<std::any> states(node.inputs.size());
    exec::build_context context{.graph = graph,
                                .node = node,
                                .inputs = {},
                                .job = services,
                                .memory_bytes = options.memory_bytes,
                                .kept_bytes = options.memory_bytes,
                                .batch_bytes = options.batch_bytes,
                                .state = state,
                                .counters = counters,
                                .states = states};
    store_inputs(context, in);
    if (node.role() == plan::operator_role::meeting) {
      for (const auto& batches : in) {
        input_streams.push_back(std::make_unique<test_stream>(batches, random()));
        context.inputs.push_back(input_streams.back().get());
      }
    }
    plan::sort_prediction blocks;
    const sizes::half_budget half{.memory_bytes = options.memory_bytes, .block_bytes = 4096};
    blocks.creator = sizes::divide_creator(half, half.memory_bytes);
    blocks.merger = sizes::divide_merger(half);
    if (node.role() == plan::operator_role::breaker) {
      context.kept_bytes = options.memory_bytes / 2;
      context.sort = &blocks;
      context.part = plan::node_part::intake;
      exec::assembly sink = find_operator(node.declaration->name)->build(context);
      for (exec::stage& s : sink.stages) {
        exec::output next;
        run_stage(s, in[0], options.batch_bytes, next);
        in[0] = items_of_port(next, 0);
      }
      context.part = plan::node_part::work;
    }
    exec::assembly parts = find_operator(node.declaration->name)->build(context);
    std::vector<batch> current;
    if (context.inputs.empty() && !in.empty() && !parts.head) current = in[node.flowing_input()];
    exec::output last;
    if (parts.head) {
      // What a merge gives holds its buffers until it is refined.
      no_waker w;
      const bool is_refined =
          !parts.stages.empty() && std::holds_alternative<std::unique_ptr<exec::stateless_stage>>(parts.stages[0]);
      for (bool done = false; !done;) {
        exec::output pulled({.num_bytes = options.batch_bytes});
        done = parts.head->pull(pulled, w).is_done();
        if (!is_refined) append(pulled, last);
        for (auto& [port, b] : pulled.items())
          if (is_refined) feed_stage(parts.stages[0], b, options.batch_bytes, last);
      }
      if (is_refined) parts.stages.erase(parts.stages.begin());
    }
    for (exec::stage& s : parts.stages) {
      if (!last.items().empty()) current = items_of_port(last, 0);
      last = exec::output();
      run_stage(s, current, options.batch_bytes, last);
      current.clear();
    }
    for (size_t port = 0; port < node.outputs.size(); ++port)
      streams[i][port] = items_of_port(last, static_cast<unsigned>(port));
  }
  result.values = services.values;
  return result;
}

rows run_all_ways(const std::string& nodes, const std::map<std::string, rows>& inputs) {
  const rows first = run(nodes, inputs).sinks["out"];
  const run_options others[] = {
      {.seed = 2, .most_rows = 1, .batch_bytes = 1},
      {.seed = 3, .most_rows = 3, .batch_bytes = 64},
      {.seed = 4, .most_rows = 17, .batch_bytes = 500},
      {.seed = 5, .most_rows = 100000, .batch_bytes = 1 << 18},
      {.seed = 6, .most_rows = 300, .batch_bytes = 5000, .force_spill = true},
  };
  for (const run_options& o : others) EXPECT_EQ(run(nodes, inputs, o).sinks["out"], first) << "seed " << o.seed;
  return first;
}

std::vector<std::string> faults_of(const std::string& nodes, const std::string& more) {
  std::vector<std::string> out;
  for (const fault& f : check_job(nodes, more).result.faults) out.push_back(describe(f));
  return out;
}

std::string output_of(const std::string& nodes, const std::string& node, size_t port) {
  const checked_job job = check_job(nodes);
  for (const fault& f : job.result.faults) return describe(f);
  const plan::output_port& output = job.result.checked.find(node)->outputs[port];
  return to_string(output.type) + " by " + plan::to_string(output.sorted_by);
}

}  // namespace flowrun::operators::testing
