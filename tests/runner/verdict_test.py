#!/usr/bin/env python3
"""Jobs that are built to be bound by one thing, and what their reports say bounded them.

    verdict_test.py FLOWRUN SLOW_DISK_LIBRARY
"""

import json
import pathlib
import sys

from flowrun_process import main, process_test

SLOW_DISK = str(pathlib.Path(sys.argv.pop(1)).resolve())


class verdict(process_test):
    def limit_of(self, nodes, *options, slow=None, rate=0, pipe=None):
        self.write("job.yaml", "flowrun: 1\nname: bound\nnodes:\n" + nodes)
        if slow:
            self.environment |= {"LD_PRELOAD": SLOW_DISK, "SLOW_DISK": str((self.dir / slow).resolve()), "SLOW_DISK_RATE": str(rate)}
        command = ["run", "job.yaml", "--backend", "threads", "--report", "r.json", *options]
        if pipe:
            done = self.shell(pipe.replace("FLOWRUN", '"$0" ' + " ".join(command)))
        else:
            done = self.flowrun(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((self.dir / "r.json").read_text())
        said = done.stderr if isinstance(done.stderr, str) else done.stderr.decode()
        self.assertIn("bound by " + report["verdict"], said)
        return report["limit"], report["verdict"]

    def limit_with_a_core(self, *arguments):
        """Of a job that needs one all the time. Where others have it, nothing bounds the job: then it runs again."""
        for _ in range(4):
            found, said = self.limit_of(*arguments)
            if found["kind"] != "nothing":
                break
        return found, said

    SORT = """  in: {op: generate, with: {kind: random, rows: ROWS}}
  s: {op: sort, in: in, with: {by: [value]}}
  out: {op: file.write_rows, in: s, with: {path: out.bin}}
"""

    def test_a_scratch_disk(self):
        (self.dir / "slow").mkdir()
        found, said = self.limit_of(self.SORT.replace("ROWS", "1500000"), "-m", "8MiB", "-T", "slow", "-j", "2",
                                    slow="slow", rate=12e6)
        self.assertEqual(found["kind"], "disk", said)
        self.assertTrue(found["name"].endswith("slow"), said)
        self.assertGreater(found["share"], 0.6)
        self.assertRegex(said, r"-m \d+MiB instead of 8.00 MiB|-T ")
        self.assertGreater(found["gain"], 0.2)

    def test_memory_that_costs_merge_passes(self):
        (self.dir / "slow").mkdir()
        found, said = self.limit_of(self.SORT.replace("ROWS", "4000000"), "-m", "4MiB", "-T", "slow", "-j", "1",
                                    "--block-size", "128KiB", slow="slow", rate=40e6)
        self.assertEqual((found["kind"], found["name"]), ("memory", "s"), said)
        self.assertRegex(said, r"needed \d merge passes.*-m \d+MiB instead of 4.00 MiB")
        self.assertGreater(found["gain"], 0.2)

    def test_an_output_file(self):
        nodes = """  in: {op: generate, with: {rows: 2000000, columns: {k: i}}}
  out: {op: file.write_rows, in: in, with: {path: slow/out.bin}}
"""
        (self.dir / "slow").mkdir()
        found, said = self.limit_of(nodes, slow="slow", rate=10e6)
        self.assertEqual((found["kind"], found["name"]), ("output", "slow/out.bin"), said)
        self.assertIn(".zst", said)

    def test_an_input_file(self):
        nodes = """  in: {op: file.read_rows, with: {path: slow/in.bin, type: {k: u64}}}
  r: {op: reduce, in: in, with: {let: {n: count()}}}
  out: {op: file.write_csv, in: r, with: {path: out.csv}}
"""
        self.write("slow/in.bin", bytes(16_000_000))
        found, said = self.limit_of(nodes, slow="slow", rate=10e6)
        self.assertEqual((found["kind"], found["name"]), ("input", "slow/in.bin"), said)
        self.assertIn("the node 'in' waited for it", said)

    def test_a_pipe(self):
        nodes = """  in: {op: file.read_lines, with: {path: "-"}}
  r: {op: reduce, in: in, with: {let: {n: count()}}}
  out: {op: file.write_csv, in: r, with: {path: out.csv}}
"""
        found, said = self.limit_of(nodes, pipe="(for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.25; done) | FLOWRUN")
        self.assertEqual((found["kind"], found["name"]), ("input", "standard input"), said)
        self.assertIn("what writes to it faster", said)

    def test_one_node(self):
        nodes = """  in: {op: generate, with: {rows: 6000000, columns: {k: i}}}
  s: {op: scan, in: in, with: {state: {a: 0.5}, set: {a: "log(1.0 + exp(pow(abs(a), 0.3)) + sqrt(f64(k)))"}, emit: {a: a}}}
  r: {op: reduce, in: s, with: {let: {n: max(a)}}}
  out: {op: file.write_csv, in: r, with: {path: out.csv}}
"""
        found, said = self.limit_of(nodes, "-j", "4")
        self.assertEqual((found["kind"], found["name"]), ("node", "s"), said)
        self.assertIn("one thread at a time", said)

    def test_the_processor(self):
        nodes = """  in: {op: generate, with: {rows: 8000000, columns: {k: i}}}
  m: {op: map, in: in, with: {a: "log(1.0 + exp(pow(f64(k), 0.1)) + sqrt(f64(k))) + pow(f64(k), 0.7)"}}
  r: {op: reduce, in: m, with: {let: {n: max(a)}}}
  out: {op: file.write_csv, in: r, with: {path: out.csv}}
"""
        found, said = self.limit_with_a_core(nodes, "-j", "1")
        self.assertEqual(found["kind"], "processor", said)
        self.assertIn("by the node 'm'", said)

    def test_a_body_of_a_loop(self):
        nodes = """  in: {op: generate, with: {rows: 200000, columns: {k: "f64(i)"}}}
  l:
    op: loop
    in: {start: in}
    with:
      carry: {x: {from: start}}
      times: 12
      body:
        m: {op: map, in: x, with: {k: "log(1.0 + exp(pow(abs(k), 0.1)) + pow(abs(k), 0.3) + pow(abs(k + 1.5), 0.33)) + log(1.0 + exp(pow(abs(k), 0.2)) + pow(abs(k), 0.4) + pow(abs(k + 2.5), 0.34)) + log(1.0 + exp(pow(abs(k), 0.1)) + pow(abs(k), 0.6) + pow(abs(k + 1.5), 0.36)) + log(1.0 + exp(pow(abs(k), 0.2)) + pow(abs(k), 0.7) + pow(abs(k + 2.5), 0.37))"}}
      next: {x: m}
  out: {op: file.write_rows, in: l.x, with: {path: out.bin}}
"""
        found, said = self.limit_with_a_core(nodes, "-j", "1", "-m", "64MiB")
        self.assertEqual((found["kind"], found["name"]), ("processor", "l.m"), said)

    def test_who_reads_the_output(self):
        nodes = """  in: {op: generate, with: {rows: 150000, columns: {k: i}}}
  out: {op: file.write_rows, in: in, with: {path: "-"}}
"""
        slow_reader = "python3 -c 'import os, time\nwhile os.read(0, 65536): time.sleep(0.1)'"
        found, said = self.limit_of(nodes, pipe=f"FLOWRUN | {slow_reader}")
        self.assertEqual((found["kind"], found["name"]), ("output", "standard output"), said)
        self.assertIn("what reads from it faster", said)

    def test_a_merge_that_waits_for_its_output(self):
        (self.dir / "slow").mkdir()
        found, said = self.limit_of(self.SORT.replace("ROWS", "2000000").replace("out.bin", "slow/out.bin"), "-m", "16MiB",
                                    "-T", "scratch", slow="slow", rate=8e6)
        self.assertEqual((found["kind"], found["name"]), ("output", "slow/out.bin"), said)
        self.assertGreater(found["share"], 0.6)

    def test_what_compresses_an_output(self):
        nodes = """  in: {op: generate, with: {rows: 600000, columns: {k: "rand(1, i) % 1000000"}}}
  out: {op: file.write_csv, in: in, with: {path: out.csv.xz}}
"""
        found, said = self.limit_of(nodes, "-j", "2")
        self.assertIn(found["kind"], ("node", "processor"), said)
        self.assertIn("'out'", said)

    def test_a_short_run(self):
        found, said = self.limit_of(self.SORT.replace("ROWS", "10"))
        self.assertEqual(found["kind"], "nothing", said)


main()
