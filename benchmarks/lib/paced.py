"""Jobs that take turns on one GPU: samples/python/gpt2.py --pause-every N, which waits for a line before N steps."""

import os
import queue
import re
import subprocess
import threading
import time

from lib import cells

STEP = re.compile(r"^step \d+ loss \S+ \(\S+\) time_ms ([\d.]+)")


class PacedJob:
    """A job that is resident all the time and computes only between steps() and its return."""

    def __init__(self, command, folder, label):
        self.command = command
        self.lines = []
        self.queue = queue.Queue()
        self.stderr_path = os.path.join(folder, label + ".err")
        self.start = time.monotonic()
        with open(self.stderr_path, "wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                            text=True, start_new_session=True,
                                            env={**os.environ, "PYTHONUNBUFFERED": "1"})
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)
            self.queue.put(line)
        self.queue.put(None)

    def _next_line(self, deadline):
        try:
            line = self.queue.get(timeout=max(deadline - time.monotonic(), 0.001))
        except queue.Empty:
            raise RuntimeError("no answer in time") from None
        if line is None:
            raise RuntimeError("the job ended: " + self.stderr()[-300:])
        return line

    def wait_for(self, beginning, limit_s):
        deadline = time.monotonic() + limit_s
        while not self._next_line(deadline).startswith(beginning):
            pass

    def steps(self, count, limit_s):
        """Lets it run `count` steps; their times in ns."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        deadline = time.monotonic() + limit_s
        times = []
        while len(times) < count:
            found = STEP.match(self._next_line(deadline))
            if found:
                times.append(round(float(found.group(1)) * 1e6))
        return times

    def stderr(self):
        with open(self.stderr_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def release(self):
        """Ends its input, so that it ends while others are ended."""
        try:
            self.process.stdin.close()
        except OSError:
            pass

    def finish(self, limit_s):
        """Ends it by ending its input; what is known about it, as cells.run_job tells it."""
        timed_out = False
        try:
            self.process.stdin.close()
            self.process.wait(timeout=limit_s)
        except (OSError, subprocess.TimeoutExpired):
            timed_out = True
            cells.stop(self.process)
        self.reader.join(timeout=10)
        return {"command": self.command, "rc": self.process.returncode, "timed_out": timed_out,
                "wall_s": round(time.monotonic() - self.start, 3), "stdout": "".join(self.lines),
                "stderr": self.stderr()}


def alternate(first, second, alternations, burst, skipped, enough_time):
    """Lets two jobs take turns, the order reversed every time: for each alternation the median of each one's steps
    but the first `skipped`. Stops early when enough_time() says so. Both have paused before their first step."""
    medians = ([], [])
    for turn in range(alternations):
        if not enough_time():
            break
        order = (0, 1) if turn % 2 == 0 else (1, 0)
        for side in order:
            times = sorted((first, second)[side].steps(burst, limit_s=60)[skipped:])
            medians[side].append(times[len(times) // 2] if len(times) % 2 else
                                 (times[len(times) // 2 - 1] + times[len(times) // 2]) // 2)
    return medians
