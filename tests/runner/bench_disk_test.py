#!/usr/bin/env python3
"""flowrun bench-disk: what it says holds together, what it saves is read again, and nothing stays in the directories.
How fast this machine is doesn't matter here."""

import json
import resource
import signal
import time

from flowrun_process import SORT, main, process_test

TINY = ("--file-size", "8MiB", "--time", "0.02")
CONFIG = "home/.config/flowrun/config.yaml"


class bench_test(process_test):
    def setUp(self):
        super().setUp()
        self.home_config = self.dir / CONFIG
        for name in ("a", "b"):
            (self.dir / name).mkdir()

    def bench(self, *arguments, **more):
        return self.flowrun("bench-disk", *TINY, *arguments, **more)

    def measured(self, *arguments):
        done = self.bench(*arguments, "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.files("a") + self.files("b"), [])
        return json.loads(done.stdout)


class result_test(bench_test):
    def check_speed(self, speed, pattern):
        self.assertGreater(speed["bytes_per_second"], 0)
        both = speed["read_bytes_per_second"] + speed["write_bytes_per_second"]
        self.assertAlmostEqual(both, speed["bytes_per_second"], delta=2)
        self.assertEqual(speed["read_bytes_per_second"] > 0, pattern != "write")
        self.assertEqual(speed["write_bytes_per_second"] > 0, pattern != "read")

    def test_one_directory(self):
        found = self.measured("a", "--block-sizes", "64KiB,128KiB", "--depths", "4,1,2,4")
        self.assertIn(found["backend"], ("io_uring", "threads"))
        self.assertEqual(found["seconds"], 0.02)
        self.assertIsNone(found["saved"])
        (a,) = found["directories"]
        self.assertEqual((a["path"], a["file_bytes"], a["shares_disk_with"]), ("a", 8 << 20, []))
        self.assertIsInstance(a["direct"], bool)
        points = [(m["pattern"], m["block_bytes"], m["depth"]) for m in a["measurements"]]
        block, depth = found["suggestion"]["block_bytes"], found["suggestion"]["depth"]
        sweep = [("mixed", 65536, 4), ("mixed", 131072, 4), ("mixed", block, 1), ("mixed", block, 2)]
        self.assertEqual(points, sweep + [(p, block, depth) for p in ("read", "write", "mixed")])
        for m in a["measurements"]:
            self.check_speed(m, m["pattern"])
        for pattern in ("read", "write", "mixed"):
            self.check_speed(a[pattern], pattern)
            self.assertEqual(found["together"][pattern]["bytes_per_second"], a[pattern]["bytes_per_second"])
            self.assertEqual(found["together"][pattern]["ratio"], 1)
        self.assertAlmostEqual(a["weight"] * 1e6, a["mixed"]["bytes_per_second"], delta=1)
        self.check_suggestion(found)

    def check_suggestion(self, found):
        """The smallest value that reaches 95 % of the best sum."""
        block, depth = found["suggestion"]["block_bytes"], found["suggestion"]["depth"]
        sizes, depths = {}, {}
        for directory in found["directories"]:
            first_depth = directory["measurements"][0]["depth"]
            for m in directory["measurements"][:-3]:
                if m["depth"] == first_depth:
                    sizes[m["block_bytes"]] = sizes.get(m["block_bytes"], 0) + m["bytes_per_second"]
                if m["block_bytes"] == block:
                    depths[m["depth"]] = depths.get(m["depth"], 0) + m["bytes_per_second"]
        for chosen, values in ((block, sizes), (depth, depths)):
            enough = 0.95 * max(values.values())
            self.assertEqual(chosen, min(v for v, speed in values.items() if speed >= enough))
        gib = 2**30
        together = {pattern: t["bytes_per_second"] for pattern, t in found["together"].items()}
        bound = found["overlapped_bound"]
        self.assertAlmostEqual(
            bound["written_then_read_seconds_per_gib"] / (gib / together["write"] + gib / together["read"]), 1, 4
        )
        self.assertAlmostEqual(bound["read_and_written_seconds_per_gib"] / (2 * gib / together["mixed"]), 1, 4)

    def test_two_directories_of_one_disk(self):
        done = self.bench("a", "b", "--format", "json", "--block-sizes", "128KiB", "--depths", "1,2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: a and b share a disk: their bandwidths won't add up", done.stderr)
        found = json.loads(done.stdout)
        a, b = found["directories"]
        self.assertEqual((a["shares_disk_with"], b["shares_disk_with"]), (["b"], ["a"]))
        for pattern, together in found["together"].items():
            alone = a[pattern]["bytes_per_second"] + b[pattern]["bytes_per_second"]
            self.assertAlmostEqual(together["sum_bytes_per_second"], alone, delta=2)
            self.assertAlmostEqual(together["ratio"], together["bytes_per_second"] / alone, 4)
            self.check_speed(together, pattern)
        self.assertAlmostEqual(a["weight"] * 2e6, a["mixed"]["bytes_per_second"], delta=2)
        self.assertEqual([w["path"] for w in found["suggestion"]["weights"]], [str(self.dir / "a"), str(self.dir / "b")])
        self.check_suggestion(found)

    def test_text(self):
        done = self.bench("a", "b", "--backend", "threads")
        self.assertEqual(done.returncode, 0, done.stderr)
        for part in (
            "a: a file of 8.00 MiB, ",
            ", threads\n",
            "pattern block size depth",
            "all together, ",
            "suggested\n  block size ",
            "overlapped bound, for each GiB sorted",
            "resources:\n  scratch:\n    - path: " + str(self.dir / "a") + "\n      weight: ",
        ):
            self.assertIn(part, done.stdout)
        self.assertFalse(self.home_config.exists())
        snippet = done.stdout[done.stdout.index("resources:") :]
        self.write("job.yaml", SORT.replace("nodes:", snippet + "nodes:"))
        done = self.flowrun("check", "job.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_values_that_do_not_fit_into_the_file_are_left_out(self):
        found = self.measured("a", "--file-size", "2MiB")
        sizes = {m["block_bytes"] for m in found["directories"][0]["measurements"]}
        self.assertEqual(sizes, {128 << 10})
        self.assertEqual(max(m["depth"] for m in found["directories"][0]["measurements"]), 8)

    def test_quick_takes_less(self):
        self.assertEqual(
            json.loads(
                self.flowrun(
                    "bench-disk", "a", "--quick", "--file-size", "4MiB", "--block-sizes", "64KiB", "--depths", "1",
                    "--format", "json",
                ).stdout
            )["seconds"],
            0.3,
        )  # fmt: skip


class save_test(bench_test):
    def test_a_first_configuration_is_read_by_jobs(self):
        found = self.measured("a", "b", "--save")
        self.assertEqual(found["saved"], str(self.home_config))
        self.assertEqual(self.files("home"), [".config/flowrun/config.yaml"])
        self.write("job.yaml", SORT)
        told = self.flowrun("job.yaml", "-v")
        self.assertEqual(told.returncode, 0, told.stderr)
        for name in ("a", "b"):
            self.assertRegex(told.stderr, rf"scratch {self.dir}/{name}, weight [\d.e+]+ \({self.home_config}\)")
        self.assertIn(f"disks: depth {found['suggestion']['depth']}, ", told.stderr)
        self.assertIn(f"block_size: {found['suggestion']['block_bytes'] >> 10}KiB".replace("1024KiB", "1MiB"),
                      self.home_config.read_text())  # fmt: skip

    def test_what_else_it_says_stays(self):
        old = (
            "# my machine\nresources:\n  memory: 50%   # half\n  threads: 3\n  io_order: arrival\n"
            f"  scratch: [{{path: {self.dir}/b/../b/, limit: 300GB, weight: 7}}, /nowhere]\n  depth: 999\n"
            "plugins: [/opt/plugins, 'odd: one']\n"
        )
        self.write(CONFIG, old)
        done = self.bench("a", "b", "--save")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"what it said before is kept in {self.home_config}.bak", done.stderr)
        self.assertIn("no longer a scratch directory: /nowhere", done.stderr)
        self.assertEqual(self.files("home/.config/flowrun"), ["config.yaml", "config.yaml.bak"])
        self.assertEqual((self.dir / (CONFIG + ".bak")).read_text(), old)
        text = self.home_config.read_text()
        self.assertTrue(done.stdout.endswith(f"written to {self.home_config}:\n\n" + text))
        for part in ("\n  memory: 50%\n", "\n  threads: 3\n", "\n  io_order: arrival\n",
                     "\nplugins:\n  - /opt/plugins\n  - \"odd: one\"\n"):
            self.assertIn(part, text)
        self.assertRegex(text, rf"- path: {self.dir}/a\n      weight: [\d.]+\n    - path: {self.dir}/b\n"
                               r"      weight: [\d.]+\n      limit: 300GB\n  block_size: ")  # fmt: skip
        self.assertNotIn("999", text)
        self.write("job.yaml", SORT)
        told = self.flowrun("job.yaml", "-v")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertRegex(told.stderr, rf"scratch {self.dir}/b, at most 279 GiB, weight ")
        self.assertIn("arrival", told.stderr)

    def test_paths_that_need_quotes(self):
        odd = 'c: #"d\\" [é]'
        (self.dir / odd).mkdir()
        done = self.bench(odd, "--save", "--config", "elsewhere/own.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("flowrun reads ", done.stderr)
        self.environment["XDG_CONFIG_HOME"] = str(self.dir / "xdg")
        self.write("xdg/flowrun/config.yaml", (self.dir / "elsewhere/own.yaml").read_text())
        self.write("job.yaml", SORT)
        self.assertIn(f"scratch {self.dir}/{odd}, weight", self.flowrun("job.yaml", "-v").stderr)

    def test_a_link_stays_a_link(self):
        self.write("real.yaml", "resources: {threads: 2}\n")
        self.home_config.parent.mkdir(parents=True)
        self.home_config.symlink_to(self.dir / "real.yaml")
        self.measured("a", "--save")
        self.assertTrue(self.home_config.is_symlink())
        self.assertIn("  threads: 2\n", (self.dir / "real.yaml").read_text())
        self.assertEqual((self.dir / "real.yaml.bak").read_text(), "resources: {threads: 2}\n")

    def test_a_wrong_configuration_is_told_before_measuring(self):
        self.write(CONFIG, "resources: {memroy: 1GiB}\n")
        self.fails(78, self.flowrun("bench-disk", "a", "--save"), "config.yaml:1:13", "did you mean 'memory'?")
        self.assertEqual(self.files("home/.config/flowrun"), ["config.yaml"])

    def test_no_place_for_it(self):
        self.fails(73, self.flowrun("bench-disk", "a", "--save", "--config", "b"), "it is no file")
        self.fails(73, self.flowrun("bench-disk", "a", "--save", "--config", "/proc/x/config.yaml"), "/proc/x")
        del self.environment["HOME"]
        self.fails(73, self.flowrun("bench-disk", "a", "--save"), "no place for the configuration", "--config FILE")


class failure_test(bench_test):
    def test_wrong_command_lines(self):
        for arguments, parts in [
            ([], ["bench-disk needs a DIR"]),
            (["a", "./a"], ["a and ./a are the same directory"]),
            (["a", "--time", "0"], ["--time '0' is no time"]),
            (["a", "--time", "soon"], ["--time 'soon' is no time"]),
            (["a", "--file-size", "4KiB"], ["too little to measure", "1MiB at least"]),
            (["a", "--block-sizes", "128KiB,,1MiB"], ["has an empty item"]),
            (["a", "--block-sizes", "1000"], ["'1000' is no size of blocks", "a multiple of 4KiB"]),
            (["a", "--file-size", "1MiB", "--block-sizes", "4MiB"], ["don't fit into half of a file", "--file-size"]),
            (["a", "--depths", "0"], ["--depths is 0", "1 to 1024"]),
            (["a", "--format", "dot"], ["--format can't be 'dot'"]),
            (["a", "--backend", "memory"], ["--backend can't be 'memory'"]),
            (["a", "--config", "x.yaml"], ["--config without --save"]),
            (["a", "--qiuck"], ["did you mean '--quick'?"]),
        ]:
            with self.subTest(arguments=arguments):
                self.fails(64, self.flowrun("bench-disk", *arguments), "flowrun: error:", *parts)

    def test_no_such_directory(self):
        self.write("file", "x")
        self.fails(66, self.bench("a", "nowhere"), "can't measure nowhere: No such file or directory", "help:")
        self.fails(66, self.bench("file"), "can't measure file: it is no directory")

    def test_too_little_room(self):
        self.fails(75, self.flowrun("bench-disk", "a", "b", "--file-size", "1000TiB"), "too little room in a: 2 files of")
        self.fails(73, self.flowrun("bench-disk", "/proc"), "can't create a scratch file in /proc")

    def test_a_limit_on_file_sizes(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        self.fails(75, self.bench("a", preexec_fn=limited), "can't reserve 8.00 MiB", "ulimit -f")
        self.assertEqual(self.files("a"), [])

    def test_ctrl_c(self):
        bench = self.start("bench-disk", "a", "--file-size", "8MiB", "--time", "100", "--save", "-v")
        for line in bench.stderr:
            if "measuring a, mixed" in line:
                break
        sent = time.monotonic()
        bench.send_signal(signal.SIGINT)
        out, err = bench.communicate(timeout=60)
        self.assertEqual(bench.returncode, 130, err)
        self.assertLess(time.monotonic() - sent, 5)
        self.assertIn("stopped by a signal", err)
        self.assertEqual(out, "")
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    main()
