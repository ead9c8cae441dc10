#include "cluster/stage_progress.h"

#include <algorithm>

#include "engine/base/error.h"

namespace flowrun::cluster {

void stage_progress::add(size_t task, const Progress& told) {
  if (task >= tasks_.size() || tasks_[task].is_done) return;
  task_progress& t = tasks_[task];
  if (told.has_counted() && told.rows() >= t.rows) t.counted = told.counted();
  t.rows = std::max<uint64_t>(t.rows, told.rows());
  t.bytes_read = std::max<uint64_t>(t.bytes_read, told.bytes_read());
  t.ratio = std::max(t.ratio, std::clamp(told.ratio(), 0.0, 1.0));
}

void stage_progress::note_attempts(size_t task, size_t begun) {
  if (task < tasks_.size()) tasks_[task].attempts = std::max(tasks_[task].attempts, begun);
}

void stage_progress::finish(size_t task, const Progress& last, const std::string& host) {
  add(task, last);
  if (task >= tasks_.size()) return;
  task_progress& t = tasks_[task];
  t.ratio = 1;
  t.is_done = true;
  t.host = host;
  if (last.has_counted()) t.counted = last.counted();  // though another attempt may have been further
  t.attempts = std::max<size_t>(t.attempts, 1);
}

size_t stage_progress::num_done() const {
  return static_cast<size_t>(std::count_if(tasks_.begin(), tasks_.end(), [](const auto& t) { return t.is_done; }));
}

size_t stage_progress::num_at_work() const {
  return static_cast<size_t>(
      std::count_if(tasks_.begin(), tasks_.end(), [](const auto& t) { return t.attempts > 0 && !t.is_done; }));
}

double stage_progress::ratio() const {
  double sum = 0;
  for (const task_progress& t : tasks_) sum += t.ratio;
  return tasks_.empty() ? 0 : sum / static_cast<double>(tasks_.size());
}

uint64_t stage_progress::rows() const {
  uint64_t sum = 0;
  for (const task_progress& t : tasks_) sum += t.rows;
  return sum;
}

uint64_t stage_progress::bytes_read() const {
  uint64_t sum = 0;
  for (const task_progress& t : tasks_) sum += t.bytes_read;
  return sum;
}

void read_progress(const shared_directory& from, size_t stage, stage_progress& to) {
  std::vector<size_t> attempts(to.num_tasks());
  for (const auto& [task, path] : from.all_alive(stage)) {
    if (task < attempts.size()) to.note_attempts(task, ++attempts[task]);
    Progress told;
    try {
      if (read_message(path, told)) to.add(task, told);
    } catch (const error&) {
      // Another one comes within a second.
    }
  }
}

}  // namespace flowrun::cluster
