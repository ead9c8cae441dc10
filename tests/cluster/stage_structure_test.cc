// How the report of a job on a cluster says what its graph looks like.
#include "cluster/stage_structure.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster/cluster_report.h"
#include "cluster/driver.h"
#include "tests/support/checked_job.h"

namespace flowrun::cluster {
namespace {

constexpr const char* job = R"yaml(flowrun: 1
nodes:
  a: {op: generate, with: {rows: 1000, columns: {x: i, k: "i % 7"}}}
  f: {op: filter, in: a, with: {where: "x > 3"}}
  s: {op: sort, in: f, with: {by: [k]}}
  g: {op: group, in: s, with: {by: [k], let: {n: "count()"}}}
  w: {op: file.write_csv, in: g, with: {path: o}}
  t: {op: reduce, in: g, with: {let: {n: "sum(n)"}}}
  l:
    op: loop
    in: {rows: g}
    with: {carry: {now: {from: rows}}, body: {m: {op: map, in: now, with: {k: k, n: n}}}, next: {now: m}, times: 2}
  v: {op: file.write_csv, in: l.now, with: {path: p}}
)yaml";

class stage_structure : public testing::Test {
 protected:
  exec::RunReport report(const std::vector<stage_time>& times = {}) {
    exec::RunReport out = begin_report(*divided_.graph);
    for (exec::RunReport::Node& n : *out.mutable_nodes()) {
      n.set_rows(10);
      n.set_rows_in(20);
      n.set_bytes(80);
    }
    node_of(out, "a")->set_fused_with("f");
    add_structure(*divided_.graph, divided_.cut, times, out);
    return out;
  }

 private:
  const divided_job divided_ =
      divide(std::make_shared<const plan::graph>(exec::graph_of(job)), 3, [](const std::string&) { return 1000; });
};

TEST_F(stage_structure, edges_to_another_stage_are_files) {
  const exec::RunReport told = report();
  std::vector<std::string> edges;
  for (const exec::RunReport::Edge& e : told.edges())
    edges.push_back(fmt::format("{} {} {} {}", e.from(), e.to(), e.kind(), e.has_rows() ? e.rows() : 0));
  EXPECT_EQ(edges,
            (std::vector<std::string>{"a f stream 0",  // fused
                                      "f s stream 10", "s g stream 10", "g w stream 10", "g t stream 10",
                                      "g l exchange 10", "l v exchange 20", "l l.m stream 20", "l.m l stream 10"}));
}

TEST_F(stage_structure, a_pipeline_ends_where_rows_leave_the_task_or_have_to_be_all_there) {
  const exec::RunReport told = report();
  std::vector<std::string> lines;
  for (const exec::RunReport::Pipeline& p : told.pipelines())
    lines.push_back(fmt::format("{}:{} {}", p.phase(), p.inside(), fmt::join(p.nodes(), " ")));
  EXPECT_EQ(lines, (std::vector<std::string>{"1: a f", "2: g w", "5: v", "0:l l.m"}));
}

TEST_F(stage_structure, phases_are_stages) {
  const exec::RunReport told =
      report({{exec::RunReport::Phase::finished_before, 0, 0.5}, {exec::RunReport::Phase::running, 0.5, 2}});
  std::vector<std::string> phases;
  for (const exec::RunReport::Phase& p : told.phases())
    phases.push_back(fmt::format("{} {} {}: {}", exec::RunReport::Phase::State_Name(p.state()), p.start_seconds(),
                                 p.seconds(), fmt::join(p.nodes(), " ")));
  EXPECT_EQ(phases, (std::vector<std::string>{"finished_before 0 0.5: a f s", "running 0.5 2: s g w t",
                                              "waiting 0 0: t", "waiting 0 0: l", "waiting 0 0: v"}));
  EXPECT_FALSE(told.phases(0).has_memory_bytes());
}

}  // namespace
}  // namespace flowrun::cluster
