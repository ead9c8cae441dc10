#include "engine/metrics/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flowrun::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

// Of a job with one phase and 1,000 bytes to move.
job_work moved(double ratio) {
  job_work out;
  out.ratio = ratio;
  out.done = 1000 * ratio;
  out.left_now = 1000 - out.done;
  out.exact = true;
  return out;
}

TEST(progress_estimate, knows_nothing_at_first) {
  progress_estimate e;
  EXPECT_FALSE(e.seconds_left());
  EXPECT_EQ(e.rows_per_second(), 0);
  e.update(0, 0, moved(0), {0});
  e.update(0.5, 0, moved(0.1), {10});
  EXPECT_FALSE(e.seconds_left());  // too early
  EXPECT_DOUBLE_EQ(e.rows_per_second(), 20);
}

TEST(progress_estimate, extrapolates_an_even_speed) {
  progress_estimate e;
  for (int i = 0; i <= 40; ++i) e.update(i, 0, moved(i * 0.01), {static_cast<uint64_t>(i) * 1000});
  ASSERT_TRUE(e.seconds_left());
  EXPECT_NEAR(*e.seconds_left(), 60, 1e-6);
  EXPECT_NEAR(e.rows_per_second(), 1000, 1e-6);
}

TEST(progress_estimate, follows_a_change_of_speed) {
  progress_estimate e;
  for (int i = 0; i <= 100; ++i) e.update(i, 0, moved(i * 0.001), {0});            // 0.1 in 100 s
  for (int i = 1; i <= 20; ++i) e.update(100 + i, 0, moved(0.1 + i * 0.02), {0});  // then twenty times as fast
  // Left 0.5; recent speed 0.02, overall 0.5/120: their mean is 0.01208.
  ASSERT_TRUE(e.seconds_left());
  EXPECT_NEAR(*e.seconds_left(), 0.5 / ((0.02 + 0.5 / 120) / 2), 1e-6);
}

// Two phases of 6,000 bytes each, of which the first moves `first` bytes a second, the second `second`.
class two_phases {
 public:
  two_phases(double first, double second) : first_(first), second_(second) {}

  double end() const { return phase_bytes / first_ + phase_bytes / second_; }
  void run_until(progress_estimate& e, double seconds) {
    for (; time_ <= seconds; time_ += 0.1) {
      const double change = phase_bytes / first_;
      const bool later = time_ > change;
      const double in_first = later ? phase_bytes : time_ * first_;
      const double in_second = later ? (time_ - change) * second_ : 0;
      const pipeline_work work[] = {{0, in_first, phase_bytes}, {1, in_second, phase_bytes}};
      e.update(time_, later ? 1 : 0, add_up(work, later ? 1 : 0), {0});
    }
  }

  static constexpr double phase_bytes = 6000;

 private:
  double first_, second_;
  double time_ = 0;
};

TEST(progress_estimate, a_slower_phase_is_measured_by_itself) {
  progress_estimate e;
  two_phases job(600, 30);  // 10 s, 200 s
  job.run_until(e, 12);
  double last = 1e9;
  for (double time = 13; time < 205; ++time) {
    job.run_until(e, time);
    ASSERT_TRUE(e.seconds_left()) << time;
    EXPECT_NEAR(*e.seconds_left(), job.end() - time, 0.05 * job.end()) << time;
    EXPECT_LT(*e.seconds_left(), last) << time;  // neither stuck nor rising
    last = *e.seconds_left();
  }
}

TEST(progress_estimate, a_faster_phase_is_measured_by_itself) {
  progress_estimate e;
  two_phases job(30, 600);  // 200 s, 10 s
  job.run_until(e, 202);
  for (double time = 202; time < 209; ++time) {
    job.run_until(e, time);
    ASSERT_TRUE(e.seconds_left()) << time;
    EXPECT_NEAR(*e.seconds_left(), job.end() - time, 0.5) << time;
  }
}

