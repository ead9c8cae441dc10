#include "engine/io/joint_commit.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <unordered_map>

#include "engine/base/error.h"
#include "engine/io/identify.h"

namespace flowrun::io {

namespace {

constexpr size_t most_told_paths = 20;

std::atomic<int> num_changing{0};                      // commits whose outputs get their names just now
static_assert(std::atomic<int>::is_always_lock_free);  // a signal's handler asks

// Files that were seen, for telling whether another one is one of them.
class seen_files {
 public:
  // Names that look like two may yet be one (a directory that ignores case): then the second output finds the file of
  // the first under its name.
  void refuse_seen(const std::string& path, const file_identity& now) const {
    if (const std::string* const other = one_with(now))
      throw error(error_kind::output, fmt::format("two outputs are one file: {} and {}", *other, path),
                  "give each a file of its own");
  }
  // The path under which it was seen; null: it wasn't.
  const std::string* one_with(const file_identity& now) const {
    const std::string* other = find(entries_, now.entry);
    // same_file() says of which objects it is enough that they are one.
    if (other == nullptr) other = find(now.in_place || now.only_name ? objects_ : lone_objects_, now.object);
    return other;
  }
  void add(const std::string& path, const file_identity& now) {
    if (!now.entry.empty()) entries_.emplace(now.entry, path);
    if (now.object.empty()) return;
    objects_.emplace(now.object, path);
    if (now.in_place || now.only_name) lone_objects_.emplace(now.object, path);
  }

 private:
  using paths = std::unordered_map<std::string, std::string>;
  static const std::string* find(const paths& all, const std::string& key) {
    const auto found = key.empty() ? all.end() : all.find(key);
    return found == all.end() ? nullptr : &found->second;
  }
  paths entries_, objects_, lone_objects_;
};

// One commit of several outputs at work.
class joint_commit {
 public:
  joint_commit(std::span<const std::unique_ptr<joint_output>> outputs, std::vector<output_result>& results,
               const std::vector<std::string>& inputs)
      : outputs_(outputs), results_(results), inputs_(inputs) {
    for (size_t i = 0; i < outputs.size(); ++i)
      for (size_t name = 0; name < outputs[i]->num_names(); ++name) names_.push_back({i, name});
    states_.resize(names_.size(), output_state::as_before);
  }

  void run() {
    try {
      check_names();
      for (const auto& output : outputs_)
        if (output->num_names() > 0 && output->is_durable()) output->sync();
      for (const auto& output : outputs_)
        if (output->num_names() > 0) output->prepare();
      change_names();
      is_committed_ = true;
      sync_directories();
    } catch (...) {
      tell_states();
      throw;
    }
    tell_states();
  }

 private:
  struct named {
    size_t output, name;
  };

  joint_output& output_of(const named& n) const { return *outputs_[n.output]; }
  std::string path_of(const named& n) const { return output_of(n).path_of(n.name); }

  // What was checked before the run may have changed since (a link that was made anew). Of an output with several files
  // the names come with the rows, and a link under one of them may lead to an input.
  void check_names() const {
    seen_files seen, read;
    const auto has_several = [](const auto& output) { return output->files().has_value(); };
    if (std::any_of(outputs_.begin(), outputs_.end(), has_several))
      for (const std::string& path : inputs_) read.add(path, identify(path, false));
    for (const auto& output : outputs_) {
      const bool comes_with_rows = has_several(output);
      const auto look_at = [&](const std::string& path) {
        const file_identity now = identify(path, true);
        seen.refuse_seen(path, now);
        seen.add(path, now);
        if (const std::string* const input = comes_with_rows ? read.one_with(now) : nullptr)
          throw error(error_kind::output, fmt::format("{} is {}, which the job reads", path, *input),
                      "a link leads there: take it away, or write into another directory");
      };
      if (output->is_stream()) look_at(output->path());
      for (size_t name = 0; name < output->num_names(); ++name) look_at(output->path_of(name));
    }
  }

  void change_names() {
    struct in_progress {
      in_progress() { num_changing.fetch_add(1); }
      ~in_progress() { num_changing.fetch_sub(1); }
      in_progress(const in_progress&) = delete;
      in_progress& operator=(const in_progress&) = delete;
    } const now;
    place_all();
    for (const auto& output : outputs_)
      if (output->num_names() > 0) output->settle();
  }

