#include "plugin/operator_run.h"

#include <fmt/format.h>

#include <vector>

#include "engine/base/units.h"
#include "engine/record/row_too_large.h"
#include "plugin/crash_line.h"
#include "plugin/problem.h"
#include "plugin/texts.h"

namespace flowrun::plugins {

namespace {

fr_batch as_batch(const record::batch& b) {
  return {reinterpret_cast<const unsigned char*>(b.rows), b.num_rows,   b.row_bytes, 0,
          reinterpret_cast<const unsigned char*>(b.heap), b.heap_bytes, b.first_row};
}

// What all parts of a node share, and what they were made from.
struct running_node {
  running_node(exec::build_context& c, std::shared_ptr<void> settings, const std::string& who)
      : services(c.job),
        id(c.node.id),
        who(fmt::format("node '{}': {}", c.node.id, who)),
        settings(std::move(settings)),
        batches(c.batches) {
    for (const plan::output_port& port : c.node.outputs) outputs.push_back(&port.type);
    job.size = sizeof job;
    job.self = this;
    job.num_threads = c.job.threads();
    job.memory_bytes = c.memory_bytes;
    job.is_cancelled = [](void* self) { return static_cast<running_node*>(self)->services.cancelled() ? 1 : 0; };
    job.warn = [](void* self, fr_text text) { static_cast<running_node*>(self)->services.warn(as_string(text)); };
    job.report = [](void* self, fr_text name, fr_text value) {
      running_node& node = *static_cast<running_node*>(self);
      node.services.report_value(node.id, as_string(name), as_string(value));
    };
  }
  running_node(const running_node&) = delete;
  running_node& operator=(const running_node&) = delete;
  ~running_node() {
    if (stage.destroy == nullptr) return;
    const inside plugin(who);
    stage.destroy(stage.state);
  }

  exec::services& services;
  const std::string id, who;
  const std::shared_ptr<void> settings;
  const record::batch_limits batches;
  std::vector<const record::row_type*> outputs;
  fr_job job{};
  fr_stage stage{};
};

// Behind fr_out, for one call.
class step_output {
 public:
  step_output(const running_node& node, exec::output& out, const record::batch* in) : node_(node), out_(out), in_(in) {}

  // Calls the plugin, and throws what came of it.
  template <class Call>
  int run(Call call) {
    fr_out table{};
    table.size = sizeof table;
    table.self = this;
    table.batch_bytes = node_.batches.target_bytes;
    table.longest_row = node_.batches.row_bytes;
    table.within = out_.within();
    table.problem = &problem_;
    table.take = [](void* self, size_t num_bytes) { return static_cast<step_output*>(self)->take(num_bytes); };
    table.emit = [](void* self, uint32_t port, const fr_batch* b) {
      return static_cast<step_output*>(self)->emit(port, *b);
    };
    table.room = [](void* self) { return static_cast<step_output*>(self)->out_.room(); };
    table.leave = [](void* self, size_t row, uint64_t within) {
      step_output& s = *static_cast<step_output*>(self);
      if (s.in_ != nullptr && row < s.in_->num_rows) s.out_.leave(row, within);
    };
    const inside plugin(node_.who);
    const int done = call(&table);
    // Also where the plugin went on after something had failed: rows are missing.
    if (problem_.raised || problem_.kind != 0 || (done != FR_OK && done != FR_DONE)) raise(problem_, node_.who);
    return done;
  }

 private:
  struct piece {
    std::shared_ptr<std::byte[]> data;
    size_t num_bytes;
  };

  void* take(size_t num_bytes) {
    try {
      // A batch, and one row more.
      const uint64_t target = node_.batches.target_bytes;
      if (num_bytes > node_.batches.row_bytes + 2 * target)
        throw record::row_too_large(num_bytes, node_.batches.row_bytes);
      // What a step makes lies in memory until it ends.
      taken_ += num_bytes;
      if (taken_ > 4 * node_.batches.row_bytes + 16 * target)
        throw error(error_kind::internal,
                    fmt::format("{}: one step took {} of memory, where a batch takes {}", node_.who,
                                format_bytes(taken_), format_bytes(target)),
                    "tell the author of the plugin: a step asks full(), calls leave() and returns");
      pieces_.push_back({node_.services.pool().take(num_bytes), num_bytes});
      return pieces_.back().data.get();
    } catch (...) {
      problem_.raised = std::current_exception();
      return nullptr;
    }
  }

  // Who keeps these bytes alive; null: nobody that is known.
  std::shared_ptr<const void> owner_of(const void* from, size_t num_bytes) const {
    const auto lies_in = [&](const void* begin, size_t size) {
      const auto at = reinterpret_cast<uintptr_t>(from), start = reinterpret_cast<uintptr_t>(begin);
      return at >= start && num_bytes <= size && at - start <= size - num_bytes;
    };
    for (const piece& p : pieces_)
      if (lies_in(p.data.get(), p.num_bytes)) return p.data;
    if (in_ != nullptr && (lies_in(in_->rows, in_->num_rows * in_->row_bytes) || lies_in(in_->heap, in_->heap_bytes)))
      return in_->owner;
    return nullptr;
  }

  int refuse(const std::string& what) {
    const std::string message = fmt::format("it gives {}", what);
    note_failure(&problem_, FR_INTERNAL, as_text(message), as_text("tell the author of the plugin"));
    return FR_FAILED;
  }

