#!/usr/bin/env python3
"""How long `tferry analyze` takes for ten million events, and how much memory. Needs no GPU.

    benchmarks/ten_million.py --bundle build --out OUT        # OUT/ten_million_raw.json, for tferry-bench record --from

Two sessions: a made-up one of two GPUs (`tferry demo --synthesize 10M`: kernels, copies, counters, and no accesses), and a
recorded one, the golden GPT-2 with an iteration of it repeated (accesses count as events there). Each is analyzed --times
times. Times are wall clock; processor time (user and system) stands beside them, since the machine may be busy with others.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import cells, long_session  # noqa: E402

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = os.path.join(REPOSITORY, "tests", "golden", "gpt2.tferry")


def run(command):
    """Wall seconds, processor seconds and the largest resident bytes of a command."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {errors.strip()}")
    return {"wall_s": time.monotonic() - start, "processor_s": usage.ru_utime + usage.ru_stime,
            "resident_bytes": usage.ru_maxrss * 1024}


def sessions(tferry, events, folder):
    """(end of its claims' names, file, events, what it is) of each session."""
    made_up = os.path.join(folder, "made_up.tferry")
    run([tferry, "demo", "--synthesize", str(events), "-o", made_up])
    yield "", made_up, events, "two GPUs, made up by tferry demo --synthesize"
    os.remove(made_up)
    analyzed, recorded = (os.path.join(folder, name) for name in ("golden.tferry", "recorded.tferry"))
    run([tferry, "analyze", GOLDEN, "-o", analyzed])
    count = long_session.repeat(analyzed, recorded, events)
    yield "/recorded", recorded, count, "the golden GPT-2 session, an iteration repeated; accesses are events"


def measurements(name, events, what, runs):
    command = f"benchmarks/ten_million.py --times {len(runs)}"
    load = {"events": events, "processor_seconds": [round(run["processor_s"], 2) for run in runs]}
    for metric, key, scale in (("seconds", "wall_s", 1), ("memory_GiB", "resident_bytes", 2**30)):
        yield {"claim": f"analyzer.ten_million/{metric}{name}", "kind": "measured", "metric": "value", "command": command,
               "subject": {"label": f"tferry analyze, {what}", "samples": [run[key] / scale for run in runs]},
               "checks": load, "note": f"{events} events: {what}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default=os.path.join(REPOSITORY, "build"), help="where the programs are")
    parser.add_argument("--out", required=True, help="folder of the raw file")
    parser.add_argument("--work", help="folder for the sessions, 5 GB (default: a temporary one)")
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--git", default="", help="revision that is measured")
    arguments = parser.parse_args()
    tferry = cells.Programs(arguments.bundle, REPOSITORY).find("tferry")
    os.makedirs(arguments.out, exist_ok=True)
    found, done = [], []
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        for name, session, events, what in sessions(tferry, arguments.events, folder):
            runs = []
            for _ in range(arguments.times):
                runs.append(run([tferry, "analyze", session, "-o", os.path.join(folder, "analyzed.tferry"), "--force"]))
                print(f"{what}: {events} events, {runs[-1]['wall_s']:.1f} s ({runs[-1]['processor_s']:.1f} s of "
                      f"processors), {runs[-1]['resident_bytes'] / 2**30:.2f} GiB", flush=True)
            found.extend(measurements(name, events, what, runs))
            done.append({"session": what, "events": events, "runs": runs})
    raw = {"schema": "tferry.raw/1", "script": "ten_million", "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
           "git": arguments.git, "machine": {"gpu": "none", "processors": os.cpu_count()}, "cells": done,
           "measurements": found}
    with open(os.path.join(arguments.out, "ten_million_raw.json"), "w", encoding="utf-8") as file:
        json.dump(raw, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