  void place_all() {
    seen_files placed;
    size_t num_placed = 0;
    try {
      while (num_placed < names_.size()) {
        const named& n = names_[num_placed];
        const std::string path = path_of(n);
        placed.refuse_seen(path, identify(path, true));
        output_of(n).place(n.name, num_placed + 1 < names_.size());
        states_[num_placed++] = output_state::not_durable;  // what fails from here on takes it back, too
        // After the last one nothing may fail: what it has replaced is not kept.
        if (num_placed < names_.size()) placed.add(path, identify(path, true));
      }
    } catch (const error& problem) {
      undo(num_placed);
      throw error(problem.kind(), problem.what() + what_stands(), problem.hint());
    } catch (...) {
      undo(num_placed);
      throw;
    }
  }

  // The last one first, so that names that stood for something in between stand for it again.
  void undo(size_t num_placed) {
    for (size_t i = num_placed; i > 0; --i)
      if (output_of(names_[i - 1]).undo(names_[i - 1].name)) states_[i - 1] = output_state::as_before;
  }

  // Which outputs are in place although the commit failed; empty where none is.
  std::string what_stands() const {
    std::string placed;
    std::string others;
    size_t num_placed = 0, num_others = 0;
    for (size_t i = 0; i < names_.size(); ++i) {
      const bool is_other = states_[i] == output_state::as_before;
      if (++(is_other ? num_others : num_placed) > most_told_paths) continue;
      std::string& to = is_other ? others : placed;
      to += (to.empty() ? "" : ", ") + path_of(names_[i]);
      if (const std::string old = output_of(names_[i]).kept_old(names_[i].name); !old.empty())
        to += fmt::format(" (what it replaced is {})", old);
    }
    const auto more = [](size_t num) {
      return num <= most_told_paths ? std::string() : fmt::format(" and {} more", num - most_told_paths);
    };
    if (placed.empty()) return {};
    return fmt::format("; in place: {}{}; not written: {}{}", placed, more(num_placed), others, more(num_others));
  }

  // All outputs are in place: a failure is an error, and takes none of them back.
  void sync_directories() {
    std::set<std::string> done;
    size_t next = 0;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i]->num_names() == 0) continue;
      if (outputs_[i]->is_durable()) sync_directories(*outputs_[i], done);
      for (; next < names_.size() && names_[next].output == i; ++next) states_[next] = output_state::in_place;
    }
  }

  static void sync_directories(joint_output& output, std::set<std::string>& done) {
    try {
      output.sync_directories(done);
    } catch (const error& problem) {
      throw error(problem.kind(), fmt::format("{}; all outputs are in place, until a power cut", problem.what()),
                  problem.hint());
    }
  }

  // Of an output with several files the state that all of them have.
  void tell_states() {
    for (size_t i = 0; i < names_.size(); ++i) {
      output_state& told = results_[names_[i].output].state;
      told =
          i == 0 || names_[i - 1].output != names_[i].output || told == states_[i] ? states_[i] : output_state::partly;
    }
    // An output without rows has no files, and all that there are are in place.
    for (size_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i]->num_names() == 0 && !outputs_[i]->is_stream() && is_committed_)
        results_[i].state = output_state::in_place;
  }

  std::span<const std::unique_ptr<joint_output>> outputs_;
  std::vector<output_result>& results_;
  const std::vector<std::string>& inputs_;
  std::vector<named> names_;
  std::vector<output_state> states_;  // of the names
  bool is_committed_ = false;
};

}  // namespace

std::string_view to_string(output_state state) {
  switch (state) {
    case output_state::as_before: return "as before";
    case output_state::partly: return "partly in place";
    case output_state::in_place: return "in place";
    case output_state::not_durable: return "in place, not durable";
    case output_state::written: return "written";
  }
  return "?";
}

std::vector<output_result> results_before_commit(std::span<const std::unique_ptr<joint_output>> outputs) {
  std::vector<output_result> out;
  for (const auto& output : outputs)
    out.push_back({output->path(), output->is_stream() ? output_state::written : output_state::as_before,
                   output->files(), output->content_hash()});
  return out;
}

bool names_are_changing() noexcept { return num_changing.load() > 0; }

void commit_together(std::span<const std::unique_ptr<joint_output>> outputs, std::vector<output_result>& results,
                     const std::vector<std::string>& inputs) {
  results = results_before_commit(outputs);
  joint_commit(outputs, results, inputs).run();
}

}  // namespace flowrun::io
