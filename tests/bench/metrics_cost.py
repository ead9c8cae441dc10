#!/usr/bin/env python3
"""What metrics cost a job: the CPU time of a scrape, and with it the share that a Prometheus takes which asks every five
seconds, as dashboards/prometheus.yml does.

    metrics_cost.py --flowrun PROGRAM [--scrapes N]

A job with many nodes and disks is held by a pipe, so that all CPU time that it uses is that of the scrapes, and of the
look at its counters once a second.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile
import time
import urllib.request

INTERVAL = 5  # seconds, of dashboards/prometheus.yml


def job_of(nodes):
    lines = ["flowrun: 1", "name: held", "nodes:", "  read: {op: file.read_csv, with: {path: fed, type: {value: u64}}}"]
    before = "read"
    for number in range(nodes):
        lines.append(f"  sort{number}: {{op: sort, in: {before}, with: {{by: [{'-' * (number % 2)}value]}}}}")
        before = f"sort{number}"
    lines.append(f"  write: {{op: file.write_rows, in: {before}, with: {{path: out.bin}}}}")
    return "\n".join(lines) + "\n"


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(flowrun, nodes, scrapes):
    """CPU seconds of the job in a second in which nobody asks, those of a scrape, and the bytes of one."""
    with tempfile.TemporaryDirectory(prefix="flowrun-metrics-cost-") as folder:
        where = pathlib.Path(folder)
        (where / "job.yaml").write_text(job_of(nodes))
        os.mkfifo(where / "fed")
        job = subprocess.Popen(
            [flowrun, "job.yaml", "--progress", "none", "--metrics-listen", "0", "-T", "scratch", "-m", "256MiB"],
            cwd=where, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        url = job.stderr.readline().split()[-1]
        ask = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
        with open(where / "fed", "w") as pipe:
            pipe.write("1\n")
            pipe.flush()
            time.sleep(1)
            idle = cpu_seconds(job.pid)
            time.sleep(10)
            idle = (cpu_seconds(job.pid) - idle) / 10
            begin, cpu = time.monotonic(), cpu_seconds(job.pid)
            for _ in range(scrapes):
                page = ask(url, timeout=30).read()
            cpu = cpu_seconds(job.pid) - cpu - idle * (time.monotonic() - begin)
        job.communicate(timeout=60)
        return idle, cpu / scrapes, len(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowrun", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--scrapes", type=int, default=1000)
    options = parser.parse_args()
    print(f"{'sorts':>6} {'page':>9} {'CPU of a scrape':>16} {'share of a core':>16} {'a job at rest':>14}")
    for nodes in (1, 10, 50):
        idle, scrape, size = measure(options.flowrun, nodes, options.scrapes)
        print(f"{nodes:>6} {size:>7} B {scrape * 1000:>13.3f} ms {scrape / INTERVAL:>16.4%} {idle:>14.3%}")


if __name__ == "__main__":
    main()
