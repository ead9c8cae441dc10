// Whole jobs: the same bytes from every way of running them, progress, reports, and which nodes become one program.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/exec/job_report.h"
#include "tests/support/job_rig.h"

namespace flowrun::exec {
namespace {

// Sorts, a join, a diamond that needs a queue on scratch, a split, and sinks in two phases.
constexpr const char* busy_job = R"yaml(
  drawn:   {op: generate, with: {rows: 60000, columns: {k: "u32(rand(1, i) % 5000)", v: "u32(rand(2, i))"}}}
  wider:   {op: map, in: drawn, with: {k: k, v: v, w: "v % 7"}}
  some:    {op: filter, in: wider, with: {where: "w != 3"}}
  sorted:  {op: sort, in: some, with: {by: [k, v]}}
  counts:  {op: group, in: sorted, with: {by: [k], let: {n: "count()", most: "max(v)"}}}
  joined:  {op: join, in: {left: sorted, right: counts}, with: {by: [k]}}
  sides:   {op: split, in: joined, with: {ports: {up: "v % 2 == 0"}, rest: down}}
  up:      {op: file.write_rows, in: sides.up, with: {path: @OUT/up.bin}}
  back:    {op: sort, in: sides.down, with: {by: [-v, k]}}
  down:    {op: file.write_rows, in: back, with: {path: @OUT/down.bin}}
  sum:     {op: reduce, in: back, with: {let: {rows: "count()", total: "sum(v)"}, hash: true}}
  texts:   {op: map, in: counts, with: {n: n, name: "string(k)"}}
  ordered: {op: sort, in: texts, with: {by: [-n, name], limit: 1000}}
  table:   {op: file.write_csv, in: ordered, with: {path: @OUT/table.csv}}
)yaml";

std::vector<job_place> all_places() {
  std::vector<job_place> out;
  for (const bool plain : {true, false})
    for (const bool force_spill : {false, true})
      for (const io::backend_kind backend : {io::backend_kind::memory, io::backend_kind::threads})
        for (const unsigned threads : {1U, 4U}) {
          if (plain && threads > 1) continue;
          job_place place;
          place.plain = plain;
          place.threads = threads;
          place.backend = backend;
          place.force_spill = force_spill;
          out.push_back(place);
        }
  out.push_back(out.back());
  out.back().batch_bytes = 1000;
  out.back().block_bytes = 16 * KiB;
  return out;
}

TEST(job, gives_the_same_bytes_however_it_is_run) {
  std::map<std::string, std::string> first;
  std::map<std::string, std::string> first_results;
  for (const job_place& place : all_places()) {
    job_rig rig(busy_job, place);
    const std::unique_ptr<error> problem = rig.run();
    ASSERT_EQ(problem, nullptr) << problem->what();
    const std::map<std::string, std::string> outputs = rig.outputs();
    ASSERT_EQ(outputs.size(), 3U);
    const std::map<std::string, std::string> results = results_of(rig.report());
    if (first.empty()) {
      first = outputs;
      first_results = results;
      EXPECT_GT(outputs.at("up.bin").size(), 100'000U);
    }
    EXPECT_TRUE(outputs == first) << "plain " << place.plain << ", threads " << place.threads << ", spill "
                                  << place.force_spill;
    EXPECT_EQ(results, first_results);
    if (place.force_spill && place.backend == io::backend_kind::threads) {
      EXPECT_GT(rig.report().actual().scratch_written_bytes(), 0U);
      EXPECT_GT(rig.report().actual().scratch_read_bytes(), 0U);
    }
    rig.destroy();
    EXPECT_EQ(rig.outputs(), outputs);
  }
}

TEST(job, sorted_output_is_what_was_asked_for) {
  for (const bool force_spill : {false, true}) {
    job_place place;
    place.force_spill = force_spill;
    job_rig rig(R"yaml(
  drawn:  {op: generate, with: {rows: 50000, columns: {v: "rand(5, i)"}}}
  sorted: {op: sort, in: drawn, with: {by: [v]}}
  sure:   {op: check, in: sorted, with: {sorted: [v]}}
  before: {op: reduce, in: drawn, with: {let: {rows: "count()"}, hash: true}}
  after:  {op: reduce, in: sure, with: {let: {rows: "count()"}, hash: true}}
  write:  {op: file.write_rows, in: sure, with: {path: @OUT/sorted.bin}}
)yaml",
                place);
    const std::unique_ptr<error> problem = rig.run();
    ASSERT_EQ(problem, nullptr) << problem->what();
    auto results = results_of(rig.report());
    EXPECT_EQ(results.at("before.rows"), "50000");
    EXPECT_EQ(results.at("after.rows"), "50000");
    EXPECT_EQ(results.at("before.hash"), results.at("after.hash"));
    const std::string bytes = rig.outputs().at("sorted.bin");
    ASSERT_EQ(bytes.size(), 400'000U);
    uint64_t last = 0;
    for (size_t at = 0; at < bytes.size(); at += 8) {
      uint64_t v = 0;
      std::memcpy(&v, bytes.data() + at, 8);
      ASSERT_LE(last, v);
      last = v;
    }
  }
}

TEST(job, progress_never_goes_back_and_ends_at_one) {
  for (const bool plain : {false, true}) {
    job_place place;
    place.plain = plain;
    place.force_spill = true;
    job_rig rig(R"yaml(
  drawn:  {op: generate, with: {rows: 3000000, columns: {v: "rand(5, i)"}}}
  some:   {op: filter, in: drawn, with: {where: "v % 4 != 0"}}
  sorted: {op: sort, in: some, with: {by: [v]}}
  again:  {op: sort, in: sorted, with: {by: ["v % 1000", v]}}
  write:  {op: file.write_rows, in: again, with: {path: @OUT/sorted.bin}}
)yaml",
                place);
    EXPECT_EQ(rig.job().progress().done_ratio, 0);
    double last = 0;
    size_t last_phase = 0;
    uint64_t last_rows = 0;
    int ticks = 0;
    const std::unique_ptr<error> problem = rig.run([&] {
      ++ticks;
      const job_progress now = rig.job().progress();
      EXPECT_GE(now.done_ratio, last);
      EXPECT_LE(now.done_ratio, 1);
      EXPECT_GE(now.phase, last_phase);
      EXPECT_EQ(now.phase == now.num_phases, now.activity == "outputs are put into place");
      EXPECT_GE(now.rows_done, last_rows);
      EXPECT_FALSE(now.activity.empty());
      last = now.done_ratio;
      last_phase = now.phase;
      last_rows = now.rows_done;
    });
    ASSERT_EQ(problem, nullptr) << problem->what();
    EXPECT_GE(ticks, 3);  // at least one a phase
    EXPECT_GT(last, 0.5);
    EXPECT_EQ(rig.job().progress().done_ratio, 1);
    EXPECT_EQ(rig.job().progress().num_phases, 3U);
  }
}

TEST(job, the_report_says_what_happened) {
  job_place place;
  place.force_spill = true;
  place.backend = io::backend_kind::threads;
  job_rig rig(busy_job, place);
  EXPECT_EQ(rig.report().wall_seconds(), 0);
  const std::unique_ptr<error> problem = rig.run();
  ASSERT_EQ(problem, nullptr) << problem->what();
  const RunReport report = rig.report();
  EXPECT_EQ(report.job(), "small");
  EXPECT_EQ(report.status(), "succeeded");
  EXPECT_EQ(report.error(), "");
  EXPECT_GT(report.wall_seconds(), 0);
  EXPECT_GT(report.cpu_seconds(), 0);
  EXPECT_EQ(report.threads(), 2U);
  EXPECT_EQ(report.io_backend(), "threads");
  EXPECT_EQ(report.memory_budget_bytes(), 48 * MiB);
  EXPECT_FALSE(report.verdict().empty());

  EXPECT_EQ(rig.node(report, "drawn").op(), "generate");
  EXPECT_EQ(rig.node(report, "drawn").rows(), 60'000U);
  const uint64_t some = rig.node(report, "some").rows();
  EXPECT_GT(some, 40'000U);
  EXPECT_LT(some, 60'000U);
  EXPECT_EQ(rig.node(report, "sorted").rows_in(), some);
  EXPECT_EQ(rig.node(report, "sorted").rows(), some);
  EXPECT_EQ(rig.node(report, "joined").rows(), some);
  EXPECT_EQ(rig.node(report, "joined").rows_in(), some + rig.node(report, "counts").rows());
  EXPECT_EQ(rig.node(report, "up").rows() + rig.node(report, "back").rows_in(), some);
  EXPECT_EQ(rig.node(report, "ordered").rows(), 1000U);
  const auto outputs = rig.outputs();
  EXPECT_EQ(rig.node(report, "up").file_written_bytes(), outputs.at("up.bin").size());
  EXPECT_EQ(report.actual().output_bytes(),
            outputs.at("up.bin").size() + outputs.at("down.bin").size() + outputs.at("table.csv").size());

  ASSERT_EQ(report.sorts_size(), 3);
  for (const auto& s : report.sorts()) {
    EXPECT_GE(s.runs(), 1U) << s.id();
    EXPECT_GE(s.merge_passes(), 1U) << s.id();
  }
  ASSERT_EQ(report.disks_size(), 2);
  EXPECT_EQ(report.disks(0).written_bytes() + report.disks(1).written_bytes(), report.actual().scratch_written_bytes());
  EXPECT_GT(report.actual().peak_scratch_bytes(), 0U);

  const std::string text = report_text(report);
  for (const char* part :
       {"small: succeeded", "drawn", "fused with some", "sum.rows = ", "predicted", "scratch written"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const std::string json = report_json(report);
  for (const char* part :
       {"\"job\": \"small\"", "\"status\": \"succeeded\"", "\"peak_scratch_bytes\"", "\"fused_with\": \"some\""})
    EXPECT_NE(json.find(part), std::string::npos) << part;
}

TEST(job, neighbouring_programs_become_one_unless_somebody_else_reads_between_them) {
  job_rig rig(R"yaml(
  drawn: {op: generate, with: {rows: 1000, columns: {v: "rand(5, i)"}}}
  a:     {op: map, in: drawn, with: {v: "v % 100"}}
  b:     {op: filter, in: a, with: {where: "v > 10"}}
  c:     {op: map, in: b, with: {v: "v + 1"}}
  d:     {op: map, in: c, with: {v: "v * 2"}}
  e:     {op: map, in: c, with: {v: "v * 3"}}
  f:     {op: filter, in: e, with: {where: "v > 60"}}
  d_sum: {op: reduce, in: d, with: {let: {rows: "count()", total: "sum(v)"}}}
  f_sum: {op: reduce, in: f, with: {let: {rows: "count()", total: "sum(v)"}}}
  h:     {op: sort, in: drawn, with: {by: ["v % 10", v]}}
  i:     {op: map, in: h, with: {v: "v / 2"}}
  i_sum: {op: reduce, in: i, with: {let: {rows: "count()"}}}
)yaml",
              {});
  const std::unique_ptr<error> problem = rig.run();
  ASSERT_EQ(problem, nullptr) << problem->what();
  const RunReport report = rig.report();
  EXPECT_EQ(rig.node(report, "a").fused_with(), "b");
  EXPECT_EQ(rig.node(report, "b").fused_with(), "c");
  EXPECT_EQ(rig.node(report, "c").fused_with(), "");  // d and e both read it
  EXPECT_EQ(rig.node(report, "d").fused_with(), "");
  EXPECT_EQ(rig.node(report, "e").fused_with(), "f");
  EXPECT_EQ(rig.node(report, "drawn").fused_with(), "");
  EXPECT_EQ(rig.node(report, "h").fused_with(), "");  // a head: progress is measured there
  EXPECT_EQ(rig.node(report, "h").rows(), 1000U);
  EXPECT_EQ(rig.node(report, "drawn").rows(), 1000U);
  const auto results = results_of(report);
  EXPECT_EQ(results.at("d_sum.rows"), std::to_string(rig.node(report, "c").rows()));
  EXPECT_EQ(results.at("f_sum.rows"), std::to_string(rig.node(report, "f").rows()));
  EXPECT_EQ(results.at("i_sum.rows"), "1000");
  EXPECT_GT(std::stoull(results.at("d_sum.total")), 0U);
}

}  // namespace
}  // namespace flowrun::exec