  // Else a later node would read anything, or crash.
  static bool strings_lie_in_heap(const fr_batch& b, uint32_t offset) {
    bool good = true;
    for (size_t i = 0; i < b.num_rows; ++i) {
      fr_string s;
      std::memcpy(&s, b.rows + i * b.row_bytes + offset, sizeof s);
      good = good && uint64_t{s.offset} + s.length <= b.heap_bytes;
    }
    return good;
  }

  int emit(uint32_t port, const fr_batch& b) {
    if (port >= node_.outputs.size()) return refuse(fmt::format("rows to output {}, which it doesn't have", port));
    if (b.num_rows == 0) return FR_OK;
    if (b.num_rows > (uint64_t{1} << 32)) return refuse("more rows at once than there is memory for");
    const record::row_type& type = *node_.outputs[port];
    if (b.row_bytes != type.row_bytes())
      return refuse(fmt::format("rows of {} bytes to an output whose rows have {}", b.row_bytes, type.row_bytes()));
    record::batch out;
    const std::shared_ptr<const void> rows = owner_of(b.rows, b.num_rows * b.row_bytes);
    if (rows == nullptr) return refuse("rows that lie neither in its input nor in memory that it took");
    std::shared_ptr<const void> heap;
    if (type.has_strings() && b.heap_bytes > 0) {
      heap = owner_of(b.heap, b.heap_bytes);
      if (heap == nullptr) return refuse("strings that lie neither in its input nor in memory that it took");
      out.heap = reinterpret_cast<const std::byte*>(b.heap);
      out.heap_bytes = b.heap_bytes;
    }
    for (const record::column& c : type.columns())
      if (c.type.is_string() && !strings_lie_in_heap(b, c.offset))
        return refuse(fmt::format("rows whose column '{}' has a string outside of their heap", c.name));
    out.rows = reinterpret_cast<const std::byte*>(b.rows);
    out.num_rows = b.num_rows;
    out.row_bytes = b.row_bytes;
    out.first_row = b.first_row;
    using both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
    out.owner = heap == nullptr || heap == rows ? rows : std::make_shared<const both>(rows, heap);
    out_.emit(std::move(out), port);
    return FR_OK;
  }

  const running_node& node_;
  exec::output& out_;
  const record::batch* in_;
  fr_problem problem_;
  std::vector<piece> pieces_;
  uint64_t taken_ = 0;
};

class plugin_source final : public exec::source {
 public:
  explicit plugin_source(std::shared_ptr<running_node> node) : node_(std::move(node)) {}
  outcome pull(exec::output& out, waker&) override {
    const fr_stage& stage = node_->stage;
    step_output step(*node_, out, nullptr);
    return step.run([&](const fr_out* table) { return stage.pull(stage.state, table); }) == FR_DONE ? outcome::done()
                                                                                                    : outcome::ready();
  }

 private:
  std::shared_ptr<running_node> node_;
};

class plugin_stateless final : public exec::stateless_stage {
 public:
  explicit plugin_stateless(std::shared_ptr<running_node> node) : node_(std::move(node)) {}
  void apply(const record::batch& in, exec::output& out) const override {
    const fr_stage& stage = node_->stage;
    const fr_batch handed = as_batch(in);
    step_output step(*node_, out, &in);
    step.run([&](const fr_out* table) { return stage.apply(stage.state, &handed, table); });
  }

 private:
  std::shared_ptr<running_node> node_;
};

class plugin_ordered final : public exec::ordered_stage {
 public:
  explicit plugin_ordered(std::shared_ptr<running_node> node) : node_(std::move(node)) {}
  outcome push(record::batch& in, exec::output& out, waker&) override {
    const fr_stage& stage = node_->stage;
    const fr_batch handed = as_batch(in);
    step_output step(*node_, out, &in);
    step.run([&](const fr_out* table) { return stage.push(stage.state, &handed, table); });
    return outcome::ready();
  }
  outcome finish(exec::output& out, waker&) override {
    const fr_stage& stage = node_->stage;
    if (stage.finish == nullptr) return outcome::done();
    step_output step(*node_, out, nullptr);
    return step.run([&](const fr_out* table) { return stage.finish(stage.state, table); }) == FR_DONE
               ? outcome::done()
               : outcome::ready();
  }

 private:
  std::shared_ptr<running_node> node_;
};

}  // namespace

exec::assembly build_node(exec::build_context& c, const fr_operator& table, std::shared_ptr<void> settings,
                          const std::string& who) {
  auto node = std::make_shared<running_node>(c, std::move(settings), who);
  fr_problem problem;
  fr_stage made{};
  made.size = sizeof made;
  int done = FR_FAILED;
  {
    const inside plugin(node->who);
    done = table.build(table.context, node->settings.get(), &node->job, &made, &problem);
  }
  if (done != FR_OK) raise(problem, node->who);
  node->stage = known_part(made);  // from here on it is destroyed whatever comes
  const bool is_whole = table.role == FR_SOURCE      ? made.pull != nullptr
                        : table.role == FR_STATELESS ? made.apply != nullptr
                                                     : made.push != nullptr;
  if (!is_whole)
    throw error(error_kind::internal, fmt::format("{}: what it built lacks the function of its role", node->who),
                "tell the author of the plugin");
  exec::assembly out;
  if (table.role == FR_SOURCE)
    out.head = std::make_unique<plugin_source>(std::move(node));
  else if (table.role == FR_STATELESS)
    out.stages.emplace_back(std::make_unique<plugin_stateless>(std::move(node)));
  else
    out.stages.emplace_back(std::make_unique<plugin_ordered>(std::move(node)));
  return out;
}

}  // namespace flowrun::plugins
