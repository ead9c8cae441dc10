// Small jobs under many schedules, each drawn from a seed (tests/support/seeded_world.h): all give the same bytes, none
// comes to a standstill, and a seed gives the same schedule again.
//
//   FLOWRUN_SEEDS=FIRST:COUNT tests_exec --gtest_filter='seeded_schedule.*'      others than the usual thousand
#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <stdexcept>

#include "tests/support/job_rig.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeded_world.h"

namespace flowrun::exec {
namespace {

struct seed_range {
  uint64_t first = 1;
  uint64_t count = sanitized ? 200 : 1000;
};

seed_range seeds() {
  seed_range out;
  const char* const given = std::getenv("FLOWRUN_SEEDS");
  if (given == nullptr) return out;
  const std::string_view text(given);
  const size_t colon = std::min(text.find(':'), text.size());
  std::from_chars(text.data(), text.data() + colon, out.first);
  if (colon < text.size()) std::from_chars(text.data() + colon + 1, text.data() + text.size(), out.count);
  return out;
}

// What the parts of a job do to each other: sorts of both kinds, branches that meet, stored inputs, queues, loops.
const std::vector<std::string>& jobs() {
  static const std::vector<std::string> all = {
      R"yaml(
  drawn: {op: generate, with: {rows: 3000, columns: {k: "rand(1, i) % 500", v: "i"}}}
  sorted: {op: sort, in: drawn, with: {by: [k, -v]}}
  out: {op: file.write_rows, in: sorted, with: {path: "@OUT/a"}}
)yaml",
      R"yaml(
  drawn: {op: generate, with: {rows: 1500, columns: {k: "concat('key ', rand(1, i) % 300)", v: "i"}}}
  sorted: {op: sort, in: drawn, with: {by: [k], stable: true}}
  grouped: {op: group, in: sorted, with: {by: [k], let: {n: "count()", f: "first(v)"}}}
  out: {op: file.write_csv, in: grouped, with: {path: "@OUT/a"}}
)yaml",
      R"yaml(
  drawn: {op: generate, with: {rows: 2000, columns: {k: "rand(1, i) % 700", v: "i"}}}
  left: {op: sort, in: drawn, with: {by: [k]}}
  other: {op: map, in: drawn, with: {k: k, w: v + 1}}
  right: {op: sort, in: other, with: {by: [k], unique: true}}
  both: {op: join, in: {left: left, right: right}, with: {by: [k]}}
  out: {op: file.write_csv, in: both, with: {path: "@OUT/a"}}
  kept: {op: filter, in: left, with: {where: "v % 3 == 0"}}
  again: {op: file.write_rows, in: kept, with: {path: "@OUT/b"}}
)yaml",
      R"yaml(
  drawn: {op: generate, with: {rows: 40, columns: {v: "rand(1, i) % 1000"}}}
  rounds:
    op: loop
    in: {start: drawn}
    with:
      carry: {now: {from: start}, round: {value: 0}}
      body:
        next: {op: map, in: now, with: {v: "(v * 7 + u64(round)) % 1000"}}
        sorted: {op: sort, in: next, with: {by: [v], unique: true}}
      next: {now: sorted, round: round + 1}
      until: "round == 5"
      collect: {out: sorted}
  out: {op: file.write_rows, in: rounds, with: {path: "@OUT/a"}}
)yaml",
      R"yaml(
  drawn: {op: generate, with: {rows: 2000, columns: {v: "rand(3, i)"}}}
  mixed: {op: shuffle, in: drawn, with: {seed: 5}}
  turned: {op: reverse, in: mixed}
  out: {op: file.write_rows, in: turned, with: {path: "@OUT/a"}}
)yaml"};
  return all;
}

job_place place_in(seeded_world& world) {
  job_place place;
  place.threads = 3;
  place.memory_bytes = 0;
  place.force_spill = true;
  place.block_bytes = 4 * KiB;
  place.batch_bytes = 2 * KiB;
  place.backend = io::backend_kind::memory;
  place.make_executor = [&world] { return world.make_executor(); };
  place.wrap_backend = [&world](std::unique_ptr<io::backend>) { return world.make_backend(); };
  return place;
}

struct run_of_seed {
  std::map<std::string, std::string> outputs;
  uint64_t trace = 0, num_steps = 0;
};

run_of_seed run_with(uint64_t seed, const std::string& nodes) {
  seeded_world world(seed);
  run_of_seed out;
  {
    job_rig rig(nodes, place_in(world));
    if (const std::unique_ptr<error> problem = rig.run()) ADD_FAILURE() << "seed " << seed << ": " << problem->what();
    out.outputs = rig.outputs();
  }
  out.trace = world.trace();
  out.num_steps = world.num_steps();
  return out;
}

TEST(seeded_schedule, all_give_the_same_bytes) {
  std::vector<std::map<std::string, std::string>> expected;
  for (const std::string& nodes : jobs()) {
    job_place plain;
    plain.plain = true;
    plain.threads = 1;
    job_rig rig(nodes, plain);
    rig.run_or_throw();
    expected.push_back(rig.outputs());
    ASSERT_FALSE(expected.back().empty());
  }
  const seed_range range = seeds();
  for (uint64_t seed = range.first; seed < range.first + range.count; ++seed) {
    const size_t which = seed % jobs().size();
    ASSERT_TRUE(run_with(seed, jobs()[which]).outputs == expected[which]) << "seed " << seed;
  }
}

TEST(seeded_schedule, a_seed_is_a_schedule) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const std::string& nodes = jobs()[seed % jobs().size()];
    const run_of_seed one = run_with(seed, nodes), again = run_with(seed, nodes);
    EXPECT_EQ(one.trace, again.trace) << seed;
    EXPECT_EQ(one.num_steps, again.num_steps) << seed;
    EXPECT_NE(one.trace, run_with(seed + jobs().size(), nodes).trace) << seed;
  }
}

TEST(seeded_schedule, a_wake_up_that_never_comes_is_noticed) {
  seeded_world world(1);
  const std::unique_ptr<task_executor> executor = world.make_executor();
  bool done = false;
  executor->post([&] { done = true; });
  while (!executor->wait([&] { return done; }, std::chrono::milliseconds(1))) {
  }
  const auto waits = [&] {
    for (int i = 0; i < 10; ++i) executor->wait([] { return false; }, std::chrono::milliseconds(1));
  };
  EXPECT_THROW(waits(), std::logic_error);
}

}  // namespace
}  // namespace flowrun::exec
