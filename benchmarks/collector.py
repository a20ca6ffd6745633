#!/usr/bin/env python3
"""Measures the claims that begin with "collector.": what recording costs beside PyTorch's profiler, and whether every kind
of record is right.

    benchmarks/collector.py --bundle build/bundle --out "$OUT" --python python3 --time-limit 500

Cells, in the order in which they run (--cells takes a comma-separated list of beginnings):
    step.gpt2_fp32           GPT-2 124M four times over on one card, taking turns in random order: plain (native allocator,
                             nothing preloaded), `tferry profile` with its usual records and counters, PyTorch's profiler with
                             CUDA activities, and with CPU activities and memory; 20 alternations
    step.gpt2_bf16           the same in bf16
    step_all.gpt2_fp32       the same with five jobs and few alternations: plain, `tferry profile` as usual, with
                             --unified-memory, with --api, and with both
    range                    `--range cuda-profiler-api`: step time before, in, between and after two ranges
    million                  `tferry merge` of the spools of a million kernels: seconds for each million records
    long                     five million kernels: all there, none with a bad time; while it runs, the cells below,
                             which ask what was recorded, not how long it took
    kinds                    tferry-sample-kinds recorded, kind by kind; counts, bytes, addresses against what it knows
    iterations               `--range iterations:12..14` of GPT-2: just these are recorded
    keep_last                `--keep-last 3s` of GPT-2: the last three seconds are there, and what they refer to
    names                    `--names pytorch` of GPT-2: what is alive at the peak, by category, against the sample's own sums
    access                   `--access-direction`: the layers sample, whose kernels' directions are known, and GPT-2, whose losses
                             have to stay the same
    pages                    `--access pages`: the layers sample, of whose kernels it is known what they touch, also by pointers in
                             device memory, and GPT-2, whose losses have to stay the same; what the pass costs a step
    ranks                    two ranks under torchrun, from outside; on one GPU they share it

A cell that fails is recorded and the script goes on. Files in --out: collector_raw.json (for tferry-bench record),
collector_log.txt.
"""

import argparse
import concurrent.futures
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import cells, kind_checks, paced, pages_checks, recordings  # noqa: E402

BURST, SKIPPED = 4, 1
SHAPE = ["--layers", "12", "--width", "768", "--heads", "12", "--batch", "8", "--context", "1024"]
KINDS = {"copies": [], "graphs": [], "memory": [], "pools": [], "virtual": [], "streams": [], "peers": ["--counters", "on"], "sync": [], "nvtx": [],
         "api": ["--api"],
         **{kind: ["--unified-memory"] for kind in ("managed", "faults", "prefetched", "remote", "thrashing")}}