// A sort on a simulated machine: runs are made and written, then read and merged. Memory takes in rows faster than the
// disk does until it is full, and keeps the last ones.
class simulated_sort {
 public:
  double num_bytes = 10e9;
  double memory = 1e9;
  double making = 200e6;  // bytes a second, of all threads
  double merging = 250e6;
  double writing = 100e6;  // of the disk
  double reading = 100e6;
  double units_of_making = 1;  // what the demand says of a byte
  double units_of_merging = 0.8;
  double late = 0;  // seconds until the merge has its first blocks

  double first_phase() const {
    const double made = num_bytes / making;
    return std::max(made, (num_bytes - memory) / writing);
  }
  double second_phase() const { return std::max(num_bytes / merging, (num_bytes - memory) / reading); }
  double end() const { return first_phase() + late + second_phase(); }

  // What is said at that time.
  void tell(progress_estimate& e, double seconds) const {
    const double spilled = num_bytes - memory;
    const bool later = seconds >= first_phase();
    const double in_first = std::min(seconds, first_phase());
    const double in_second = std::max(seconds - in_first - late, 0.0);
    resources_spent spent;
    spent.threads = 2;
    spent.scratch_written = std::min({in_first * writing, in_first * making, spilled});
    // Rows are taken in as they are made, while memory has room for what was not written yet.
    const double taken = std::min({in_first * making, spent.scratch_written + memory, num_bytes});
    const double given = later ? num_bytes * std::min(1.0, in_second / second_phase()) : 0;
    spent.scratch_read = spilled * given / num_bytes;
    spent.busy_seconds = 2 * (taken / making + given / merging);
    spent.writing_seconds = spent.scratch_written / writing;
    spent.reading_seconds = spent.scratch_read / reading;
    const pipeline_work work[] = {
        {0, taken, num_bytes, false, true, {num_bytes * units_of_making, 0, spilled}},
        {1, given, num_bytes, false, true, {num_bytes * units_of_merging, spilled, 0}},
    };
    job_work all = add_up(work, later ? 1 : 0);
    all.spent = spent;
    e.update(seconds, later ? 1 : 0, all, {});
  }
};

// The worst error between a quarter of the time and the last hundredth, as a share of what is left.
double worst_error(const simulated_sort& job) {
  progress_estimate e;
  double worst = 0;
  for (double time = 0; time < 0.99 * job.end(); time += 0.1) {
    job.tell(e, time);
    const double left = job.end() - time;
    const std::optional<double> said = e.seconds_left();
    if (time < job.end() / 4) continue;
    if (!said) return 1;
    worst = std::max(worst, std::abs(*said - left) / left);
  }
  return worst;
}

TEST(progress_estimate, of_a_sort_that_waits_for_its_disk) { EXPECT_LT(worst_error({}), 0.15); }

TEST(progress_estimate, of_a_sort_that_keeps_its_processors_busy) {
  simulated_sort job;
  job.writing = job.reading = 2e9;
  EXPECT_LT(worst_error(job), 0.15);
}

TEST(progress_estimate, of_a_sort_whose_merge_asks_for_more_than_making_runs) {
  simulated_sort job;
  job.writing = job.reading = 2e9;
  job.merging = 80e6;
  job.units_of_merging = 2.5;
  EXPECT_LT(worst_error(job), 0.15);
}

// Making runs keeps the processors busy, merging them waits for the disk.
TEST(progress_estimate, of_a_sort_that_waits_for_one_thing_after_another) {
  simulated_sort job;
  job.making = 60e6;
  job.merging = 600e6;
  job.units_of_merging = 0.1;
  EXPECT_LT(worst_error(job), 0.15);
}

// The last runs are still being written when the merge asks for its first blocks.
TEST(progress_estimate, of_a_sort_whose_merge_begins_late) {
  simulated_sort job;
  job.num_bytes = 2.4e9;
  job.memory = 0.1e9;
  job.late = 0.9;
  EXPECT_LT(worst_error(job), 0.15);
}

