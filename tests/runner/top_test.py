#!/usr/bin/env python3
"""flowrun top: what it shows is what the page's document says, on any terminal, and whatever becomes of the job."""

import contextlib
import json
import pathlib
import re
import signal
import socket
import threading
import time

from flowrun_process import ENDLESS, SORT, main
from watching_process import terminal, watching_test


def document(**changes):
    """The state of a job that doesn't exist, whose numbers are easy to tell apart."""

    def node(name, op, role, rows, seconds, blocked=(0, 0, 0, 0), **more):
        return {"id": name, "op": op, "role": role, "rows": str(rows), "busy_seconds": seconds,
                "blocked_seconds": dict(zip(("io", "memory", "input", "output"), blocked)), **more}  # fmt: skip

    out = {
        "job": "far away", "status": "running", "format": 1, "version": "9.9.9", "threads": 3, "cpu_seconds": 25,
        "memory_budget_bytes": str(100 << 20), "actual": {"input_bytes": str(20 << 20), "output_bytes": str(10 << 20)},
        "live": {"elapsed_seconds": 10, "ratio": 0.437, "ratio_known": True, "phase": 1, "activity": "round: iteration 17",
                 "seconds_left": 65, "resident_bytes": str(64 << 20)},
        "phases": [{"state": "running", "nodes": ["rows", "round"], "memory_bytes": str(60 << 20), "batches_bytes": str(5 << 20),
                    "held_bytes": str(1 << 20)}, {"state": "waiting", "nodes": ["write"]}],
        "nodes": [node("rows", "generate", "source", 1234567, 4, (1, 2, 0.5, 0)), node("slim", "map", "stateless", 0, 0, fused_with="rows"),
                  node("round", "loop", "control", 0, 0, iterations="16"),
                  node("round.next", "filter", "stateless", 2500, 0.1, (0, 0, 0, 9.9), inside="round"),
                  node("write", "file.write_csv", "sink", 0, 0)],
        "memory": [{"node": "round", "part": "whole", "phase": 1, "given_bytes": str(50 << 20)},
                   {"node": "rows", "part": "intake", "phase": 1, "given_bytes": str(8 << 20)}],
        "disks": [{"path": "/scratch/a", "read_bytes": str(30 << 20), "written_bytes": str(50 << 20), "busy_seconds": 7, "read_operations": "40",
                   "write_operations": "60", "read_service_seconds": 10, "write_service_seconds": 15, "used_bytes": str(7 << 20),
                   "limit_bytes": str(70 << 20)}],
    }  # fmt: skip
    out.update(changes)
    return json.dumps({key: value for key, value in out.items() if value is not None})