KINDS_AT_ONCE = 4
NOT_HERE = 77
AT_ONCE = ("kinds", "iterations", "keep_last", "names", "access.layers", "access.gpt2", "pages", "ranks")


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
        self.lock = threading.Lock()
        self.beside = None

    def left(self):
        return self.deadline - time.monotonic()

    def run(self):
        at_once = []
        for name, cell in (("step.gpt2_fp32", lambda: self.step("fp32")), ("step.gpt2_bf16", lambda: self.step("bf16")),
                           ("step_all.gpt2_fp32", lambda: self.step_all("fp32")),
                           ("range", self.range), ("million", self.million), ("long", self.begin_long),
                           ("kinds", self.kinds), ("iterations", self.iterations), ("keep_last", self.keep_last),
                           ("names", self.names), ("access.layers", self.access_layers), ("pages", self.pages),
                           ("ranks", self.ranks),
                           ("access.gpt2", self.access_gpt2), ("long", self.end_long)):
            chosen = self.arguments.cells
            if chosen and not any(name.startswith(prefix) for prefix in chosen.split(",")):
                continue
            if self.left() < 20 and cell != self.end_long and not self.arguments.dry_run:
                self.raw.add({"cell": name, "skipped": "no time left"})
                continue
            if self.arguments.at_once and name in AT_ONCE and not self.arguments.dry_run:
                at_once.append(threading.Thread(target=self.one, args=(name, cell), daemon=True))
                at_once[-1].start()
                continue
            self.one(name, cell)
        for thread in at_once:
            thread.join(timeout=max(self.left(), 1))

    def one(self, name, cell):
        start = time.monotonic()
        try:
            cell()
        except Exception as error:  # noqa: BLE001: whatever it is, the other cells shall still run
            print(f"{name}: {error!r}", flush=True)
            with self.lock:
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
        with self.lock:
            self.raw.add(cell)
            cells.append_log(self.log, cell)
        if cell["rc"] not in (0, NOT_HERE):
            print(f"{cell['cell']}: rc {cell['rc']}, timed out: {cell['timed_out']}: {cell['stderr'].strip()[-200:]}")

    # Cells

    def kinds(self):
        """Each kind is a cell of its own, some at a time: they ask what was recorded, not how long it took."""
        told = {}
        with concurrent.futures.ThreadPoolExecutor(KINDS_AT_ONCE) as pool:
            for kind, outcome in zip(KINDS, pool.map(self.kind_or_error, KINDS)):
                told[kind] = outcome
        if self.arguments.dry_run:
            return
        right = [outcome["right"] for outcome in told.values() if outcome["right"] is not None]
        if right:
            self.add("collector.kinds", [min(right)], self.kind_command("KIND"),
                     "1 is: of every kind that can be had here what was recorded is what the sample knows",
                     {"kinds": {kind: outcome["told"] for kind, outcome in told.items()}})

    def kind_command(self, kind):
        options = KINDS.get(kind, [])
        counters = [] if "--counters" in options else ["--counters", "off"]
        return self.profiled(f"kinds.{kind}", [self.programs.find("tferry-sample-kinds"), kind], *counters, *options)

    def kind_or_error(self, kind):
        try:
            return self.kind(kind)
        except Exception as error:  # noqa: BLE001: one kind that fails hides no other
            print(f"kinds.{kind}: {error!r}", flush=True)
            with self.lock:
                self.raw.add({"cell": f"kinds.{kind}", "error": repr(error)})
            return {"right": 0.0, "told": repr(error)}

    def kind(self, kind):
        name = f"kinds.{kind}"
        command = self.kind_command(kind)
        cell = self.job(name, command, limit_s=40)
        if self.arguments.dry_run or cell["rc"] == NOT_HERE:
            return {"right": None, "told": "not here: " + cell["stdout"].strip()[-100:]}
        session, differences, agreeing, recorded, losses = self.session(name), [], 0, [], []
        if cell["rc"] != 0:
            differences.append(f"it ended with {cell['rc']}")
        else:
            differences, agreeing, recorded = kind_checks.compare(cell["stdout"], lambda sql: self.sessions.row(session, sql))
            losses = self.sessions.losses(session) if differences else []
        facts = {"agreeing": agreeing, "differences": differences, "recorded": recorded, "losses": losses}
        if kind == "peers" and cell["rc"] == 0:  # told, beside the bytes that the sample copied
            facts["nvlink"] = self.nvlink(session)
        print(f"{name}: {differences or str(agreeing) + ' known figures agree'}", flush=True)
        self.add(f"collector.kind/{kind}", [float(not differences)], command,
                 "1 is: what was recorded is what the sample knows", facts)
        return {"right": float(not differences), "told": differences or f"{agreeing} known figures agree"}

    def nvlink(self, session):
        return self.sessions.rows(session, "SELECT device_id, string.value AS counter, sum(counter.value) AS bytes, count(*) AS "
                                           "samples FROM counter JOIN string ON string.id = name_id WHERE string.value LIKE "
                                           "'%nvl%' GROUP BY 1, 2 ORDER BY 1, 2")

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
        medians, ended = self.take_turns(name, commands, turns)
        told = {label: told_by_torch(ended[label]) for label in ("torch", "torch_memory")}
        note = (f"medians of the last {BURST - SKIPPED} of {BURST} steps of four jobs that take turns on one card, order "
                f"random (seed {self.arguments.seed}); counters are sampled during all of them")
        for label, claim in (("tferry", "collector.step"), ("torch", "collector.torch_profiler_step"),
                             ("torch_memory", "collector.torch_profiler_memory_step")):
            self.add(f"{claim}/gpt2_{precision}", medians[label], commands[label], note, told, baseline=medians["plain"])
        self.add(f"collector.step_vs_torch_profiler/gpt2_{precision}", medians["tferry"], commands["tferry"], note, told,
                 baseline=medians["torch"])
        self.bytes_per_event(name, precision, told, commands["tferry"])

    def step_all(self, precision):
        """What the records cost that are only made when they are asked for: each alone, and all together."""
        name, turns = f"step_all.gpt2_{precision}", self.arguments.few_alternations
        job = [self.arguments.python, *self.gpt2(precision, "--warmup", "0", "--steps", str((turns + 1) * BURST),
                                                 "--pause-every", str(BURST))]
        # The first one's sampler works during all of them; of several only one has the counters.
        options = {"usual": [], "unified_memory": ["--unified-memory"], "api": ["--api"], "all": ["--unified-memory", "--api"]}
        options = {label: words + ["--counters", "off"] if words else words for label, words in options.items()}
        commands = {"plain": job, **{label: self.profiled(f"{name}.{label}", job, *words) for label, words in options.items()}}
        if self.arguments.dry_run:
            for label, command in commands.items():
                print(f"{name}.{label}: {' '.join(command)}")
            return
        medians, ended = self.take_turns(name, commands, turns, kept_s=30)
        facts = {label: {"rc": ended[label]["rc"], **self.asked_records(f"{name}.{label}")} for label in options}
        note = (f"medians of the last {BURST - SKIPPED} of {BURST} steps of five jobs that take turns on one card, order random "
                f"(seed {self.arguments.seed}); the sampler of the usual one works during all of them")
        for label in options:
            self.add(f"collector.step_{label}/gpt2_{precision}", medians[label], commands[label], note, facts,
                     baseline=medians["plain"])

    def asked_records(self, name):
        """How many rows there are that are only recorded where they are asked for."""
        try:
            return self.sessions.row(self.session(name), "SELECT (SELECT count(*) FROM um_event) AS um_events, "
                                                         "(SELECT count(*) FROM api_call) AS api_calls, "
                                                         "(SELECT count(*) FROM kernel WHERE start_ns IS NOT NULL) AS kernels")
        except RuntimeError as failure:
            return {"error": str(failure)}

    def take_turns(self, name, commands, turns, kept_s=60):
        """Jobs that are resident all the time and compute in turns, in random order: medians of their steps for each turn, and
        how each of them ended. Stops early, to keep `kept_s` for ending them."""
        jobs = {label: paced.PacedJob(command, self.folder, f"{name}.{label}") for label, command in commands.items()}
        medians, error = {label: [] for label in jobs}, None
        try:
            for one in jobs.values():
                one.wait_for("paused", limit_s=90)
                one.steps(BURST, limit_s=60)
            for _ in range(turns):
                if self.left() < kept_s:  # for ending the jobs, writing traces and reading the session
                    break
                order = list(jobs)
                self.random.shuffle(order)
                for label in order:
                    medians[label].append(round(statistics.median(jobs[label].steps(BURST, limit_s=60)[SKIPPED:])))
        except RuntimeError as failure:
            error = str(failure)
        for one in jobs.values():
            one.release()
        ended = {label: one.finish(limit_s=120) for label, one in jobs.items()}
        for label, cell in ended.items():
            self.keep({"cell": f"{name}.{label}", **cell, **cells.parse_gpt2(cell["stdout"]), "error": error})
        if error or not medians["plain"]:
            raise RuntimeError(error or "no alternation was measured")
        return medians, ended

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
                 facts, baseline=[medians[0]] * 2)
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

    def begin_long(self):
        if self.arguments.dry_run:
            return self.long()
        self.beside = threading.Thread(target=self.long_beside, daemon=True)
        self.beside.start()

    def long_beside(self):
        try:
            self.long()
        except Exception as error:  # noqa: BLE001: the cells beside it go on
            self.keep({"cell": "long", "rc": -1, "timed_out": False, "stdout": "", "stderr": repr(error)})

    def end_long(self):
        if self.beside:
            self.beside.join(timeout=max(self.left(), 1))

    def iterations(self):
        first, last = 12, 14
        command = self.profiled("iterations", [self.arguments.python, *self.gpt2("bf16", "--warmup", "0", "--steps", "40")],
                                "--range", f"iterations:{first}..{last}", "--counters", "off")
        self.job("iterations", command, limit_s=60)
        if self.arguments.dry_run:
            return
        session = self.session("iterations")
        self.sessions.ask("analyze", session, "--no-plan")
        rows = self.sessions.rows(session, "SELECT number, count(*) AS calls, count(kernel.start_ns) AS ran FROM iteration JOIN "
                                           "kernel ON kernel.process_id = iteration.process_id AND operation BETWEEN "
                                           "first_operation AND last_operation GROUP BY number ORDER BY number")
        whole = [row["number"] for row in rows if row["ran"] == row["calls"]]
        far = sum(row["ran"] for row in rows if not first - 2 <= row["number"] <= last + 2)
        right = whole == list(range(whole[0], whole[0] + last - first + 1)) if whole else False
        facts = {"asked": [first, last], "whole": whole, "iterations": len(rows), "kernels_far_from_it": far,
                 "ran": {row["number"]: row["ran"] for row in rows if row["ran"]}, "losses": self.sessions.losses(session)}
        self.add("collector.iterations_range", [float(right and whole[0] == first and far == 0)], command,
                 "1 is: iterations 12 to 14, as the analysis counts them, were recorded whole, and nothing two iterations from "
                 "them", facts)

    def keep_last(self):
        command = self.profiled("keep_last", [self.arguments.python, *self.gpt2("bf16", "--warmup", "0", "--steps", "150")],
                                "--keep-last", "3s", "--counters", "on")
        self.job("keep_last", command, limit_s=60)
        if self.arguments.dry_run:
            return
        session = self.session("keep_last")
        row = self.sessions.row(session, "SELECT (max(start_ns) - min(start_ns)) / 1e9 AS seconds, count(start_ns) AS ran, "
                                         "count(call_ns) AS calls, sum(name_id IS NULL) AS nameless FROM kernel")
        unknown = self.sessions.number(session, "SELECT count(*) AS n FROM access WHERE allocation_id IS NULL")
        counters = self.sessions.number(session, "SELECT (max(end_ns) - min(start_ns)) / 1e9 AS n FROM counter")
        facts = {**row, "unknown_accesses": unknown, "counter_seconds": counters, "join": self.sessions.join(session),
                 "losses": self.sessions.losses(session)}
        right = 2.9 <= row["seconds"] <= 5.0 and row["nameless"] == 0 and unknown == 0
        self.add("collector.keep_last", [float(right)], command,
                 "1 is: kernels of at least the last 3 and at most 5 seconds, each with its name and with allocations that are "
                 "known", facts)

    def names(self):
        job = self.gpt2("fp32", "--warmup", "0", "--steps", "12")
        cell = self.job("names", self.profiled("names", [self.arguments.python, *job], "--names", "pytorch", "--counters", "off"),
                        limit_s=60)
        if self.arguments.dry_run:
            return
        session = self.session("names")
        self.sessions.ask("analyze", session, "--no-plan")
        tables = json.loads(self.sessions.ask("report", "memory", session, "--by", "category", "--format", "json"))["tables"]
        alive = {row["category"] or "unknown": row["together"] for row in tables[0]["rows"]}
        known = json.loads(self.sessions.ask("query", "SELECT category, source, count(*) AS n, sum(bytes) AS bytes FROM "
                                             "allocation_name JOIN allocation ON allocation.id = allocation_id GROUP BY category, "
                                             "source", session, "--format", "json"))["tables"][0]["rows"]
        weights = 4 * self.parameters()
        named = 1 - alive.get("unknown", 0) / max(sum(alive.values()), 1)
        right = (abs(alive.get("weight", 0) / weights - 1) < 0.02 and abs(alive.get("optimizer", 0) / (2 * weights) - 1) < 0.05
                 and alive.get("activation", 0) > 0 and named > 0.9)
        self.add("collector.names", [float(right)], cell["command"],
                 "1 is: at the peak the weights have the bytes that the sample's parameters have, the optimizer's states twice as "
                 "many, and nine tenths of all bytes have a name",
                 {"alive_at_peak": alive, "parameter_bytes": weights, "named_share": named, "rows": known,
                  "step_ms": cells.parse_gpt2(cell["stdout"])})

    def parameters(self):
        done = subprocess.run([self.arguments.python, *self.gpt2("fp32", "--plan-only")], capture_output=True, text=True,
                              timeout=60, check=True)
        return int(done.stdout.split()[1])

    def access_layers(self):
        command = self.profiled("access.layers", [self.programs.find("tferry-sample-layers-cuda"), "--buffers", "14", "--mib", "8",
                                                  "--iterations", "4", "--hidden", "3"], "--access-direction", "--counters", "off")
        cell = self.job("access.layers", command, limit_s=40)
        if self.arguments.dry_run:
            return
        rows = self.directions("access.layers")
        def kinds(kernel):
            return {row["kind"]: row["n"] for row in rows if kernel in row["name"] and row["how"] == 4}
        launched = self.sessions.number(self.session("access.layers"), "SELECT count(*) AS n FROM kernel JOIN string ON "
                                        "string.id = name_id WHERE string.value LIKE '%combine%' AND call_ns IS NOT NULL")
        layers, fill, sums = kinds("combine"), kinds("fill"), kinds("sums")
        read, write, both = 2, 3, 4
        right = (cell["rc"] == 0 and layers.get(write, 0) > 0 and layers.get(write, 0) + layers.get(both, 0) == launched
                 and layers.get(read, 0) >= launched and set(fill) == {write} and set(sums) == {read, both})
        self.add("collector.access_direction", [float(right)], command,
                 "1 is: the layers sample's answer is right, each layer writes one argument (over its input or elsewhere) and reads "
                 "the rest, a fill overwrites, sums are added to", {"directions": rows, "layers": launched})

    def access_gpt2(self):
        job = [self.arguments.python, *self.gpt2("fp32", "--layers", "3", "--batch", "2", "--warmup", "0", "--steps", "4")]
        plain = self.job("access.gpt2.plain", job, limit_s=40)
        command = self.profiled("access.gpt2", job, "--access-direction", "--counters", "off")
        cell = self.job("access.gpt2", command, limit_s=90)
        if self.arguments.dry_run:
            return
        before, after = cells.parse_gpt2(plain["stdout"]), cells.parse_gpt2(cell["stdout"])
        by_kind = {}
        for row in self.directions("access.gpt2"):
            key = f"{row['kind']} known by {row['how']}"
            by_kind[key] = by_kind.get(key, 0) + row["n"]
        facts = {"plain": before, "tried": after, "accesses": by_kind, "join": self.sessions.join(self.session("access.gpt2"))}
        same = bool(before.get("loss_sha256")) and before.get("loss_sha256") == after.get("loss_sha256")
        self.add("collector.access_same_results", [float(same)], command, "1 is: the losses of four steps are the same with and "
                                                                          "without the pass", facts)

    def pages(self):
        self.pages_layers()
        self.pages_gpt2()

    def pages_layers(self):
        name, hidden = "pages.layers", 3
        job = [self.programs.find("tferry-sample-layers-cuda"), "--buffers", "14", "--mib", "8", "--iterations", "4",
               "--hidden", str(hidden)]
        command = self.profiled(name, job, "--access", "pages", "--counters", "off")
        cell = self.job(name, command, limit_s=25)
        if self.arguments.dry_run:
            return
        launched = {row["name"]: row["n"] for row in self.sessions.rows(
            self.session(name), "SELECT string.value AS name, count(*) AS n FROM kernel JOIN string ON string.id = name_id WHERE "
                                "call_ns IS NOT NULL GROUP BY 1")}
        touches = self.touches(name)
        facts = {**pages_checks.compare(touches, launched, hidden), "touches": touches, **self.pages_found(name)}
        self.add("collector.pages", [float(cell["rc"] == 0 and not facts["differences"])], command,
                 "1 is: the layers sample's answer is right; of each launch what it touches came by page faults, its output "
                 "never read first where it is only written, and exactly the weights that a table in device memory names were "
                 "reached without an argument", facts)

    def pages_gpt2(self):
        steps = 3
        job = [self.arguments.python, *self.gpt2("fp32", "--layers", "3", "--batch", "2", "--warmup", "0", "--steps", str(steps))]
        plain = self.job("pages.gpt2.plain", job, limit_s=20)
        command = self.profiled("pages.gpt2", job, "--access", "pages", "--counters", "off")
        cell = self.job("pages.gpt2", command, limit_s=60)
        if self.arguments.dry_run:
            return
        before, after = cells.parse_gpt2(plain["stdout"]), cells.parse_gpt2(cell["stdout"])
        facts = {"plain": before, "watched": after, "join": self.sessions.join(self.session("pages.gpt2")),
                 **self.pages_found("pages.gpt2"), "by_pointer": [row for row in self.touches("pages.gpt2") if row["by_pointer"]]}
        same = bool(before.get("loss_sha256")) and before.get("loss_sha256") == after.get("loss_sha256")
        watched = int(facts["found"].get("touched", 0)) > 0
        self.add("collector.pages_same_results", [float(same and watched)], command,
                 "1 is: the losses of three steps are the same with and without the pass, and the pass found something", facts)
        # The first step makes the optimizer's states and loads kernels, with the pass and without.
        samples = [one["step_ns"][1:] for one in (after, before)]
        if all(samples):
            self.add("collector.pages_step", samples[0], command, "steps 2 and 3 of GPT-2 with 3 layers and a batch of 2, every "
                     "launch watched, over those without the pass", facts, baseline=samples[1])

    def touches(self, name):
        return self.sessions.rows(self.session(name), """
            SELECT string.value AS name, access.kind AS kind, known_by AS how, argument_offset IS NULL AS by_pointer,
                   count(*) AS n, count(DISTINCT allocation_id) AS allocations, sum(access.bytes) AS bytes
            FROM access JOIN kernel USING (process_id, operation) JOIN string ON string.id = kernel.name_id
            GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC""")

    def pages_found(self, name):
        """What the pass says of itself, and what the records of unified memory look like: kinds, causes, groups of faults."""
        session = self.session(name)
        meta = self.sessions.rows(session, "SELECT key, value FROM meta WHERE key LIKE 'access_pages.%'")
        events = self.sessions.rows(session, """
            SELECT kind, cause, count(*) AS n, sum(count) AS groups, max(count) AS most, sum(bytes) AS bytes,
                   min(bytes) AS least_bytes, max(bytes) AS most_bytes FROM um_event GROUP BY 1, 2""")
        homing = self.sessions.rows(session, """
            SELECT count(*) AS launches, sum(end_ns - start_ns) / 1e6 AS homing_ms, max(room_bytes) AS most_bytes
            FROM gate WHERE on_gpu = 0""")
        clock = self.sessions.rows(session, """
            SELECT (SELECT min(start_ns) FROM um_event) - (SELECT min(start_ns) FROM gate WHERE on_gpu = 0) AS first_ns,
                   (SELECT max(start_ns) FROM um_event) - (SELECT max(end_ns) FROM gate WHERE on_gpu = 0) AS last_ns""")
        return {"found": {row["key"].split(".", 1)[1]: row["value"] for row in meta}, "um_events": events, "homing": homing,
                "events_after_first_and_last_homing": clock, "losses": self.sessions.losses(session)}

    def directions(self, name):
        return self.sessions.rows(self.session(name), "SELECT string.value AS name, access.kind AS kind, known_by AS how, count(*) AS n "
                                                      "FROM access JOIN kernel USING (process_id, operation) JOIN string ON "
                                                      "string.id = kernel.name_id GROUP BY 1, 2, 3 ORDER BY 4 DESC")

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
        torchrun = [self.arguments.python, "-m", "torch.distributed.run", "--nproc-per-node", "2", *self.script("ranks.py")[1:]]
        command = self.profiled("ranks", torchrun)
        cell = self.job("ranks", command, limit_s=120)
        if self.arguments.dry_run:
            return
        rows = self.sessions.rows(self.session("ranks"), "SELECT rank, count(*) AS n FROM process JOIN kernel ON process_id = "
                                                         "process.id WHERE kernel.start_ns IS NOT NULL GROUP BY rank ORDER "
                                                         "BY rank")
        right = cell["rc"] == 0 and [row["rank"] for row in rows] == [0, 1] and all(row["n"] > 10 for row in rows)
        self.add("collector.torchrun_ranks", [float(right)], command,
                 "1 is: one session has the kernels of both ranks; on one GPU they share it", {"kernels": rows})

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
        with self.lock:
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
    parser.add_argument("--few-alternations", type=int, default=6, help="of step_all")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the alternations")
    parser.add_argument("--at-once", action="store_true",
                        help="cells that ask what was recorded run at the same time, behind the others")
    parser.add_argument("--dry-run", action="store_true", help="print the commands and stop")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tferry-collector-") as folder:
        Collector(arguments, folder).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
