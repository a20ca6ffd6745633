"""Jobs of several ranks that take turns on the same GPUs: samples/python/gpt2.py --pause-every N behind launch_ranks.py."""

import hashlib
import re
import time

from lib import paced

STEP = re.compile(r"^(?:rank (\d+) )?step \d+ loss (\S+) \(\S+\) time_ms ([\d.]+)")


class RankedJob(paced.PacedJob):
    """A PacedJob of several ranks, which all pause before the same steps."""

    def __init__(self, command, folder, label, ranks):
        super().__init__(command, folder, label)
        self.ranks = ranks
        self.losses = [[] for _ in range(ranks)]

    def wait_until_ready(self, limit_s):
        """Until every rank waits before its first step."""
        deadline = time.monotonic() + limit_s
        for _ in range(self.ranks):
            self.wait_for("paused", max(deadline - time.monotonic(), 0.001))

    def burst(self, count, limit_s):
        """Lets every rank run `count` steps; for each rank their times in ms."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        deadline = time.monotonic() + limit_s
        times = [[] for _ in range(self.ranks)]
        while any(len(steps) < count for steps in times):
            found = STEP.match(self._next_line(deadline))
            if found:
                rank = int(found.group(1) or 0)
                times[rank].append(float(found.group(3)))
                self.losses[rank].append(found.group(2))
        return times

    def loss_digests(self, steps):
        """Of each rank's first `steps` losses."""
        return [hashlib.sha256("\n".join(losses[:steps]).encode()).hexdigest() for losses in self.losses]


def slower_rank_ns(times, skipped):
    """The mean step of the slowest rank, without the first `skipped` steps."""
    return round(max(sum(steps[skipped:]) / len(steps[skipped:]) for steps in times) * 1e6)