TEST(progress_estimate, of_a_sort_that_memory_holds_half_of) {
  simulated_sort job;
  job.memory = 5e9;
  EXPECT_LT(worst_error(job), 0.15);
}

TEST(progress_estimate, says_nothing_of_a_loop_and_forgets_its_time) {
  progress_estimate e;
  const auto at = [&](double time, size_t phase, double read, double written) {
    // A file of 1,000 bytes is read at once, a loop goes round it, 1,000 bytes are sorted.
    const pipeline_work work[] = {{0, read, 1000}, {1, 0, 0, true}, {2, written, 1000}};
    e.update(time, phase, add_up(work, phase), {0});
  };
  for (double time = 0; time < 1; time += 0.1) at(time, 0, 1000 * time, 0);
  for (double time = 1; time < 500; time += 0.1) {
    at(time, 1, 1000, 0);
    ASSERT_FALSE(e.seconds_left()) << time;
    ASSERT_LE(e.ratio(), 0.5) << time;
  }
  for (double time = 500; time < 502; time += 0.1) at(time, 2, 1000, (time - 500) * 100);
  ASSERT_TRUE(e.seconds_left());
  EXPECT_NEAR(*e.seconds_left(), 8, 1);
}

// `cat file | flowrun …`: what comes is unknown; once it is there, it is known.
TEST(progress_estimate, a_pipe_that_is_sorted) {
  progress_estimate e;
  const auto at = [&](double time, size_t phase, double read, double written) {
    const pipeline_work work[] = {{0, read, phase == 0 ? 0 : 1000.0, phase == 0},
                                  {1, written, phase == 0 ? 0 : 1000.0, phase == 0}};
    e.update(time, phase, add_up(work, phase), {0});
  };
  for (double time = 0; time < 10; time += 0.1) {
    at(time, 0, 100 * time, 0);
    ASSERT_FALSE(e.seconds_left());
  }
  for (double time = 10; time < 12; time += 0.1) at(time, 1, 1000, (time - 10) * 200);
  ASSERT_TRUE(e.seconds_left());
  EXPECT_NEAR(*e.seconds_left(), 3, 0.5);
}

TEST(progress_estimate, forgets_what_lies_before_its_window) {
  progress_estimate e;
  e.update(0, 0, moved(0), {0});
  e.update(1, 0, moved(0.1), {1'000'000});
  for (int i = 2; i <= 40; ++i) e.update(i, 0, moved(0.1), {1'000'000 + static_cast<uint64_t>(i)});
  EXPECT_NEAR(e.rows_per_second(), 1, 1e-6);
}

TEST(progress_estimate, says_nothing_while_nothing_moves) {
  progress_estimate e;
  for (int i = 0; i <= 40; ++i) e.update(i, 0, moved(0), {0});
  EXPECT_FALSE(e.seconds_left());
}

TEST(progress_estimate, never_goes_back_and_stays_in_bounds) {
  progress_estimate e;
  e.update(0, 0, moved(0.5), {1});
  e.update(1, 0, moved(0.4), {1});
  EXPECT_DOUBLE_EQ(e.ratio(), 0.5);
  e.update(2, 0, moved(7), {1});
  EXPECT_DOUBLE_EQ(e.ratio(), 1);
  EXPECT_FALSE(e.seconds_left());  // what is left now is no bytes
}

progress_estimate half_way() {
  progress_estimate e;
  e.update(0, 0, moved(0), {0});
  e.update(10, 0, moved(0.5), {20'000'000});
  return e;
}

const progress_state merging{2, 3, true, {20'000'000}, 10, "sorted"};

