"""Runs the tasks of a job on Dask, stage by stage: each is a process, `flowrun worker DIR STAGE TASK`. Dask decides where
and when, and runs a task again whose machine is lost; one whose worker fails is begun again from here, on other machines
after some attempts. Rows never come here.

Arguments: the scheduler's HOST:PORT, how often a task is tried, the exit codes of a worker that another attempt would
end with, too, the working directory, the words in front of STAGE, "--", those behind TASK. Lines come in and go out as
cluster/helper_tasks.h says. The end of the input ends the job.
"""
import asyncio
import os
import signal
import subprocess
import sys
import threading
import uuid

RUN = f"flowrun-{uuid.uuid4()}-"  # names of the job's tasks on Dask begin with this
MOST_ATTEMPTS_ON_HOST = 3


def say(*words):
    print(*words, flush=True)


def run_task(task, stage, lasting, directory, before, after):
    """In a thread of a Dask worker, which knows this module only by what it gets of it. Returns, where a worker has ended
    with what no other attempt would change: "STAGE TASK CODE HOST WORDS". Raises "STAGE TASK HOST WORDS"."""
    from distributed import get_worker
    from distributed.comm import get_address_host
    worker = get_worker()
    key = worker.get_current_task()
    host = get_address_host(worker.address)
    most_said = 16384  # bytes of what a worker says

    def fail(words):
        raise RuntimeError(f"{stage} {task} {host} {words}")

    if not os.access(before[0], os.X_OK):
        fail(f"there is no program {before[0]}")
    if not os.path.isdir(directory):
        fail(f"there is no directory {directory}, in which the command was started")
    # Its standard input is a pipe that ends with this process, and so does the worker.
    process = subprocess.Popen([*before, stage, task, *after, "--host", host], cwd=directory, stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = bytearray()

    def listen():
        for line in process.stderr:
            sys.stderr.write(line.decode(errors="replace"))
            said.extend(line[:most_said - len(said)])

    listening = threading.Thread(target=listen, daemon=True)
    listening.start()
    try:
        while process.poll() is None:
            # Dask stops no thread: whose job is over is seen here.
            known = worker.state.tasks.get(key)
            if known is None or known.state == "cancelled":
                return
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                pass
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
    if process.returncode == 0:
        return None
    listening.join(1)
    words = said.decode(errors="replace").strip().replace("\n", "\r")
    if process.returncode not in lasting:
        fail(words or f"its worker ended with exit code {process.returncode}")
    return f"{stage} {task} {process.returncode} {host} {words}"


async def until_ended(run, dask_worker):
    """On a Dask worker: until it has no task of this job any more."""
    while any(str(key).startswith(run) for key in dask_worker.active_threads.values()):
        await asyncio.sleep(0.02)


def run_stage(client, futures, attempts, stage, tasks, settings):
    from distributed import as_completed
    from distributed.comm import get_address_host
    settings = {**settings, "stage": stage, "pure": False}
    failed_on = {task: [] for task in tasks}  # hosts, one for each attempt
    try:
        futures[:] = client.map(run_task, tasks, key=f"{RUN}{stage}", **settings)
        at_work = as_completed(futures)
        for future in at_work:
            if future.cancelled() or future.status == "lost":
                return say("lost", "the connection to the scheduler has ended")
            if future.status != "error":
                if future.result():
                    say("ended", future.result())
                continue
            problem = future.exception()
            if type(problem) is not RuntimeError:
                return say("failed", stage, f"{type(problem).__name__}: {problem}".split("\n")[0])
            say("tried", problem)
            task, host = str(problem).split(" ")[1:3]
            failed_on[task].append(host)
            hosts = {get_address_host(address) for address in client.nthreads()}
            left = [host for host in hosts if failed_on[task].count(host) < MOST_ATTEMPTS_ON_HOST]
            if len(failed_on[task]) == attempts or not left:
                return say("failed", stage, f"a task has failed {len(failed_on[task])} times")
            # A machine that fails its tasks at once is free again at once. Where no other one is, it gets them, too.
            again = client.submit(run_task, task, key=f"{RUN}{stage}-{task}-{len(failed_on[task])}", workers=left,
                                  allow_other_workers=True, **settings)
            futures.append(again)
            at_work.add(again)
        say("end", stage)
    except Exception as problem:
        say("lost", f"{type(problem).__name__}: {problem}".split("\n")[0])


def other_python(client):
    """Functions are sent as this Python's instructions, which another one may not know."""
    mine = sys.version_info[:2]
    for address, told in client.get_versions()["workers"].items():
        theirs = told["host"]["python"]
        if tuple(map(int, theirs.split(".")[:2])) != mine:
            return f"{sys.executable} is Python {mine[0]}.{mine[1]}, and the worker {address} has {theirs}"
    return None


def main():
    try:
        from distributed import Client
    except ImportError as problem:
        return say("missing", f"{sys.executable} can't load Dask: {problem}")
    scheduler, attempts, lasting, directory, *words = sys.argv[1:]
    gap = words.index("--")
    settings = {"lasting": [int(code) for code in lasting.split(",")], "directory": directory, "before": words[:gap],
                "after": words[gap + 1:]}
    try:
        client = Client(scheduler, timeout=10)
        unlike = other_python(client)
    except Exception as problem:
        return say("lost", f"{problem}".split("\n")[0])
    if unlike:
        return say("missing", unlike)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the input has an end as well, and tasks are to end first
    say("ready")
    futures = []
    try:
        for line in sys.stdin:
            stage, *tasks = line.split()
            # Beside this thread, which hears that the driver has ended.
            threading.Thread(target=run_stage, args=(client, futures, int(attempts), stage, tasks, settings),
                             daemon=True).start()
    finally:
        # The driver takes down what its tasks would still write into.
        client.cancel(futures)
        client.run(until_ended, RUN)
        say("over")


if __name__ == "__main__":
    try:
        main()
    finally:
        sys.stdout.flush()
        os._exit(0)  # Dask's own goodbye takes longer than the driver waits
