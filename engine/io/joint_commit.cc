#include "engine/io/joint_commit.h"

#include <set>

#include "engine/base/error.h"
#include "engine/io/identify.h"
#include "engine/io/output_target.h"

namespace flowrun::io {

namespace {

// One commit of several outputs at work.
class joint_commit {
 public:
  joint_commit(std::span<const std::unique_ptr<output_file>> outputs, std::vector<output_result>& results)
      : outputs_(outputs), results_(results) {}

  void run() {
    check_names();
    for (const auto& output : outputs_)
      if (output->target() != nullptr && output->is_durable()) output->target()->sync();
    for (const auto& output : outputs_)
      if (output->target() != nullptr) output->target()->prepare();
    place_all();
    for (const auto& output : outputs_)
      if (output->target() != nullptr) output->target()->settle();
    sync_directories();
  }

 private:
  struct named_file {
    std::string path;
    file_identity identity;
  };

  // What was checked before the run may have changed since (a link that was made anew).
  void check_names() const {
    std::vector<named_file> all;
    for (const auto& output : outputs_) all.push_back(unlike(all, output->path()));
  }

  // Names that look like two may yet be one (a directory that ignores case): then the second output finds the file of
  // the first under its name.
  static named_file unlike(const std::vector<named_file>& others, const std::string& path) {
    named_file now{path, identify(path, true)};
    for (const named_file& other : others)
      if (same_file(other.identity, now.identity))
        throw error(error_kind::output, fmt::format("two outputs are one file: {} and {}", other.path, path),
                    "give each a file of its own");
    return now;
  }

  void place_all() {
    std::vector<named_file> placed;
    size_t next = 0;
    try {
      for (; next < outputs_.size(); ++next) {
        output_target* const target = outputs_[next]->target();
        if (target == nullptr) continue;
        unlike(placed, outputs_[next]->path());
        target->place(next + 1 < outputs_.size());
        results_[next].state = output_state::not_durable;
        placed.push_back({outputs_[next]->path(), identify(outputs_[next]->path(), true)});
      }
    } catch (const error& problem) {
      undo(next);
      throw error(problem.kind(), problem.what() + what_stands(), problem.hint());
    } catch (...) {
      undo(next);
      throw;
    }
  }

  // The last one first, so that names that stood for something in between stand for it again.
  void undo(size_t num_placed) {
    for (size_t i = num_placed; i > 0; --i) {
      output_target* const target = outputs_[i - 1]->target();
      if (target == nullptr) continue;
      if (target->undo()) results_[i - 1].state = output_state::as_before;
    }
  }

  // Which outputs are in place although the commit failed; empty where none is.
  std::string what_stands() const {
    std::string placed;
    std::string others;
    for (size_t i = 0; i < results_.size(); ++i) {
      if (results_[i].state == output_state::written) continue;
      std::string& to = results_[i].state == output_state::as_before ? others : placed;
      to += (to.empty() ? "" : ", ") + results_[i].path;
      if (const std::string old = outputs_[i]->target()->kept_old(); !old.empty())
        to += fmt::format(" (what it replaced is {})", old);
    }
    return placed.empty() ? std::string() : fmt::format("; in place: {}; not written: {}", placed, others);
  }

  // All outputs are in place: a failure is an error, and takes none of them back.
  void sync_directories() {
    std::set<std::string> done;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i]->target() == nullptr) continue;
      if (outputs_[i]->is_durable()) sync_directory(*outputs_[i]->target(), done);
      results_[i].state = output_state::in_place;
    }
  }

  static void sync_directory(output_target& target, std::set<std::string>& done) {
    try {
      target.sync_directory(done);
    } catch (const error& problem) {
      throw error(problem.kind(), fmt::format("{}; all outputs are in place, until a power cut", problem.what()),
                  problem.hint());
    }
  }

  std::span<const std::unique_ptr<output_file>> outputs_;
  std::vector<output_result>& results_;
};

}  // namespace

std::string_view to_string(output_state state) {
  switch (state) {
    case output_state::as_before: return "as before";
    case output_state::in_place: return "in place";
    case output_state::not_durable: return "in place, not durable";
    case output_state::written: return "written";
  }
  return "?";
}

std::vector<output_result> results_before_commit(std::span<const std::unique_ptr<output_file>> outputs) {
  std::vector<output_result> out;
  for (const auto& output : outputs)
    out.push_back({output->path(), output->is_stream() ? output_state::written : output_state::as_before});
  return out;
}

void commit_together(std::span<const std::unique_ptr<output_file>> outputs, std::vector<output_result>& results) {
  results = results_before_commit(outputs);
  joint_commit(outputs, results).run();
}

}  // namespace flowrun::io
