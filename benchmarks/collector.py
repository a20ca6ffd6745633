#!/usr/bin/env python3
"""Measures the claims that begin with "collector.": what recording costs beside PyTorch's profiler, and whether every kind
of record is right.

    benchmarks/collector.py --bundle build/bundle --out "$OUT" --python python3 --time-limit 500

Cells, in the order in which they run (--cells takes a comma-separated list of beginnings):
    kinds                    tferry-sample-kinds recorded, kind by kind; counts and bytes against what it knows
    step.gpt2_fp32           GPT-2 124M four times over on one card, taking turns in random order: plain (native allocator,
                             nothing preloaded), `tferry profile` with everything on, PyTorch's profiler with CUDA activities,
                             and with CPU activities and memory; 20 alternations
    step.gpt2_bf16           the same in bf16
    range                    `--range cuda-profiler-api`: step time before, in, between and after two ranges
    million                  `tferry merge` of the spools of a million kernels: seconds for each million records
    long                     five million kernels: all there, none with a bad time
    ranks                    two ranks under torchrun, from outside (needs two GPUs)

A cell that fails is recorded and the script goes on. Files in --out: collector_raw.json (for tferry-bench record),
collector_log.txt.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import cells, kind_checks, paced, recordings  # noqa: E402

BURST, SKIPPED = 6, 2
SHAPE = ["--layers", "12", "--width", "768", "--heads", "12", "--batch", "8", "--context", "1024"]
KINDS = {"copies": [], "graphs": [], "managed": ["--unified-memory"], "pools": [], "streams": [], "peers": []}
NOT_HERE = 77


class Collector:
    def __init__(self, arguments, folder):
        repository = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.arguments, self.folder = arguments, folder
        self.programs = cells.Programs(arguments.bundle, repository, must_exist=not arguments.dry_run)
        self.deadline = time.monotonic() + arguments.time_limit
        self.raw = cells.Raw(os.path.join(arguments.out, "collector_raw.json"), "collector", repository)
        self.log = os.path.join(arguments.out, "collector_log.txt")
        self.sessions = recordings.Recordings(self.programs.find("tferry"))
        self.random = random.Random(arguments.seed)

    def left(self):
        return self.deadline - time.monotonic()

    def run(self):
        for name, cell in (("kinds", self.kinds), ("step.gpt2_fp32", lambda: self.step("fp32")),
                           ("step.gpt2_bf16", lambda: self.step("bf16")), ("range", self.range),
                           ("million", self.million), ("long", self.long), ("ranks", self.ranks)):
            chosen = self.arguments.cells
            if chosen and not any(name.startswith(prefix) for prefix in chosen.split(",")):
                continue
            if self.left() < 20 and not self.arguments.dry_run:
                self.raw.add({"cell": name, "skipped": "no time left"})
                continue
            start = time.monotonic()
            try:
                cell()
            except Exception as error:  # noqa: BLE001: whatever it is, the other cells shall still run
                print(f"{name}: {error!r}", flush=True)
                self.raw.add({"cell": name, "error": repr(error)})
            print(f"cell {name}: {time.monotonic() - start:.1f} s, {self.left():.0f} s left", flush=True)

    # Running jobs

    def session(self, name):
        return os.path.join(self.folder, name + ".tferry")

    def profiled(self, name, job, *options):
        return [self.programs.find("tferry"), "profile", "-o", self.session(name), *options, "--", *job]

    def script(self, name, *arguments):
        return [self.arguments.python, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", name), *arguments]

    def gpt2(self, precision, *options):
        return [self.programs.find("gpt2.py"), *SHAPE, "--precision", precision, *options]

    def job(self, name, command, limit_s):
        if self.arguments.dry_run:
            print(f"{name}: {' '.join(command)}")
            return {"rc": 0, "stdout": "", "wall_s": 0.0}
        cell = {"cell": name, **cells.run_job(command, min(limit_s, max(self.left() - 5, 5)), self.folder, name)}
        self.keep(cell)
        return cell

    def keep(self, cell):
        self.raw.add(cell)
        cells.append_log(self.log, cell)
        if cell["rc"] not in (0, NOT_HERE):
            print(f"{cell['cell']}: rc {cell['rc']}, timed out: {cell['timed_out']}: {cell['stderr'].strip()[-200:]}")

    # Cells

    def kinds(self):
        right, facts, command = [], {}, []
        for kind, options in KINDS.items():
            name = f"kinds.{kind}"
            command = self.profiled(name, [self.programs.find("tferry-sample-kinds"), kind], *options)
            cell = self.job(name, command, limit_s=40)
            if self.arguments.dry_run:
                continue
            if cell["rc"] != 0:
                facts[kind] = "not here" if cell["rc"] == NOT_HERE else f"it ended with {cell['rc']}"
                if cell["rc"] != NOT_HERE:
                    right.append(0.0)
                continue
            differences, agreeing = kind_checks.compare(cell["stdout"], lambda sql: self.sessions.row(self.session(name), sql))
            facts[kind] = differences or f"{agreeing} known figures agree"
            right.append(float(not differences))
            print(f"{name}: {facts[kind]}", flush=True)
        if right:
            self.add("collector.kinds", right, command, "1 for each kind whose recorded counts and bytes are those that the "
                                                        "sample knows", {"kinds": facts})

    def step(self, precision):
        name = f"step.gpt2_{precision}"
        turns = self.arguments.alternations
        job = self.gpt2(precision, "--warmup", "0", "--steps", str((turns + 1) * BURST), "--pause-every", str(BURST))
        traces = {kind: os.path.join(self.folder, f"{name}.{kind}.json") for kind in ("cuda", "memory")}
        spools = os.path.join(self.folder, name + ".spools")
        commands = {"plain": [self.arguments.python, *job],
                    "tferry": self.profiled(name, [self.arguments.python, *job], "--keep-spools", spools),
                    "torch": self.script("torch_profiled.py", "cuda", traces["cuda"], *job),
                    "torch_memory": self.script("torch_profiled.py", "memory", traces["memory"], *job)}
        if self.arguments.dry_run:
            for label, command in commands.items():
                print(f"{name}.{label}: {' '.join(command)}")
            return
        jobs = {label: paced.PacedJob(command, self.folder, f"{name}.{label}") for label, command in commands.items()}
        medians, error = {label: [] for label in jobs}, None
        try:
            for one in jobs.values():
                one.wait_for("paused", limit_s=90)
                one.steps(BURST, limit_s=60)
            for _ in range(turns):
                if self.left() < 90:  # for ending the jobs, writing traces and reading the session
                    break
                order = list(jobs)
                self.random.shuffle(order)
                for label in order:
                    medians[label].append(round(statistics.median(jobs[label].steps(BURST, limit_s=60)[SKIPPED:])))
        except RuntimeError as failure:
            error = str(failure)
        ended = {label: one.finish(limit_s=120) for label, one in jobs.items()}
        for label, cell in ended.items():
            self.keep({"cell": f"{name}.{label}", **cell, **cells.parse_gpt2(cell["stdout"]), "error": error})
        if error or not medians["plain"]:
            raise RuntimeError(error or "no alternation was measured")
        told = {label: told_by_torch(ended[label]) for label in ("torch", "torch_memory")}
        note = (f"medians of the last {BURST - SKIPPED} of {BURST} steps of four jobs that take turns on one card, order "
                f"random (seed {self.arguments.seed}); counters are sampled during all of them")
        for label, claim in (("tferry", "collector.step"), ("torch", "collector.torch_profiler_step"),
                             ("torch_memory", "collector.torch_profiler_memory_step")):
            self.add(f"{claim}/gpt2_{precision}", medians[label], commands[label], note, told, baseline=medians["plain"])
        self.add(f"collector.step_vs_torch_profiler/gpt2_{precision}", medians["tferry"], commands["tferry"], note, told,
                 baseline=medians["torch"])
        self.bytes_per_event(name, precision, told, commands["tferry"])

    def bytes_per_event(self, name, precision, told, command):
        counts = self.sessions.counts(self.session(name))
        events = sum(counts[table] for table in recordings.EVENT_TABLES)
        ours = os.path.getsize(self.session(name)) / events
        if not told["torch"] or not told["torch"]["events"]:
            return
        theirs = told["torch"]["bytes"] / told["torch"]["events"]
        self.add(f"collector.bytes_vs_json/gpt2_{precision}", [ours / theirs], command,
                 "bytes of the whole session over its events (counter samples among both), over bytes of the "
                 "PyTorch profiler's JSON (CUDA activities) over its events",
                 {"session_bytes_per_event": ours, "json_bytes_per_event": theirs, "rows": counts})

    def range(self):
        bursts, ranges = 5, "1,3"
        job = self.gpt2("bf16", "--warmup", "0", "--steps", str((bursts + 1) * BURST), "--pause-every", str(BURST))
        command = self.profiled("range", self.script("ranged_gpt2.py", ranges, *job), "--range", "cuda-profiler-api",
                                "--counters", "off")
        if self.arguments.dry_run:
            print(f"range: {' '.join(command)}")
            return
        paused = paced.PacedJob(command, self.folder, "range")
        times, error = [], None
        try:
            paused.wait_for("paused", limit_s=90)
            times = [paused.steps(BURST, limit_s=60) for _ in range(bursts)]
        except RuntimeError as failure:
            error = str(failure)
        self.keep({"cell": "range", **paused.finish(limit_s=60), "error": error})
        if error:
            raise RuntimeError(error)
        medians = [statistics.median(burst[SKIPPED:]) for burst in times]
        # Burst 0 warms up as well as coming before; the one between the ranges and the last come after one.
        kernels = [row["n"] for row in self.sessions.rows(
            self.session("range"), "SELECT count(kernel.start_ns) AS n FROM recorded_range AS r LEFT JOIN kernel ON "
                                   "kernel.start_ns BETWEEN r.start_ns AND r.end_ns GROUP BY r.number ORDER BY r.number")]
        outside = self.sessions.number(
            self.session("range"), "SELECT count(*) AS n FROM kernel WHERE start_ns IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "
                                   "recorded_range AS r WHERE kernel.end_ns >= r.start_ns AND kernel.start_ns <= r.end_ns)")
        facts = {"medians_ns": medians, "kernels": kernels, "outside": outside}
        self.add("collector.after_range", [medians[2], medians[4]], command,
                 "steps after a range, against those before the first; the second range has as many kernels as the first",
                 facts, baseline=[medians[0]])
        self.add("collector.second_range", [float(len(kernels) == 2 and kernels[0] == kernels[1] and outside == 0)], command,
                 "1 is: both ranges have the same number of kernels, and nothing outside of them was recorded", facts)

    def million(self):
        folder = os.path.join(self.folder, "million.spools")
        self.job("million", self.profiled("million", self.script("many_kernels.py", "1000000"), "--counters", "off",
                                          "--keep-spools", folder, "--max-size", "8GiB"), limit_s=90)
        rates = []
        command = [self.programs.find("tferry"), "merge", "--force", folder, "-o", self.session("million.merged")]
        for attempt in range(3):
            cell = self.job(f"million.merge.{attempt}", command, limit_s=60)
            if self.arguments.dry_run:
                return
            records = int(self.sessions.row(self.session("million.merged"),
                                            "SELECT value FROM meta WHERE key = 'records'")["value"])
            rates.append(cell["wall_s"] / records * 1e6)
        self.add("collector.seconds_per_million", rates, command, "whole time of tferry merge over the million records")

    def long(self):
        count = 5_000_000
        command = self.profiled("long", self.script("many_kernels.py", str(count)), "--counters", "off", "--max-size", "16GiB")
        self.job("long", command, limit_s=240)
        if self.arguments.dry_run:
            return
        session = self.session("long")
        row = self.sessions.row(session, "SELECT count(*) AS n, sum(end_ns IS NULL OR end_ns < start_ns) AS bad, "
                                         "max(end_ns - start_ns) AS longest FROM kernel WHERE start_ns IS NOT NULL")
        losses = self.sessions.losses(session)
        bad = sum(loss.get("count") or 0 for loss in losses if loss["reason"] == "bad_time") + (row["bad"] or 0)
        facts = {"kernels": row["n"], "launched": count, "longest_ns": row["longest"], "losses": losses}
        self.add("collector.long_bad_times", [float(bad)], command, "kernels with a zero or reversed time of five million",
                 facts)
        self.add("collector.long_complete", [row["n"] / count], command, "kernels recorded of those launched (PyTorch launches "
                                                                         "a few more)", facts)

    def ranks(self):
        if self.raw.data["machine"]["gpus"] < 2 and not self.arguments.dry_run:
            self.raw.add({"cell": "ranks", "skipped": "there is one GPU"})
            return
        torchrun = [self.arguments.python, "-m", "torch.distributed.run", "--nproc-per-node", "2", *self.script("ranks.py")[1:]]
        command = self.profiled("ranks", torchrun)
        cell = self.job("ranks", command, limit_s=120)
        if self.arguments.dry_run:
            return
        rows = self.sessions.rows(self.session("ranks"), "SELECT rank, count(*) AS n FROM process JOIN kernel ON process_id = "
                                                         "process.id WHERE start_ns IS NOT NULL GROUP BY rank ORDER BY rank")
        right = cell["rc"] == 0 and [row["rank"] for row in rows] == [0, 1] and all(row["n"] > 10 for row in rows)
        self.add("collector.torchrun_ranks", [float(right)], command, "1 is: one session has the kernels of both ranks",
                 {"kernels": rows})

    # Results

    def add(self, claim, samples, command, note, checks=None, baseline=None):
        slowdown = baseline is not None
        measurement = {"claim": claim, "kind": "measured", "metric": "slowdown" if slowdown else "value",
                       "command": "benchmarks/collector.py --bundle build/bundle --out OUT",
                       "job": cells.job_of({"command": command}),
                       "subject": {"label": "tferry profile", "samples_ns" if slowdown else "samples": samples},
                       "checks": checks or {}, "note": note}
        if slowdown:
            measurement["baseline"] = {"label": "baseline", "samples_ns": baseline}
        self.raw.data["measurements"].append(measurement)
        self.raw.write()


def told_by_torch(cell):
    """Events and bytes of the trace, from the last line of torch_profiled.py; None where it did not get there."""
    for line in reversed(cell["stderr"].strip().split("\n")):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                return None
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bundle", required=True, help="folder with bin/tferry and its libraries")
    parser.add_argument("--out", default=".", help="folder for the results")
    parser.add_argument("--cells", default="", help="beginnings of cell names, comma-separated; all when empty")
    parser.add_argument("--time-limit", type=float, default=500, help="seconds for everything")
    parser.add_argument("--python", default="python3", help="the interpreter that has torch")
    parser.add_argument("--alternations", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of the order of the alternations")
    parser.add_argument("--dry-run", action="store_true", help="print the commands and stop")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tferry-collector-") as folder:
        Collector(arguments, folder).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
