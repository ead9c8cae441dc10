// A part of a plugin's node that runs: what is behind fr_job, and what its stages share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "plugin/include/flowrun/plugin.h"
#include "plugin/operator_check.h"
#include "plugin/plugin_waker.h"

namespace flowrun::plugins {

class row_reader;
class step_output;
class stored_view;

class running_node : public std::enable_shared_from_this<running_node> {
 public:
  // `outputs`: what this part gives on, by port. `who`: plugin and operator, for errors.
  running_node(exec::build_context& c, std::shared_ptr<const plugin_settings> settings,
               std::vector<const record::row_type*> outputs, const std::string& who);
  running_node(const running_node&) = delete;
  running_node& operator=(const running_node&) = delete;
  // Behind all that was spawned.
  ~running_node();

  // Lets the plugin build its part; throws what comes of it.
  void build(const fr_operator& table);
  // Of this part; for what flowrun hands out.
  static running_node& of(const fr_job* job) { return *static_cast<running_node*>(job->self); }

  exec::services& services;
  exec::node_counters& counters;
  const std::string id, who;
  const std::shared_ptr<const plugin_settings> settings;
  const record::batch_limits batches;
  const uint64_t memory_bytes;  // of a breaker nothing: its memory is the sort's
  const std::vector<const record::row_type*> outputs;
  fr_stage stage{};

  // The call that is running; null: none. Not of stateless stages, of which several run.
  step_output* step = nullptr;
  // What flowrun threw while the plugin was building.
  fr_problem* building = nullptr;
  fr_waker* const waker;
  // What steps read by themselves now: their batches may be handed on.
  std::vector<const row_reader*> readers;

  // Something may be opened: in build, or in a step that runs alone.
  bool may_open() const { return step != nullptr || building != nullptr; }
  // What is for steps only was called outside of one. Returns FR_FAILED.
  int fail_outside_of_steps();
  // An error of flowrun's own that must wait until the plugin has returned.
  void keep_exception();
  // Books memory of the share for what flowrun holds for the plugin: so much of `wanted` as is left. unbook() gives it
  // back.
  uint64_t book(uint64_t wanted);
  void unbook(uint64_t num_bytes) { reserved_ -= num_bytes; }
  // Rows that went to the first output.
  std::atomic<uint64_t> given{0};
  // Behind the last row: throws error(bad_data) when more were rejected than the job allows.
  void check_rejected() const;
  // Throws a mistake of the plugin.
  [[noreturn]] void refuse(const std::string& what) const;
  // Does what may throw, for the plugin; then FR_FAILED, and the exception waits.
  template <class Result, class Call>
  Result guarded(Result otherwise, Call call) {
    try {
      return call();
    } catch (...) {
      keep_exception();
      return otherwise;
    }
  }

 private:
  void add_inputs(exec::build_context& c);
  static void spawn(void* self, void (*work)(void*), void* argument);
  static void fail(void* self, uint32_t kind, fr_text message, fr_text hint);
  static int reserve(void* self, uint64_t num_bytes);
  static void count(void* self, fr_text name, uint64_t n);

  std::atomic<uint64_t> reserved_{0}, rejected_{0};
  std::vector<std::unique_ptr<row_reader>> inputs_;
  std::vector<std::unique_ptr<stored_view>> stored_;
  std::vector<std::shared_ptr<void>> kept_;  // what intakes have left
  std::vector<fr_reader> input_tables_;
  std::vector<fr_rows> stored_tables_;
  std::vector<void*> left_;
  fr_job job_{};
};

}  // namespace flowrun::plugins
