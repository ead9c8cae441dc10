"""What tests of the commands that follow a running job share: jobs that wait for their input, servers that are no job, and a terminal."""

import fcntl
import http.server
import json
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import termios
import threading
import time

import flowrun_process
from flowrun_process import process_test

# Held by its input: a FIFO whose writer has not closed it.
HELD = """flowrun: 1
name: held
nodes:
  read: {op: file.read_csv, with: {path: pipe, header: false, type: {x: u64}}}
  even: {op: filter, in: read, with: {where: "x % 2 == 0"}}
  sorted: {op: sort, in: even, with: {by: [-x]}}
  write: {op: file.write_csv, in: sorted, with: {path: out.csv}}
"""


# The terminal is hung up with the leader of its session. So that is a shell, which says how the terminal was left.
LEADER = """trap : INT
stty -g > before
"$0" "$@"
code=$?
stty -g > after
exit $code"""


class terminal:
    """A terminal with a flowrun in it. `text` is what it has written."""

    def __init__(self, test, *words, columns=80, lines=24):
        self.master, self.slave = pty.openpty()
        test.addCleanup(os.close, self.master)
        test.addCleanup(os.close, self.slave)
        self.size(columns, lines)
        self.dir = test.dir
        self.process = subprocess.Popen(
            ["sh", "-c", LEADER, flowrun_process.FLOWRUN, *map(str, words)],
            cwd=test.dir, env=test.environment, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        self.text = ""

    def size(self, columns, lines):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, seconds=0.05):
        while select.select([self.master], [], [], seconds)[0]:
            self.text += os.read(self.master, 1 << 16).decode(errors="replace")

    def until(self, pattern, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.read()
            if re.search(pattern, self.text, re.DOTALL):
                return
        raise AssertionError(f"{pattern!r} never came: {self.text!r}")

    def keys(self, text):
        os.write(self.master, text.encode())

    def child(self):
        """The process of the flowrun in it."""
        shell = self.process.pid
        return int(pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text())

    def signal(self, number):
        os.kill(self.child(), number)

    def ended(self, seconds=30):
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read()  # or it could wait for room in the terminal
        self.read()
        return self.process.poll()

    def restored(self):
        """Whether the terminal is as it was: its settings, its screen, its cursor."""
        return (
            (self.dir / "after").read_text() == (self.dir / "before").read_text() != ""
            and self.text.rfind("\033[?1049l") > self.text.rfind("\033[?1049h")
            and self.text.rfind("\033[?25h") > self.text.rfind("\033[?25l")
            and self.text.rfind("\033[?7h") > self.text.rfind("\033[?7l")
        )

    def screens(self):
        """The lines of each screen that was drawn, as they are seen."""
        drawn = self.text.split("\033[?1049l")[0].split("\033[H")[1:]
        return [[re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"\r+\n", screen)] for screen in drawn]


class watching_test(process_test):
    def held(self, *arguments, job=HELD):
        """Starts a job with a page that waits for its input; self.pipe feeds it."""
        self.write("job.yaml", job)
        if not (self.dir / "pipe").exists():
            os.mkfifo(self.dir / "pipe")
        job = self.watched(*arguments)
        self.pipe = open(self.dir / "pipe", "w")
        self.addCleanup(self.pipe.close)
        return job

    def watched(self, *arguments):
        started = self.start("job.yaml", "--ui", "0", "--progress", "none", *arguments)
        self.port = int(re.search(r"watched at http://127\.0\.0\.1:(\d+)/\n", started.stderr.readline()).group(1))
        return started

    def state(self):
        return json.loads(self.page(f"http://127.0.0.1:{self.port}/state.json"))

    def until_state(self, holds):
        for _ in range(200):
            state = self.state()
            if holds(state):
                return state
            time.sleep(0.05)
        self.fail(f"it never came: {state}")

    def serve(self, answer):
        """A server that is no job. `answer`: a text for every question, or a function of the handler."""

        class handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if callable(answer):
                    return answer(self)
                body = answer.encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                return None

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_address[1]