TEST(progress_text, bar) {
  EXPECT_EQ(progress_bar(half_way(), merging, 200, false),
            "  50% ##########..........  2/3 sorted, 2.00 M rows/s, 10 s left");
  EXPECT_THAT(progress_bar(half_way(), merging, 200, true), HasSubstr("██████████          "));
  EXPECT_EQ(progress_bar(half_way(), merging, 10, true), "  50% ████");  // ten columns, not ten bytes
}

TEST(progress_text, an_unknown_total_is_marked) {
  progress_state guess = merging;
  guess.ratio_known = false;
  EXPECT_THAT(progress_bar(half_way(), guess, 200, false), HasSubstr("~50%"));
}

TEST(progress_text, is_not_complete_before_the_end) {
  progress_estimate e;
  e.update(0, 0, moved(0.9999), {1});
  EXPECT_THAT(progress_bar(e, merging, 200, false), HasSubstr(" 99%"));
  e.update(1, 0, moved(1), {1});
  EXPECT_THAT(progress_bar(e, merging, 200, false), HasSubstr("100%"));
}

TEST(progress_text, line_and_json) {
  EXPECT_EQ(progress_line(half_way(), merging), "50 %, phase 2 of 3 (sorted), 2.00 M rows/s, 10.0 s so far, 10 s left");
  EXPECT_EQ(progress_json(half_way(), merging),
            R"({"ratio":0.5,"ratio_known":true,"phase":2,"phases":3,"activity":"sorted","rows":20000000,)"
            R"("rows_per_second":2000000,"bytes_read":0,"bytes_read_per_second":0,"iterations":0,)"
            R"("elapsed_seconds":10.0,"seconds_left":10.0})");
  progress_state odd = merging;
  odd.activity = "a\"b\\\n";
  EXPECT_THAT(progress_json(progress_estimate(), odd), HasSubstr(R"("activity":"a\"b\\\n")"));
  EXPECT_THAT(progress_json(progress_estimate(), odd), HasSubstr(R"("seconds_left":null})"));
}

TEST(progress_text, no_time_is_told_where_the_work_is_open) {
  progress_estimate e;
  job_work looping = moved(0.5);
  e.update(0, 0, moved(0), {0});
  looping.open = true;
  e.update(10, 0, looping, {20'000'000});
  progress_state guessed = merging;
  guessed.ratio_known = false;
  EXPECT_EQ(progress_line(e, guessed), "phase 2 of 3 (sorted), 2.00 M rows/s, 10.0 s so far");
  EXPECT_EQ(progress_bar(e, guessed, 200, false), "  2/3 sorted, 2.00 M rows/s, 10 s so far");
  EXPECT_THAT(progress_json(e, guessed), HasSubstr(R"("seconds_left":null})"));
  EXPECT_THAT(progress_json(e, guessed), HasSubstr(R"({"ratio":null,)"));
}

TEST(progress_text, what_was_read_of_a_pipe_and_iterations_of_a_loop) {
  progress_estimate e;
  job_work open;
  open.open = true;
  e.update(0, 0, open, {});
  e.update(10, 0, open, {1000, 40 << 20, 50});
  progress_state state = merging;
  state.moved = {1000, 40 << 20, 50};
  EXPECT_EQ(progress_line(e, state),
            "phase 2 of 3 (sorted), 5 iterations/s, 40.0 MiB read, 4.00 MiB/s, 100 rows/s, 10.0 s so far");
  EXPECT_THAT(progress_json(e, state), HasSubstr(R"("bytes_read":41943040,"bytes_read_per_second":4194304,)"));
}

TEST(progress_text, rates) {
  EXPECT_EQ(format_rate(850), "850");
  EXPECT_EQ(format_rate(1000), "1.00 k");
  EXPECT_EQ(format_rate(12'345'678), "12.3 M");
  EXPECT_EQ(format_rate(999'600), "1.00 M");
  EXPECT_EQ(format_rate(3.4e9), "3.40 G");
}

}  // namespace
}  // namespace flowrun::metrics
