// Random trees of stages that dawdle, block, emit early, take batches in parts and hold rows back; what reaches each
// sink must be what a plain loop computes.
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <thread>

#include "tests/engine/exec/pipeline_rig.h"

namespace flowrun::exec {
namespace {

enum class kind { affine, drop, split, running_sum, hold_back, sink };

struct drawn_stage {
  kind what = kind::sink;
  std::vector<std::vector<uint32_t>> children;
};

struct drawn_tree {
  uint64_t num_rows = 0;
  std::vector<uint32_t> head_children;
  std::vector<drawn_stage> stages;
};

// Children come after their parents; every port that has rows may have several consumers, or none.
drawn_tree draw(std::mt19937_64& random) {
  drawn_tree tree;
  tree.num_rows = random() % 800;
  std::deque<std::pair<int, unsigned>> open{{-1, 0}};
  auto attach = [&](int parent, unsigned port, kind what) {
    const auto index = static_cast<uint32_t>(tree.stages.size());
    drawn_stage s;
    s.what = what;
    s.children.resize(what == kind::split ? 2 : what == kind::sink ? 0 : 1);
    for (unsigned p = 0; p < s.children.size(); ++p) open.emplace_back(static_cast<int>(index), p);
    tree.stages.push_back(std::move(s));
    (parent < 0 ? tree.head_children : tree.stages[static_cast<size_t>(parent)].children[port]).push_back(index);
  };
  while (!open.empty()) {
    const auto [parent, port] = open.front();
    open.pop_front();
    const uint64_t num_children = random() % 8 == 0 ? 2 : 1;
    for (uint64_t i = 0; i < num_children; ++i)
      attach(parent, port, tree.stages.size() >= 9 ? kind::sink : static_cast<kind>(random() % 6));
  }
  return tree;
}

constexpr uint64_t held_rows = 17;  // by hold_back, until the end

// What a stage gives on each of its ports.
std::vector<numbers> results_of(kind what, const numbers& in) {
  std::vector<numbers> out(what == kind::split ? 2 : 1);
  uint64_t sum = 0;
  for (uint64_t n : in) {
    switch (what) {
      case kind::affine: out[0].push_back(n * 3 + 1); break;
      case kind::drop:
        if (n % 3 > 0) out[0].push_back(n);
        break;
      case kind::split: out[n % 2].push_back(n); break;
      case kind::running_sum: out[0].push_back(sum += n); break;
      case kind::hold_back: out[0].push_back(n); break;
      case kind::sink: break;
    }
  }
  return out;
}

struct expected_stage {
  numbers in;
  uint64_t num_out = 0;
};

void expect(const drawn_tree& tree, uint32_t index, const numbers& in, std::vector<expected_stage>& out) {
  const drawn_stage& s = tree.stages[index];
  out[index].in = in;
  if (s.what == kind::sink) return;
  const std::vector<numbers> results = results_of(s.what, in);
  for (size_t port = 0; port < results.size(); ++port) {
    out[index].num_out += results[port].size();
    for (uint32_t child : s.children[port]) expect(tree, child, results[port], out);
  }
}

void dawdle(uint64_t choice) {
  for (uint64_t i = choice % 7 == 0 ? choice % 11 : 0; i > 0; --i) std::this_thread::yield();
}

std::unique_ptr<stateless_stage> parallel_stage(kind what) {
  return std::make_unique<function_stage>([what](const record::batch& in, output& out) {
    const numbers values = numbers_of(in);
    dawdle(values[0] * 0x9E3779B97F4A7C15ULL >> 40);
    // In two batches, so that a stage gives several.
    const size_t half = values.size() / 2;
    for (const numbers& part : {numbers(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half)),
                                numbers(values.begin() + static_cast<std::ptrdiff_t>(half), values.end())}) {
      const std::vector<numbers> results = results_of(what, part);
      for (size_t port = 0; port < results.size(); ++port)
        out.emit(batch_of(results[port]), static_cast<unsigned>(port));
    }
  });
}

// running_sum, hold_back and sink.
class reluctant_stage final : public ordered_stage {
 public:
  reluctant_stage(kind what, alarm& clock, uint64_t seed, numbers* seen)
      : what_(what), clock_(clock), random_(seed), seen_(seen) {}

  outcome push(record::batch& in, output& out, waker& w) override {
    EXPECT_FALSE(inside_.exchange(true));
    const outcome result = take(in, out, w);
    inside_ = false;
    return result;
  }

  outcome finish(output& out, waker& w) override {
    if (random_() % 3 == 0) return sleep(w);
    if (held_.empty()) return outcome::done();
    const size_t count = std::min<size_t>(held_.size(), 1 + random_() % 5);
    out.emit(batch_of(numbers(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(count))));
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(count));
    if (held_.empty() && random_() % 2 == 0) return outcome::done();
    return random_() % 3 == 0 ? sleep(w) : outcome::ready();
  }