class snapshot_test(watching_test):
    def rows(self, text):
        """The cells of each line of a table, by the first of them."""
        return {cells[0]: cells[1:] for cells in (re.split(r" {2,}", line) for line in text.splitlines()) if len(cells) > 1}

    def test_everything_that_the_document_says(self):
        done = self.flowrun("top", self.serve(document()), "--once")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        first, second = done.stdout.splitlines()[:2]
        self.assertEqual(first, "far away running   10.0 s   43 %   phase 1 of 2: round: iteration 17   1 min 05 s left")
        self.assertEqual(second, "123 k rows/s read   processor 2.5 of 3   memory 64.0 MiB, budget 100 MiB   "
                                 "files read 20.0 MiB, 2.00 MiB/s   written 10.0 MiB, 1.00 MiB/s")  # fmt: skip
        rows = self.rows(done.stdout)
        self.assertEqual(rows["rows"], ["generate", "1,234,567", "123 k", "40%", "10%", "20%", "5%", "0%"])
        self.assertEqual(rows["slim"], ["map in rows"])
        self.assertEqual(rows["round"][:2], ["loop, 16 iterations", "0"])
        self.assertEqual(rows["round.next"], ["filter", "2,500", "250", "1%", "0%", "0%", "0%", "99%"])
        self.assertEqual(rows["/scratch/a"], ["3.00 MiB/s", "5.00 MiB/s", "250 ms", "2.5", "70%", "7.00 MiB of 70.0 MiB"])
        self.assertIn("memory of phase 1, budget 100 MiB:   round 50.0 MiB   rows (intake) 8.00 MiB   batches on the way 5.00 MiB   "
                      "queues 2.00 MiB   kept from earlier phases 1.00 MiB   not given 34.0 MiB\n", done.stdout)  # fmt: skip

    def test_a_job_on_a_cluster(self):
        stages = [{"nodes": ["rows"], "tasks": 4, "attempts": 5, "phase": 1, "median_seconds": 1.5, "slowest_seconds": 2},
                  {"nodes": ["round.next"], "inside": "round", "tasks": 40, "tasks_done": 31, "tasks_at_work": 2, "attempts": 33, "phase": 2,
                   "median_seconds": 0.5, "slowest_seconds": 7}]  # fmt: skip
        phases = [{"state": "finished", "nodes": ["rows"]}, {"state": "running", "nodes": ["round"]}, {"state": "waiting", "nodes": ["write"]}]
        state = json.loads(document(stages=stages, phases=phases, memory=None, disks=None, threads=None, memory_budget_bytes=None))
        state["live"]["phase"] = 2
        done = self.flowrun("top", self.serve(json.dumps(state)), "--once")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        first, second = done.stdout.splitlines()[:2]
        self.assertIn("   stage 2 of 3: round: iteration 17   ", first)
        self.assertIn("   processor 2.5   memory 64.0 MiB   files read", second)  # of how many is not known
        below = done.stdout.split("\n\n")[-1]
        rows = self.rows(below)
        self.assertEqual(rows["nodes"], ["stage", "tasks", "done", "at work", "waiting", "attempts", "median", "slowest"])
        self.assertEqual(rows["rows"], ["1", "4", "4", "5", "1.5 s", "2.0 s"])
        self.assertEqual(rows["round.next"], ["2", "40", "31", "2", "7", "33", "500 ms", "7.0 s"])
        del state["live"]["resident_bytes"]
        done = self.flowrun("top", self.serve(json.dumps(state)), "--once")
        self.assertIn("memory not known ", done.stdout)
        del state["live"]
        state.update(status="succeeded", peak_memory_bytes=str(32 << 20), wall_seconds=10)
        done = self.flowrun("top", self.serve(json.dumps(state)), "--once")
        self.assertIn("memory at most 32.0 MiB a task ", done.stdout)

    def test_a_job_at_work(self):
        job = self.held()
        self.pipe.write("".join(f"{x}\n" for x in range(1000)))
        self.pipe.flush()
        state = self.until_state(lambda s: s["live"]["phase"] == 1)
        for address in (self.port, f":{self.port}", f"127.0.0.1:{self.port}", f"localhost:{self.port}", f"http://127.0.0.1:{self.port}/"):
            done = self.flowrun("top", address)  # no terminal: one snapshot
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith("held running   "), done.stdout)
            self.assertNotIn("%", done.stdout.split("phase")[0])  # of a pipe nobody knows how much is still to come
            self.assertEqual({n["id"] for n in state["nodes"]} - set(self.rows(done.stdout)), set())
        self.assertNotIn("\033", done.stdout)
        self.pipe.close()
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0)

    def test_addresses_that_are_none(self):
        for word in ("here", "127.0.0.1:", "127.0.0.1:0", "1:2:3", "70000", "[::1", "[::1]:9465", "http://", "http://a:1/page", "a b:9", "https://127.0.0.1:9465"):
            self.fails(64, self.flowrun("top", word), "is no address of a job's page", "http://127.0.0.1:9465/")
        self.fails(64, self.flowrun("top", "1", "2"), "unexpected argument")

    def test_nobody_listens(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            port = other.getsockname()[1]
        self.fails(66, self.flowrun("top", port), f"no job serves its page at 127.0.0.1:{port}", "refused", "--ui")

    def test_something_else_listens(self):
        def missing(handler):
            handler.send_error(404)

        def missing_and_cut(handler):
            handler.send_response(404)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()

        for answer, why in ((missing, "404"), (missing_and_cut, "404"), ("<html>", "not the state"), ("{}", "not the state"), ("[1]", "not the state")):
            self.fails(65, self.flowrun("top", self.serve(answer)), "is no page of a job", why, "printed at its start")

    def test_another_version_of_the_document(self):
        done = self.flowrun("top", self.serve(document(format=2)))
        self.fails(65, done, "speaks format 2", "knows format 1", "use flowrun 9.9.9")
        self.fails(65, self.flowrun("top", self.serve(document(format=None, version=None))), "speaks format 0")

    def test_an_answer_that_is_cut_off_or_never_comes(self):
        def cut(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(b"{")

        def silent(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(b"{")
            handler.wfile.flush()
            time.sleep(20)

        self.fails(74, self.flowrun("top", self.serve(cut)), "doesn't answer", "cut off")
        begun = time.monotonic()
        self.fails(74, self.flowrun("top", self.serve(silent)), "doesn't answer", "5 seconds")
        self.assertLess(time.monotonic() - begun, 15)

    def test_names_move_no_cursor(self):
        text = document(job="caf\u00e9 \033[2J\u009b2J", nodes=[])
        self.assertTrue(self.flowrun("top", self.serve(text)).stdout.startswith("caf\u00e9 ?[2J?2J running"))
        self.environment["LC_ALL"] = "C"
        self.assertTrue(self.flowrun("top", self.serve(text)).stdout.startswith("caf? ?[2J?2J running"))


class terminal_test(watching_test):
    def endless(self):
        self.write("job.yaml", SORT)
        return self.watched("-p", f"rows={ENDLESS}", "-m", "32MiB", "-T", "scratch")

    def test_it_is_drawn_each_second_and_left_by_a_key(self):
        self.endless()
        seen = terminal(self, "top", self.port)
        seen.until(r"(\033\[H.*){3}")
        seen.keys("xyz")
        seen.keys("q")
        self.assertEqual(seen.ended(), 0)
        self.assertTrue(seen.restored(), seen.text)
        for screen in seen.screens():
            self.assertTrue(screen[0].startswith("sorting running"), screen)
            self.assertLessEqual(len(screen), 24)
            self.assertTrue(any(line.startswith("drawn ") for line in screen), screen)
        self.assertIn("\033[1m", seen.text)

    def test_signals(self):
        self.endless()
        for how, code in (("\x03", 0), (signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            seen = terminal(self, "top", self.port)
            seen.until(r"\033\[H")
            if isinstance(how, str):
                seen.keys(how)
            else:
                seen.signal(how)
            self.assertEqual(seen.ended(), code, how)
            self.assertTrue(seen.restored(), seen.text)

    def test_signals_are_for_the_thread_that_draws(self):
        """One that another thread takes ends the process and leaves the terminal as it is."""
        asked, over = threading.Event(), threading.Event()
        self.addCleanup(over.set)

        def once(handler):
            if asked.is_set():
                over.wait(60)
                return
            asked.set()
            body = document().encode()
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

        seen = terminal(self, "top", self.serve(once))
        seen.until(r"\033\[H")
        pid, end = seen.child(), time.monotonic() + 30
        while "flowrun-page\n" not in (names := self.blocked_by_thread(pid)) and time.monotonic() < end:
            seen.read()
        self.assertTrue(names["flowrun-page\n"] >> (signal.SIGINT - 1) & 1, names)
        seen.signal(signal.SIGINT)
        self.assertEqual(seen.ended(), 0)
        self.assertTrue(seen.restored(), seen.text)

    @staticmethod
    def blocked_by_thread(pid):
        """Masks of the signals that threads block, by the threads' names."""
        out = {}
        for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                mask = re.search(r"SigBlk:\t(\w+)", (thread / "status").read_text())[1]
                out[(thread / "comm").read_text()] = int(mask, 16)
        return out

    def test_small_terminals(self):
        self.environment["NO_COLOR"] = "1"
        for columns, lines in ((20, 12), (1, 1), (9, 3), (200, 60)):
            port = self.serve(document())
            seen = terminal(self, "top", port, columns=columns, lines=lines)
            seen.until(r"\033\[J")
            seen.keys("q")
            self.assertEqual(seen.ended(), 0)
            self.assertNotRegex(seen.text, r"\033\[[0-9;]*m")
            for screen in seen.screens():
                self.assertLessEqual(len(screen), lines)
                self.assertLessEqual(max(map(len, screen)), columns, screen)
            if columns == 20:
                self.assertTrue(any(re.fullmatch(r"rows .*", line) for line in seen.screens()[0]), seen.screens()[0])

    def test_figures_are_whole_where_lines_are_short(self):
        self.environment["NO_COLOR"] = "1"
        wide, narrow = (terminal(self, "top", self.serve(document()), columns=c, lines=100) for c in (200, 20))
        for seen in (wide, narrow):
            seen.until(r"\033\[J")
            seen.keys("q")
            self.assertEqual(seen.ended(), 0)
        self.assertLessEqual(max(map(len, narrow.screens()[0])), 20)
        figures = r"(?:memory|budget|files read|written) [0-9.]+ [KMG]?i?B\b"
        told = set(re.findall(figures, "\n".join(wide.screens()[0])))
        self.assertGreater(len(told), 2)
        self.assertEqual(set(re.findall(figures, " ".join(narrow.screens()[0]))), told)
        for line in narrow.screens()[0]:
            self.assertNotRegex(line, r"\d $|^[KMG]iB")

    def test_the_window_changes(self):
        seen = terminal(self, "top", self.serve(document()), columns=100, lines=30)
        seen.until(r"\033\[J")
        seen.size(30, 10)
        begun = time.monotonic()
        while not (seen.screens() and max(map(len, seen.screens()[-1])) <= 30):
            self.assertLess(time.monotonic() - begun, 20)
            seen.read()
        self.assertLessEqual(len(seen.screens()[-1]), 10)
        seen.keys("q")
        self.assertEqual(seen.ended(), 0)

    def test_more_nodes_than_lines(self):
        nodes = [{"id": f"n{i}", "op": "map", "role": "stateless", "rows": "1", "busy_seconds": i % 50 / 10} for i in range(300)]
        seen = terminal(self, "top", self.serve(document(nodes=nodes)))
        seen.until(r"\033\[J")
        seen.keys("q")
        self.assertEqual(seen.ended(), 0)
        screen = seen.screens()[0]
        self.assertLessEqual(len(screen), 24)
        self.assertRegex("\n".join(screen), r"\n\(29\d more nodes\)\n")
        self.assertTrue(any(line.startswith("n49 ") for line in screen), screen)

    def test_the_end_of_the_job(self):
        job = self.held()
        seen = terminal(self, "top", self.port)
        seen.until(r"held running.*\033\[J")
        self.pipe.write("4\n2\n")
        self.pipe.close()
        job.communicate(timeout=60)
        self.assertEqual(seen.ended(), 0)
        self.assertTrue(seen.restored())
        last = seen.text.split("\033[?1049l")[1]
        self.assertRegex(last, r"held succeeded .*\s+bound by ")
        self.assertRegex(last, r"write +file.write_csv +2 ")

    def test_the_end_of_a_job_that_fails(self):
        job = self.held()
        seen = terminal(self, "top", self.port, columns=200)
        seen.until(r"held running.*\033\[J")
        self.pipe.write("4\nno number\n")
        self.pipe.close()
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 65)
        self.assertEqual(seen.ended(), 0)
        last = seen.text.split("\033[?1049l")[1]
        self.assertIn("held failed", last)
        self.assertIn("error: pipe", last)

    def test_a_job_that_is_killed(self):
        job = self.endless()
        seen = terminal(self, "top", self.port)
        seen.until(r"\033\[J")
        job.kill()
        self.assertEqual(seen.ended(), 74)
        self.assertTrue(seen.restored())
        self.assertIn("can't be reached any more", seen.text)
        self.assertIn("sorting running", seen.text.split("\033[?1049l")[1])

    def test_a_job_that_is_stopped_for_a_while(self):
        job = self.endless()
        seen = terminal(self, "top", self.port)
        seen.until(r"\033\[J")
        job.send_signal(signal.SIGSTOP)
        seen.until("the job doesn't answer")
        job.send_signal(signal.SIGCONT)
        seen.text = seen.text[seen.text.rfind("doesn't answer") :]
        seen.until(r"\033\[H(?:(?!doesn't answer).)*\033\[J")
        seen.keys("q")
        self.assertEqual(seen.ended(), 0)


if __name__ == "__main__":
    main()
