#!/usr/bin/env python3
"""What the report says about a run beside its counters: when, where and with what it ran, its phases, and the shape of
its graph, so that the run can be drawn."""

import datetime
import socket

from flowrun_process import SORT, main, process_test

DIAMOND = """flowrun: 1
nodes:
  rows: {op: generate, with: {rows: 1000, columns: {x: i, y: i % 7}}}
  even: {op: filter, in: rows, with: {where: "x % 2 == 0"}}
  odd: {op: filter, in: rows, with: {where: "x % 2 == 1"}}
  all: {op: concat, in: [even, odd]}
  sum: {op: reduce, in: all, with: {let: {n: "count()"}}}
"""

LOOP = """flowrun: 1
nodes:
  start: {op: generate, with: {rows: 20, columns: {x: i}}}
  round:
    op: loop
    in: {start: start}
    with:
      carry: {rows: {from: start}}
      body:
        next: {op: map, in: rows, with: {x: x + 1}}
        small: {op: filter, in: next, with: {where: "x < 15"}}
        sorted: {op: sort, in: small, with: {by: [-x]}}
      next:  {rows: sorted}
      times: 3
  write: {op: file.write_rows, in: round.rows, with: {path: out}}
"""


class report_structure_test(process_test):
    def report_of(self, job, *arguments):
        self.write("job.yaml", job)
        done = self.flowrun("job.yaml", "-q", "--report", "report.json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.report()

    def edges(self, report):
        return {(e["from"], e["from_port"], e["to"], e["to_port"]): e for e in report["edges"]}

    def test_when_where_and_with_what(self):
        before = datetime.datetime.now(datetime.timezone.utc)
        report = self.report_of(SORT, "-p", "rows=2000")
        after = datetime.datetime.now(datetime.timezone.utc)
        start, end = (datetime.datetime.fromisoformat(report[key].replace("Z", "+00:00")) for key in ("start", "end"))
        second = datetime.timedelta(seconds=1)
        self.assertTrue(before - second <= start <= end <= after + second, (before, start, end, after))
        self.assertAlmostEqual((end - start).total_seconds(), report["wall_seconds"], delta=0.01)
        self.assertEqual(report["host"], socket.gethostname())
        self.assertEqual(report["format"], 1)
        self.assertIn("flowrun " + report["version"], self.flowrun("version").stdout)
        self.assertEqual(report["parameters"], [{"name": "rows", "value": "2000"}])
        self.assertNotIn("live", report)

    def test_parameters_from_the_environment_stay_masked(self):
        job = SORT.replace("params: {", 'params: {long: {type: string, default: "${env:LONG}"}, short: {type: string, default: "${env:SHORT}"}, ')
        self.environment.update(LONG="a-long-secret", SHORT="xy")
        report = self.report_of(job)
        values = {p["name"]: p["value"] for p in report["parameters"]}
        self.assertEqual(values, {"long": "${env:LONG}", "short": "${env:SHORT}", "rows": "1000"})
        self.assertNotIn("a-long-secret", (self.dir / "report.json").read_text())

    def test_phases(self):
        report = self.report_of(SORT, "-p", "rows=300000")
        self.assertEqual([phase["state"] for phase in report["phases"]], ["finished", "finished"])
        self.assertEqual([phase["nodes"] for phase in report["phases"]], [["drawn", "sorted"], ["sorted", "out"]])
        first, second = report["phases"]
        self.assertGreaterEqual(second["start_seconds"], first["start_seconds"] + first["seconds"])
        self.assertLessEqual(second["start_seconds"] + second["seconds"], report["wall_seconds"])
        for phase in report["phases"]:
            given = sum(int(phase[key]) for key in ("memory_bytes", "batches_bytes", "held_bytes"))
            self.assertTrue(0 < given <= int(report["memory_budget_bytes"]))
        shares = {(m["node"], m["part"], m["phase"]) for m in report["memory"]}
        self.assertLessEqual({("sorted", "intake", 1), ("sorted", "work", 2)}, shares)

    def test_a_phase_that_fails(self):
        self.write("bad.csv", "x\n1\nno\n")
        self.write(
            "job.yaml",
            """flowrun: 1
nodes:
  read: {op: file.read_csv, with: {path: bad.csv, header: true, type: {x: u64}}}
  sorted: {op: sort, in: read, with: {by: [x]}}
  write: {op: file.write_csv, in: sorted, with: {path: out.csv}}
""",
        )
        self.assertEqual(self.flowrun("job.yaml", "-q", "--report", "report.json").returncode, 65)
        report = self.report()
        self.assertEqual([phase["state"] for phase in report["phases"]], ["stopped", "waiting"])
        self.assertNotEqual(report["end"], "")

    def test_edges_and_pipelines(self):
        report = self.report_of(SORT, "-p", "rows=5000")
        edges = self.edges(report)
        self.assertEqual(set(edges), {("drawn", "out", "sorted", "in"), ("sorted", "out", "out", "in")})
        for edge in edges.values():
            self.assertEqual((edge["kind"], edge["rows"], edge["bytes"]), ("stream", "5000", "40000"))
        self.assertEqual([p["nodes"] for p in report["pipelines"]], [["drawn", "sorted"], ["sorted", "out"]])
        self.assertEqual([p["phase"] for p in report["pipelines"]], [1, 2])
        self.assertEqual({n["id"]: n["role"] for n in report["nodes"]}, {"drawn": "source", "sorted": "breaker", "out": "sink"})

    def test_branches_that_meet(self):
        report = self.report_of(DIAMOND)
        edges = self.edges(report)
        self.assertEqual(edges["rows", "out", "even", "in"]["rows"], "1000")
        into = {key[0]: edge for key, edge in edges.items() if key[2] == "all"}
        self.assertEqual({name: edge["rows"] for name, edge in into.items()}, {"even": "500", "odd": "500"})
        self.assertTrue(all(edge["kind"] in ("queue", "spilling") for edge in into.values()))

    def test_a_loop(self):
        report = self.report_of(LOOP)
        nodes = {node["id"]: node for node in report["nodes"]}
        self.assertEqual((nodes["round"]["role"], nodes["round"]["iterations"]), ("control", "3"))
        self.assertEqual({nodes[id]["inside"] for id in ("round.next", "round.small", "round.sorted")}, {"round"})
        edges = {(e["from"], e["to"]): e for e in report["edges"]}
        self.assertEqual(edges["round", "round.next"]["from_port"], "rows")
        self.assertIn(("round.sorted", "round"), edges)
        self.assertIn(("round", "write"), edges)
        ids = set(nodes)
        for edge in report["edges"]:
            self.assertLessEqual({edge["from"], edge["to"]}, ids)
        inside = [p["nodes"] for p in report["pipelines"] if p["inside"] == "round"]
        self.assertIn(["round.next", "round.small", "round.sorted"], inside)


if __name__ == "__main__":
    main()
