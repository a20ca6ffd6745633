"""By which way NCCL sums a buffer over GPUs, told by their PCIe counters.

Input is what lib/all_reduce.py printed and the session in which it was recorded. Through host memory every rank writes what
it sends and reads what it gets, each 2 (n - 1) / n times the buffer; over NVLink next to nothing crosses PCIe.
"""

import json

from lib import wire_cost

BY_HOST = 0.5  # bytes over PCIe, by byte that has to be sent and received: from here on the sums go through host memory


def ranks_of(text):
    """The lines of all_reduce.py."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def bytes_by_need(sessions, session, ranks):
    """Bytes over PCIe of all GPUs while all ranks summed, by byte that ranks have to send and receive; None, and why, where
    it is not known."""
    if not ranks or len(ranks) != ranks[0]["ranks"]:
        return None, "not every rank said when it summed"
    begin, end = min(one["begin_ns"] for one in ranks), max(one["end_ns"] for one in ranks)
    crossed = 0.0
    for device in sessions.rows(session, "SELECT id FROM device"):
        for counter in (wire_cost.READ, wire_cost.WRITE):
            counted, covered = sessions.counter_window(session, counter, device["id"], begin, end)
            if covered < wire_cost.ENOUGH:
                return None, f"{counter} of device {device['id']} was sampled for {100 * covered:.0f} % of the time only"
            crossed += counted
    count = len(ranks)
    needed = count * 2 * 2 * (count - 1) / count * ranks[0]["bytes"] * ranks[0]["count"]
    return crossed / needed, ""


def way(by_need):
    """In words."""
    if by_need is None:
        return "unknown"
    return "host memory" if by_need >= BY_HOST else "between the GPUs"
