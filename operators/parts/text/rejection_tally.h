// What becomes of malformed records (on_error), counted over all pieces of a text that are parsed in parallel.
//
// The answer must not depend on which thread was first (decision D6b). So the source waits until every piece that left
// it was parsed. Only then it ends, or fails with the first malformed record in the order of the files, or with the
// share of rejected records.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/base/waker.h"
#include "engine/exec/services.h"
#include "engine/plan/node_checker.h"
#include "operators/parts/text/byte_range.h"
#include "operators/parts/text/record_parsing.h"

namespace flowrun::operators {

// What messages call a record, and where it is. The tally tells records of a file apart by two numbers, which are line
// and column of a text.
struct rejection_words {
  std::string_view one = "line", several = "lines";
  std::string_view mend = "mend the line";
  std::string_view check = "check `delimiter` and `type`, mend the input";
  // What may mend a field that has no value of its column, beside mending the line; empty where nothing is known.
  std::function<std::string(size_t column, std::string_view field)> advise{};
  line_counter lines_in_front = {};  // of the first line that is read
  std::string (*place)(const std::string& path, uint64_t line, uint64_t column) = nullptr;  // null: PATH:LINE:COLUMN
};

// That ends a job whose policy is to fail: of a line of a text.
error malformed_text(const std::string& path, const malformed_record& record, const rejection_words& words = {});

// Thread-safe.
class rejection_tally {
 public:
  rejection_tally(plan::node_checker::error_policy policy, std::vector<std::string> paths,
                  exec::node_counters& counters, rejection_words words = {});

  // Called by the source for each piece that it sends on.
  void piece_left();
  // Called by the parser for a malformed record of file `file`. False when the job will fail, and the rest of the piece
  // needn't be parsed.
  bool reject(uint64_t file, const malformed_record& record);
  // Called by the parser when so many records of a piece are done; with `ends`, the whole piece is done.
  void parsed(uint64_t num_records, bool ends);

  // The job goes on without rows that are rejected.
  bool tolerates() const { return policy_.what != plan::node_checker::error_policy::action::fail; }
  // The policy is to fail, and something was rejected.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  // The source, once no more pieces leave: true when all were parsed and the job may go on; otherwise `w` will be
  // woken. Throws error(bad_data) as the policy asks.
  outcome settled(waker& w);

 private:
  uint64_t first_line() const FLOWRUN_REQUIRES(mutex_);  // in its file
  std::string describe_first() const FLOWRUN_REQUIRES(mutex_);

  const plan::node_checker::error_policy policy_;
  const std::vector<std::string> paths_;
  const rejection_words words_;
  exec::node_counters& counters_;
  std::atomic<bool> failed_{false};
  mutex mutex_;
  uint64_t pieces_out_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  uint64_t num_records_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  uint64_t num_rejected_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  // Meaningful when num_rejected_ > 0; its text is gone.
  uint64_t first_file_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  malformed_record first_ FLOWRUN_GUARDED_BY(mutex_);
  waker* waiting_ FLOWRUN_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace flowrun::operators