 private:
  outcome take(record::batch& in, output& out, waker& w) {
    if (random_() % 8 == 0) return sleep(w);
    size_t count = in.num_rows;
    const bool part = random_() % 4 == 0;
    if (part) count = random_() % (in.num_rows + 1);
    const numbers values = numbers_of(in.slice(0, count));
    numbers results;
    for (uint64_t n : values) {
      if (what_ == kind::sink) seen_->push_back(n);
      if (what_ == kind::running_sum) results.push_back(sum_ += n);
      if (what_ != kind::hold_back) continue;
      held_.push_back(n);
      if (held_.size() <= held_rows) continue;
      results.push_back(held_.front());
      held_.pop_front();
    }
    if (!results.empty()) out.emit(batch_of(results));
    in = in.slice(count, in.num_rows - count);
    if (in.num_rows == 0) return outcome::ready();
    return sleep(w);
  }

  outcome sleep(waker& w) {
    if (random_() % 5 == 0)
      w.wake();  // at once
    else
      clock_.wake_later(w);
    return outcome::blocked(static_cast<blocked_on>(random_() % 4));
  }

  const kind what_;
  alarm& clock_;
  std::mt19937_64 random_;
  numbers* const seen_;
  uint64_t sum_ = 0;
  std::deque<uint64_t> held_;
  std::atomic<bool> inside_{false};
};

std::unique_ptr<source> reluctant_source(uint64_t num_rows, alarm& clock, uint64_t seed) {
  return std::make_unique<function_source>(
      [=, &clock, random = std::mt19937_64(seed), next = uint64_t{0}](output& out, waker& w) mutable {
        for (uint64_t batches = random() % 4; batches > 0 && next < num_rows; --batches) {
          numbers values;
          for (uint64_t count = 1 + random() % 40; count > 0 && next < num_rows; --count) values.push_back(next++);
          out.emit(batch_of(values));
        }
        if (random() % 4 == 0) {
          clock.wake_later(w);
          return outcome::blocked(blocked_on::io);
        }
        return next == num_rows && random() % 2 == 0 ? outcome::done() : outcome::ready();
      });
}

void run_random_tree(const pipeline_setting& setting, uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << setting.threads << " threads");
  std::mt19937_64 random(seed);
  const drawn_tree drawn = draw(random);
  std::vector<expected_stage> expected(drawn.stages.size());
  numbers all;
  for (uint64_t i = 0; i < drawn.num_rows; ++i) all.push_back(i);
  for (uint32_t child : drawn.head_children) expect(drawn, child, all, expected);

  pipeline_rig rig(setting, seed);
  std::deque<node_counters> counters(drawn.stages.size() + 1);
  std::vector<numbers> seen(drawn.stages.size());
  pipeline_tree tree;
  tree.head = reluctant_source(drawn.num_rows, rig.clock(), random());
  tree.head_busy = tree.head_output = &counters.back();
  tree.head_children = {drawn.head_children};
  for (size_t i = 0; i < drawn.stages.size(); ++i) {
    const drawn_stage& s = drawn.stages[i];
    pipeline_tree::node n;
    if (s.what <= kind::split)
      n.work = parallel_stage(s.what);
    else
      n.work = std::make_unique<reluctant_stage>(s.what, rig.clock(), random(), &seen[i]);
    n.busy = n.input = n.output = &counters[i];
    n.children = s.children;
    tree.stages.push_back(std::move(n));
  }
  rig.run(std::move(tree));

  EXPECT_EQ(rig.num_finished(), 1);
  EXPECT_EQ(counters.back().rows_out, drawn.num_rows);
  for (size_t i = 0; i < drawn.stages.size(); ++i) {
    if (drawn.stages[i].what == kind::sink) {
      EXPECT_EQ(seen[i], expected[i].in);
    }
    EXPECT_EQ(counters[i].rows_in, expected[i].in.size());
    EXPECT_EQ(counters[i].rows_out, expected[i].num_out);
    EXPECT_EQ(counters[i].bytes_in, 8 * counters[i].rows_in);
  }
}

TEST(pipeline_stress, random_trees_give_what_a_loop_gives) {
  for (const pipeline_setting& setting : pipeline_settings())
    for (uint64_t seed = 1; seed <= 15; ++seed) run_random_tree(setting, seed);
}

// Taken down at a random moment, with wakes on their way.
TEST(pipeline_stress, may_be_stopped_at_any_moment) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      pipeline_rig rig(setting, seed);
      std::atomic<int> alive{0};
      auto head = std::make_unique<function_source>([&, next = uint64_t{0}](output& out, waker& w) mutable {
        if (++next == seed * 5) rig.end_now();
        out.emit(batch_of({next, next}, &alive));
        if (next % 3 > 0) return outcome::ready();
        rig.clock().wake_later(w);
        return outcome::blocked(blocked_on::io);
      });
      numbers seen;
      rig.run(chain(std::move(head),
                    stages_of(stage(parallel_stage(kind::affine)),
                              stage(std::make_unique<reluctant_stage>(kind::hold_back, rig.clock(), seed, nullptr)),
                              stage(std::make_unique<reluctant_stage>(kind::sink, rig.clock(), seed + 1, &seen)))));
      EXPECT_EQ(alive, 0);
      EXPECT_EQ(rig.num_failed(), 0);
    }
  }
}

}  // namespace
}  // namespace flowrun::exec
