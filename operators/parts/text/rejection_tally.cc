#include "operators/parts/text/rejection_tally.h"

#include <tuple>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/base/units.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

using action = plan::node_checker::error_policy::action;

rejection_tally::rejection_tally(plan::node_checker::error_policy policy, std::vector<std::string> paths,
                                 exec::node_counters& counters, rejection_words words)
    : policy_(std::move(policy)), paths_(std::move(paths)), words_(words), counters_(counters) {}

void rejection_tally::piece_left() {
  mutex_lock lock(mutex_);
  ++pieces_out_;
}

bool rejection_tally::reject(uint64_t file, const malformed_record& record) {
  ++counters_.rejected_rows;
  // A quote that is never closed takes lines with it that would have been records.
  const auto num_lines = words_.place == nullptr ? 1 + static_cast<uint64_t>(count_byte(record.text, '\n')) : 1;
  mutex_lock lock(mutex_);
  const bool is_first = num_rejected_ == 0;
  num_rejected_ += num_lines;
  num_records_ += num_lines - 1;
  if (is_first || std::tie(file, record.line, record.column) < std::tie(first_file_, first_.line, first_.column)) {
    first_file_ = file;
    first_ = record;
    first_.text = {};
  }
  if (policy_.what != action::fail) return true;
  failed_.store(true, std::memory_order_relaxed);
  return false;
}

void rejection_tally::parsed(uint64_t num_records, bool ends) {
  mutex_lock lock(mutex_);
  num_records_ += num_records;
  if (ends && --pieces_out_ == 0 && waiting_ != nullptr) std::exchange(waiting_, nullptr)->wake();
}

namespace {

std::string place_and_reason(const std::string& path, const malformed_record& record, const rejection_words& words) {
  if (words.place != nullptr)
    return fmt::format("{}: {}", words.place(path, record.line, record.column), record.reason);
  return fmt::format("{}:{}:{}: {}", path, record.line, record.column, record.reason);
}

std::string way_on(const rejection_words& words, const std::string& advice = {}) {
  return fmt::format("{}{}{}, or say `on_error: {{to: PORT}}` or `on_error: skip` to go on without such {}", advice,
                     advice.empty() ? "" : "; otherwise ", words.mend, words.several);
}

std::string advice_on(const rejection_words& words, const malformed_record& record) {
  return words.advise && record.wrong_column ? words.advise(*record.wrong_column, record.wrong_field) : std::string();
}

// Where the first lines are malformed, it is the type rather than the lines that is wrong.
std::string way_to_type(const std::string& path, uint64_t line) {
  constexpr uint64_t first_lines = 2;  // a header, and the first row
  if (line > first_lines || path == "-") return {};
  return fmt::format("; if no line fits, `flowrun infer {}` shows the file's own `type`", path);
}

// Two digits, and as many more as show that it is above `limit`.
std::string ratio_above(double limit, double ratio) {
  for (int digits = 2; digits < 17; ++digits) {
    const double shown = std::stod(fmt::format("{:.{}g}", ratio, digits));
    if (shown > limit) return fmt::format("{}", shown);
  }
  return fmt::format("{}", ratio);
}

}  // namespace

error malformed_text(const std::string& path, const malformed_record& record, const rejection_words& words) {
  return {error_kind::bad_data, place_and_reason(path, record, words),
          way_on(words, advice_on(words, record)) + way_to_type(path, record.line)};
}

uint64_t rejection_tally::first_line() const { return count_of(words_.lines_in_front) + first_.line; }

std::string rejection_tally::describe_first() const {
  malformed_record placed = first_;
  placed.line = first_line();
  return place_and_reason(paths_[first_file_], placed, words_);
}

outcome rejection_tally::settled(waker& w) {
  mutex_lock lock(mutex_);
  waiting_ = nullptr;
  if (pieces_out_ > 0) {
    waiting_ = &w;
    return outcome::blocked(blocked_on::output);
  }
  if (num_rejected_ == 0) return outcome::done();
  if (policy_.what == action::fail)
    throw error(error_kind::bad_data, describe_first(),
                way_on(words_, advice_on(words_, first_)) +
                    (words_.place == nullptr ? way_to_type(paths_[first_file_], first_line()) : ""));
  const double ratio = static_cast<double>(num_rejected_) / static_cast<double>(num_records_);
  if (ratio > policy_.max_ratio)
    throw error(error_kind::bad_data,
                fmt::format("{} of {} {} {} rejected: {}, more than max_ratio {}; the first: {}",
                            format_count(num_rejected_), format_count(num_records_),
                            num_records_ == 1 ? words_.one : words_.several, num_rejected_ == 1 ? "was" : "were",
                            ratio_above(policy_.max_ratio, ratio), policy_.max_ratio, describe_first()),
                fmt::format("{}, or raise max_ratio", words_.check));
  return outcome::done();
}

}  // namespace flowrun::operators
