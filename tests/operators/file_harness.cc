#include "tests/operators/file_harness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <any>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/base/error.h"
#include "engine/io/output_file.h"
#include "operators/registry.h"
#include "specs/yaml_reader.h"
#include "tests/operators/stage_feeder.h"

namespace flowrun::operators::testing {

namespace {

class file_services final : public exec::services {
 public:
  explicit file_services(const file_run_options& options) : backend_(io::make_backend(options.backend)) {
    options_.direct = options.direct;
  }
  record::batch_pool& pool() override { return pool_; }
  io::backend& backend() override { return *backend_; }
  block::block_manager& blocks() override { internal_error("no scratch here"); }
  unsigned threads() const override { return 1; }
  const exec::job_options& options() const override { return options_; }
  bool cancelled() const override { return false; }
  void spawn(std::function<void()> work) override { work(); }
  void commit_at_end(std::unique_ptr<io::output_file> file) override { outputs_.push_back(std::move(file)); }
  void report_value(const std::string&, const std::string&, const std::string&) override {}
  void warn(const std::string&) override {}
  void commit() {
    for (auto& file : outputs_) file->commit();
  }

 private:
  record::batch_pool pool_;
  std::unique_ptr<io::backend> backend_;
  exec::job_options options_;
  std::vector<std::unique_ptr<io::output_file>> outputs_;
};

class pump {
 public:
  pump(plan::graph& graph, file_services& services, const file_run_options& options, exec::node_counters& counters)
      : graph_(graph), batch_bytes_(options.batch_bytes == 0 ? 256 * 1024 : options.batch_bytes) {
    for (plan::node& node : graph.nodes) {
      std::any state;
      exec::build_context context{.graph = graph,
                                  .node = node,
                                  .inputs = {},
                                  .job = services,
                                  .memory_bytes = options.memory_bytes,
                                  .batch_bytes = options.batch_bytes,
                                  .state = state,
                                  .counters = counters};
      parts_.push_back(find_operator(node.declaration->name)->build(context));
    }
  }

  void run() {
    for (size_t n = 0; n < parts_.size(); ++n) {
      if (!parts_[n].head) continue;
      outcome step = outcome::ready();
      while (!step.is_done()) {
        exec::output out;
        step = parts_[n].head->pull(out, waker_);
        pass(n, 0, out);
        if (step.is_blocked()) waker_.wait();
      }
    }
    for (size_t n = 0; n < parts_.size(); ++n)  // topological order: what feeds a stage has finished
      for (size_t s = 0; s < parts_[n].stages.size(); ++s) finish(n, s);
  }

 private:
  // What part s - 1 of node n (its head, when s is 0) has emitted.
  void pass(size_t n, size_t s, exec::output& out) {
    for (auto& [port, batch] : out.items()) {
      if (s < parts_[n].stages.size()) {
        apply(n, s, batch);
      } else {
        for (const auto& [consumer, input] : graph_.nodes[n].outputs[port].consumers)
          apply(static_cast<size_t>(consumer), 0, batch);
      }
    }
  }

  void apply(size_t n, size_t s, record::batch batch) {
    feed(
        parts_[n].stages[s], std::move(batch), batch_bytes_, waker_, [&](exec::output& out) { pass(n, s + 1, out); },
        [this] { waker_.wait(); });
  }

  void finish(size_t n, size_t s) {
    auto* ordered = std::get_if<std::unique_ptr<exec::ordered_stage>>(&parts_[n].stages[s]);
    if (ordered == nullptr) return;
    outcome step = outcome::ready();
    while (!step.is_done()) {
      exec::output out;
      step = (*ordered)->finish(out, waker_);
      pass(n, s + 1, out);
      if (step.is_blocked()) waker_.wait();
    }
  }

  plan::graph& graph_;
  const size_t batch_bytes_;
  blocking_waker waker_;  // outlives the parts, which may still wake it
  std::vector<exec::assembly> parts_;
};

int64_t size_of(const std::string& path) {
  std::error_code cause;
  const auto num_bytes = std::filesystem::is_regular_file(path, cause) ? std::filesystem::file_size(path, cause) : -1;
  return cause ? -1 : static_cast<int64_t>(num_bytes);
}

}  // namespace

void run_files(const std::string& nodes, file_run& result, const file_run_options& options) {
  std::string text = "flowrun: 1\nnodes:\n";
  for (size_t from = 0; from < nodes.size();) {
    const size_t end = std::min(nodes.find('\n', from), nodes.size());
    text += "  " + nodes.substr(from, end - from) + "\n";
    from = end + 1;
  }
  const auto describe = [&result](const std::vector<fault>& faults) {
    for (const fault& f : faults)
      result.faults.push_back(fmt::format("{}:{}: {}", f.where.line - 2, f.where.column - 2, f.message));
  };
  specs::read_result spec = specs::read_job(text, "test.yaml");
  if (!spec.faults.empty()) return describe(spec.faults);
  const plan::operator_catalog catalog = built_in_catalog();
  const plan::known_files file_bytes(size_of);
  plan::check_result checked = plan::check(std::make_shared<specs::JobSpec>(spec.job), catalog, file_bytes);
  if (!checked.faults.empty()) return describe(checked.faults);
  file_services services(options);
  pump p(checked.checked, services, options, result.counters);
  p.run();
  services.commit();
}

void run_files(const std::string& nodes, const file_run_options& options) {
  file_run result;
  run_files(nodes, result, options);
  for (const std::string& f : result.faults) ADD_FAILURE() << f;
}

std::string error_of(const std::string& nodes, const file_run_options& options) {
  try {
    run_files(nodes, options);
  } catch (const error& e) {
    return fmt::format("{}: {}", e.exit_code(), e.what());
  }
  ADD_FAILURE() << "the job ended well";
  return {};
}

temporary_directory::temporary_directory() {
  std::string name = (std::filesystem::temp_directory_path() / "flowrun-test-XXXXXX").string();
  FLOWRUN_CHECK(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

temporary_directory::~temporary_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string temporary_directory::write(const std::string& name, const std::string& content) const {
  std::ofstream(file(name), std::ios::binary) << content;
  return file(name);
}

std::string temporary_directory::read(const std::string& name) const {
  std::ifstream in(file(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool temporary_directory::has(const std::string& name) const { return std::filesystem::exists(file(name)); }

size_t temporary_directory::num_entries() const {
  const std::filesystem::directory_iterator entries(path_);
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace flowrun::operators::testing
