#!/usr/bin/env python3
"""Measures the claims that begin with "profile.": what recording costs, and whether recordings are right.

    benchmarks/profile.py --bundle build/bundle --out "$OUT" --python python3 --time-limit 400

Cells, in the order in which they run (--cells takes a comma-separated list of beginnings):
    wire                     copies of known sizes: rates of the link, what a byte costs by the PCIe counters
    layers.exact             the C++ sample recorded; counts and bytes against its known answers
    layers.copies            the same in half its memory; copies against the PCIe counters, both directions
    overhead.gpt2_fp32       GPT-2 124M natively and under `tferry profile`, taking turns: 20 alternations of 12 steps
    overhead.gpt2_bf16       the same in bf16
    ingest                   `tferry merge` of both jobs' spools, but the sampler's: rows a second, bytes an event
    no_preload, second_client, killed, budget             cases that need a GPU, without figures
    calls                    a launch, an allocation and a free by themselves: alone, under run, under profile
    parts.gpt2_bf16          the bf16 job once under each part of recording: run, CUPTI alone, hooks and CUPTI, the sampler, too
    fresh.gpt2_fp32, _bf16   the overhead jobs as jobs of their own, one after the other, to check the turns by
    xl                       GPT-2 XL of about 150 GiB recorded while parking

In the overhead cells both jobs are on the card all the time and one waits while the other computes (gpt2.py
--pause-every), so that starting Python 80 times does not take ten minutes. What the sampler does to the whole card
would then burden both sides; the fresh cells, where nothing of ours runs beside the native job, are there to show it.

A cell that fails is recorded and the script goes on. Files in --out: profile_raw.json (for tferry-bench record),
profile_checks.json (pass, fail or unknown of every case, with `tferry report quality`), profile_log.txt.
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import cells, paced, profile_checks, recordings, wire_cost  # noqa: E402

BURST, SKIPPED = 12, 2
SHAPE = ["--layers", "12", "--width", "768", "--heads", "12", "--batch", "8", "--context", "1024"]
XL = ["--layers", "48", "--width", "1600", "--heads", "25", "--batch", "15", "--context", "1024", "--precision", "fp32"]
LAYERS_EXACT = ["--buffers", "32", "--mib", "64", "--iterations", "5"]
LAYERS_COPIES = ["--buffers", "64", "--mib", "256", "--iterations", "4"]
KNOWN = re.compile(r"^known (\S+(?: [a-z_]+)?) (\d+)(?: of (\d+) bytes)?$", re.MULTILINE)
OWN, PROGRAM = 2, 1  # memcpy.owner


class Profile:
    def __init__(self, arguments, folder):
        repository = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.arguments = arguments
        self.folder = folder
        self.programs = cells.Programs(arguments.bundle, repository, must_exist=not arguments.dry_run)
        self.deadline = time.monotonic() + arguments.time_limit
        self.raw = cells.Raw(os.path.join(arguments.out, "profile_raw.json"), "profile", repository)
        self.log = os.path.join(arguments.out, "profile_log.txt")
        self.sessions = recordings.Recordings(self.programs.find("tferry"))
        self.checks = []
        self.cost = None         # of a byte on the wire, from the cell "wire"
        self.cost_unknown = "the cell wire was not run"
        self.joins = []          # of each session of a whole job

    def left(self):
        return self.deadline - time.monotonic()

    def run(self):
        for name, cell in (("wire", self.wire), ("layers.exact", self.layers_exact), ("layers.copies", self.layers_copies),
                           ("overhead.gpt2_fp32", lambda: self.overhead("fp32")),
                           ("overhead.gpt2_bf16", lambda: self.overhead("bf16")), ("ingest", self.ingest),
                           ("no_preload", self.no_preload), ("second_client", self.second_client),
                           ("killed", self.killed), ("budget", self.budget), ("calls", self.calls),
                           ("parts.gpt2_bf16", self.parts),
                           ("fresh.gpt2_fp32", lambda: self.fresh("fp32")),
                           ("fresh.gpt2_bf16", lambda: self.fresh("bf16")), ("xl", self.xl)):
            chosen = self.arguments.cells
            if chosen and not any(name.startswith(prefix) for prefix in chosen.split(",")):
                continue
            if self.left() < 15 and not self.arguments.dry_run:
                self.raw.add({"cell": name, "skipped": "no time left"})
                continue
            self.run_cell(name, cell)
        self.conclude()

    def run_cell(self, name, cell):
        start = time.monotonic()
        try:
            cell()
        except Skip:
            return
        except Exception as error:  # noqa: BLE001: whatever it is, the other cells shall still run
            print(f"{name}: {error!r}", flush=True)
            if not self.arguments.dry_run:
                self.raw.add({"cell": name, "error": repr(error)})
        if not self.arguments.dry_run:
            self.write_checks()
            print(f"cell {name}: {time.monotonic() - start:.1f} s, {self.left():.0f} s left", flush=True)

    # Running jobs

    def session(self, name):
        return os.path.join(self.folder, name + ".tferry")

    def profiled(self, name, job, *options):
        return [self.programs.find("tferry"), "profile", "-o", self.session(name),
                "--json", os.path.join(self.folder, name + ".run.json"), *options, "--", *job]

    def gpt2(self, precision, *options):
        return [self.arguments.python, self.programs.find("gpt2.py"), *SHAPE, "--precision", precision, *options]

    def script(self, name):
        return [self.arguments.python, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", name)]

    def job(self, name, command, limit_s, parse=None):
        """Runs one job to its end; its cell is in the raw file whatever happened."""
        if self.arguments.dry_run:
            print(f"{name}: {' '.join(command)}")
            raise Skip()
        cell = {"cell": name, **cells.run_job(command, min(limit_s, max(self.left() - 5, 5)), self.folder, name)}
        if parse:
            cell.update(parse(cell["stdout"]))
        self.keep(cell)
        return cell

    def keep(self, cell):
        cell["run"] = cells.read_json(os.path.join(self.folder, cell["cell"] + ".run.json"))
        self.raw.add(cell)
        cells.append_log(self.log, cell)
        if cell["rc"] != 0:
            print(f"{cell['cell']}: rc {cell['rc']}, timed out: {cell['timed_out']}: {cell['stderr'].strip()[-200:]}")

    def check(self, name, outcome, figures, session=None):
        quality = None
        if session and os.path.exists(session):
            try:
                quality = self.sessions.quality(session)
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                quality = f"unknown: {error}"
        self.checks.append({"name": name, "result": outcome[0], "says": outcome[1], "figures": figures,
                            "quality": quality})
        print(f"check {name}: {outcome[0]}: {outcome[1]}", flush=True)

    def write_checks(self):
        path = os.path.join(self.arguments.out, "profile_checks.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({"schema": "tferry.checks/1", "git": self.raw.data["git"], "date": self.raw.data["date"],
                       "checks": self.checks}, file, indent=1)
            file.write("\n")
        os.replace(path + ".new", path)

    def note_join(self, name):
        """How well the two halves of a session fit."""
        self.joins.append({"cell": name, **self.sessions.join(self.session(name))})
        self.raw.data["joins"] = self.joins
        self.raw.write()

    # Cells

    def wire(self):
        cell = self.job("wire", self.profiled("wire", self.script("wire.py")), limit_s=60)
        session = self.session("wire")
        names = [row["value"] for row in self.sessions.rows(session, "SELECT DISTINCT string.value FROM counter JOIN "
                                                                     "string ON string.id = name_id")]
        facts = {"counters": names, "losses": self.sessions.losses(session)}
        self.check("counters", profile_checks.counters(facts), facts, session)
        told = json.loads(cell["stdout"])
        self.raw.data["machine"].update({key: told[key] for key in ("h2d_gbps", "d2h_gbps", "duplex_gbps")})
        copies = wire_cost.copies_of(self.sessions, session)
        recorded = [sum(c["bytes"] for c in copies if c["kind"] == kind) for kind in (1, 2)]
        right = recorded == [told["bytes_in"], told["bytes_out"]]
        self.check("known_copies", ("pass" if right else "fail",
                                    f"recorded {recorded[0]} bytes in and {recorded[1]} out, made were "
                                    f"{told['bytes_in']} and {told['bytes_out']}"), {"recorded": recorded}, session)
        try:
            self.cost = wire_cost.calibrate(copies, wire_cost.window_reader(self.sessions, session))
            self.raw.data["wire_cost"] = self.cost
        except wire_cost.Unknown as reason:
            self.cost_unknown = str(reason)
        self.raw.write()

    def layers_exact(self):
        program = self.programs.find("tferry-sample-layers-cuda")
        command = self.profiled("layers.exact", [program, *LAYERS_EXACT])
        self.job("layers.exact", command, limit_s=60, parse=cells.parse_layers)
        plan = subprocess.run([program, *LAYERS_EXACT, "--plan-only"], capture_output=True, text=True, timeout=30,
                              check=True).stdout
        session = self.session("layers.exact")
        known = {what: [int(count)] + ([int(size)] if size else []) for what, count, size in KNOWN.findall(plan)}
        recorded = {"hooks": self.recorded(session, "operation IS NOT NULL", allocations=True),
                    "CUPTI": self.recorded(session, "start_ns IS NOT NULL", allocations=False)}
        differences = profile_checks.compare_known(known, recorded)
        outcome = ("fail", "; ".join(differences)) if differences else ("pass", f"{len(known)} kinds of figures agree")
        self.check("layers_exact", outcome, {"known": known, "recorded": recorded}, session)
        self.note_join("layers.exact")
        self.add("profile.layers_exact", [float(not differences)], command,
                 "1 is: every count and byte that hooks and CUPTI recorded is the sample's known answer")

    def recorded(self, session, condition, allocations):
        program = f"owner <> {OWN} AND {condition}"

        def tally(table, where):
            row = self.sessions.row(session, f"SELECT count(*) AS n, coalesce(sum(bytes), 0) AS bytes FROM {table} "
                                             f"WHERE {where}")
            return [row["n"], row["bytes"]]

        found = {"kernel": [self.sessions.number(session, f"SELECT count(*) AS n FROM kernel WHERE {program}")],
                 "memset": tally("memset", program)}
        for kind, what in ((1, "host_to_device"), (2, "device_to_host"), (3, "device_to_device")):
            found["memcpy " + what] = tally("memcpy", f"{program} AND kind = {kind}")
        if allocations:
            found["allocation"] = tally("allocation", "memory_kind = 3")
            found["free"] = tally("allocation", "memory_kind = 3 AND free_ns IS NOT NULL")
        return found

    def layers_copies(self):
        if self.cost is None and not self.arguments.dry_run:
            self.check("copies_vs_pcie", ("unknown", self.cost_unknown), {})
            return
        program = self.programs.find("tferry-sample-layers-cuda")
        command = self.profiled("layers.copies", [program, *LAYERS_COPIES], "--budget", "8GiB")
        self.job("layers.copies", command, limit_s=90, parse=cells.parse_layers)
        session = self.session("layers.copies")
        copies = wire_cost.copies_of(self.sessions, session, "bytes > 0")
        window = {"start_ns": copies[0]["start_ns"], "end_ns": max(c["end_ns"] for c in copies)}
        moved = [sum(c["bytes"] for c in copies if c["kind"] == kind) for kind in (1, 2)]
        try:
            wire = wire_cost.traffic(window, self.cost["idle_per_s"], wire_cost.window_reader(self.sessions, session),
                                     margin_ns=1_000_000)
        except wire_cost.Unknown as reason:
            self.check("copies_vs_pcie", ("unknown", str(reason)), {"moved": moved}, session)
            return
        deviations = [abs(found / expected - 1) for found, expected in
                      zip(wire, wire_cost.foretell(self.cost, *moved))]
        figures = {"bytes_in": moved[0], "bytes_out": moved[1], "wire": wire, "deviations": deviations,
                   "calibration": self.cost}
        self.check("copies_vs_pcie", ("pass" if max(deviations) <= 0.03 else "fail",
                                      "the PCIe counters differ from the recorded copies by "
                                      + " and ".join(f"{100 * d:.2f} %" for d in deviations) + " (in, out)"),
                   figures, session)
        self.add("profile.copies_vs_pcie/layers", deviations, command,
                 "how far the PCIe counters (in, out) are from what the recorded copies cost on the wire by a calibration "
                 "with copies of known sizes; idle traffic subtracted", {"calibration": self.cost, "moved": moved})

    def overhead(self, precision):
        name = f"overhead.gpt2_{precision}"
        turns = self.arguments.alternations
        # One more burst before them: the first steps load modules and find the iterations.
        job = self.gpt2(precision, "--warmup", "0", "--steps", str((turns + 1) * BURST), "--pause-every", str(BURST))
        command = self.profiled(name, job, "--keep-spools", os.path.join(self.folder, name + ".spools"))
        if self.arguments.dry_run:
            print(f"{name}: {' '.join(command)}")
            return
        reserve = 40  # seconds for ending both and reading the session
        jobs = [paced.PacedJob(job, self.folder, name + ".native"), paced.PacedJob(command, self.folder, name)]
        medians, error = ([], []), None
        try:
            for one in jobs:
                one.wait_for("paused", limit_s=90)
                one.steps(BURST, limit_s=60)
            medians = paced.alternate(*jobs, turns, BURST, SKIPPED, lambda: self.left() > reserve)
        except RuntimeError as failure:
            error = str(failure)
        ended = [one.finish(limit_s=60) for one in jobs]
        for cell, label in zip(ended, (name + ".native", name)):
            self.keep({"cell": label, **cell, **cells.parse_gpt2(cell["stdout"]), "error": error})
        losses = [cells.parse_gpt2(cell["stdout"])["losses"] for cell in ended]
        if not error and medians[0]:
            self.note_join(name)
            self.add(f"profile.overhead/gpt2_{precision}", medians[1], command,
                     f"median of the last {BURST - SKIPPED} of {BURST} steps on each side, taking turns on one card; "
                     f"losses the same: {losses[0] == losses[1]}",
                     {"losses_same": losses[0] == losses[1]}, baseline=medians[0])
        elif error:
            raise RuntimeError(error)

    def fresh(self, precision):
        """Both sides as jobs of their own, nothing of ours on the card while the native one runs."""
        medians = ([], [])
        for turn in range(self.arguments.fresh):
            if self.left() < 40:
                break
            name = f"fresh.gpt2_{precision}.{turn}"
            job = self.gpt2(precision, "--warmup", str(SKIPPED), "--steps", str(BURST - SKIPPED))
            for side, command in enumerate((job, self.profiled(name, job))):
                cell = self.job(name + (".native", "")[side], command, 60, cells.parse_gpt2)
                if cell["step_ns"]:
                    medians[side].append(round(statistics.median(cell["step_ns"])))
        self.raw.data.setdefault("fresh", {})[precision] = {"native_ns": medians[0], "profiled_ns": medians[1]}
        self.raw.write()

    def calls(self):
        """Nanoseconds of single calls, the same pattern under everything that is compared, in turns."""
        program = [self.programs.find("tferry-call-cost")]
        sides = {"alone": lambda name: program,
                 "run": lambda name: [self.programs.find("tferry"), "run", "-q", *program],
                 "profile": lambda name: self.profiled(name, program)}
        told = {side: [] for side in sides}
        for turn in range(3):
            for side, command in sides.items():
                name = f"calls.{side}.{turn}"
                cell = self.job(name, command(name), limit_s=40)
                if cell["rc"] == 0:
                    told[side].append(json.loads(cell["stdout"].strip().split("\n")[-1]))
        self.raw.data["calls"] = told
        for side in ("run", "profile"):
            extra = [with_us["launch"]["median"] - alone["launch"]["median"]
                     for alone, with_us in zip(told["alone"], told[side])]
            self.add(f"profile.launch_ns/{side}", [float(ns) for ns in extra], program,
                     f"what a launch of nine pointers costs its thread more under {side}, at the median of 18,000; alone it "
                     f"costs {[alone['launch']['median'] for alone in told['alone']]} ns", {"calls": told})

    def parts(self):
        """Where the time goes in the job that is bound by launches: one more part of recording at a time."""
        job = self.gpt2("bf16", "--warmup", "4", "--steps", "24")
        sides = {"native": lambda name: job,
                 "run": lambda name: [self.programs.find("tferry"), "run", "-q", "--", *job],
                 "cupti": lambda name: self.profiled(name, job, "--no-preload", "--counters", "off"),
                 "hooks": lambda name: self.profiled(name, job, "--counters", "off"),
                 "all": lambda name: self.profiled(name, job)}
        told = {side: [] for side in sides}
        for turn in range(self.arguments.fresh):
            for side, command in sides.items():
                if self.left() < 30:
                    break
                name = f"parts.{side}.{turn}"
                cell = self.job(name, command(name), 60, cells.parse_gpt2)
                if cell["step_ns"]:
                    told[side].append(round(statistics.median(cell["step_ns"])))
        self.raw.data["parts"] = {"gpt2_bf16": told}
        self.raw.write()

    def ingest(self):
        if self.arguments.dry_run:
            raise Skip()
        rates, sizes, command = [], [], []
        for precision in ("fp32", "bf16"):
            folder = os.path.join(self.folder, f"overhead.gpt2_{precision}.spools")
            spools = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if ".sampler." not in name]
            session = self.session(f"ingest.{precision}")
            command = [self.programs.find("tferry"), "merge", "--force", *spools, "-o", session]
            for attempt in range(2):
                cell = self.job(f"ingest.{precision}.{attempt}", command, limit_s=90)
                counts = self.sessions.counts(session)
                rates.append(sum(counts.values()) / cell["wall_s"])
            sizes.append({"precision": precision, "session_bytes": os.path.getsize(session), "rows": counts,
                          "events": sum(counts[table] for table in recordings.EVENT_TABLES),
                          "spool_bytes": {os.path.basename(spool): os.path.getsize(spool) for spool in spools}})
            os.remove(session)
        self.add("profile.ingest_rows_per_second", rates, command,
                 "rows of events and accesses over the whole time of tferry merge: reading, joining, writing, indexes")
        self.add("profile.bytes_per_event", [size["session_bytes"] / size["events"] for size in sizes], command,
                 "bytes of the session over its events: kernels, copies, memsets, allocations, synchronisations ...; "
                 "accesses belong to their operation; counter samples are left out of both", {"sessions": sizes})

    def no_preload(self):
        cell = self.job("no_preload", self.profiled("no_preload", self.gpt2("fp32", "--steps", "3"), "--no-preload"), 60)
        self.check("no_preload", profile_checks.no_preload(self.facts("no_preload", cell)), {},
                   self.session("no_preload"))

    def facts(self, name, cell):
        session = self.session(name)
        own = f"SELECT coalesce(sum(bytes), 0) AS n FROM memcpy WHERE owner = {OWN} AND start_ns IS NOT NULL AND kind = "
        return {"rc": cell["rc"], "losses": self.sessions.losses(session),
                "timed_kernels": self.sessions.number(session, "SELECT count(*) AS n FROM kernel WHERE end_ns > start_ns"),
                "allocations": self.sessions.number(session, "SELECT count(*) AS n FROM allocation"),
                "own_in": self.sessions.number(session, own + "1"), "own_out": self.sessions.number(session, own + "2")}

    def second_client(self):
        cell = self.job("second_client", self.profiled("second_client", self.script("second_client.py")), 60)
        try:
            told = json.loads(cell["stdout"].strip().split("\n")[-1])
        except ValueError:
            told = {"right": False, "gpu_events_seen_by_torch": 0, "torch_profiler_error": "it printed no answer"}
        facts = {**self.facts("second_client", cell), "right": told["right"],
                 "seen_by_torch": told["gpu_events_seen_by_torch"], "torch_error": told["torch_profiler_error"]}
        self.check("second_client", profile_checks.second_client(facts), facts, self.session("second_client"))

    def killed(self):
        command = self.profiled("killed", self.gpt2("fp32", "--warmup", "0", "--steps", "1000"))
        if self.arguments.dry_run:
            print(f"killed: {' '.join(command)}")
            return
        step = 3
        job = paced.PacedJob(command, self.folder, "killed")
        try:
            job.wait_for(f"step {step} ", limit_s=60)
            for member in cells.session_members(job.process.pid):
                if is_gpt2(member):
                    os.kill(member, signal.SIGKILL)
        finally:
            cell = {"cell": "killed", **job.finish(limit_s=60)}
        self.keep(cell)
        facts = {**self.facts("killed", cell), "step": step}
        self.check("killed", profile_checks.killed(facts), facts, self.session("killed"))

    def budget(self):
        steps = ["--warmup", "1", "--steps", "4"]
        plain = self.job("budget.plain", self.profiled("budget.plain", self.gpt2("fp32", *steps)), 60, cells.parse_gpt2)
        cell = self.job("budget", self.profiled("budget", self.gpt2("fp32", *steps), "--budget", "9.8GiB"), 90,
                        cells.parse_gpt2)
        session = self.session("budget")
        moved = {row["label"]: row["bytes"] for row in self.sessions.rows(
            session, "SELECT label, sum(bytes) AS bytes FROM swap JOIN enumeration AS e ON e.name = 'transfer_kind' "
                     "AND e.value = swap.kind GROUP BY label")}
        facts = {**self.facts("budget", cell), "parked": moved.get("park", 0), "fetched": moved.get("fetch", 0),
                 "same_losses": bool(cell["losses"]) and cell["losses"] == plain["losses"],
                 "gates": self.sessions.number(session, "SELECT count(*) AS n FROM gate"),
                 "kernel_time_ratio": self.kernel_time_ratio(session, self.session("budget.plain"))}
        self.check("budget", profile_checks.budget(facts), facts, session)

    def kernel_time_ratio(self, session, plain):
        """Time of the kernels that both have, as often as the first launches them, over what the second takes."""
        sql = (f"SELECT string.value || grid_x || 'x' || grid_y || 'x' || grid_z AS kernel, count(*) AS launches, "
               f"avg(end_ns - start_ns) AS mean FROM kernel JOIN string ON string.id = name_id "
               f"WHERE end_ns > start_ns AND owner <> {OWN} GROUP BY 1")
        ours, others = ({row["kernel"]: row for row in self.sessions.rows(one, sql)} for one in (session, plain))
        common = [key for key in ours if key in others]
        expected = sum(ours[key]["launches"] * others[key]["mean"] for key in common)
        return sum(ours[key]["launches"] * ours[key]["mean"] for key in common) / expected

    def xl(self):
        job = [self.arguments.python, self.programs.find("gpt2.py"), *XL, "--warmup", "1", "--steps", "2"]
        cell = self.job("xl", self.profiled("xl", job, "--budget", "auto"), 150, cells.parse_gpt2)
        facts = {**self.facts("xl", cell), "finished": cell["loss_sha256"] is not None,
                 "footprint": cells.runtime_counter(cell, "allocated_peak"),
                 "card": self.sessions.number(self.session("xl"), "SELECT max(memory_bytes) AS n FROM device")}
        self.check("xl", profile_checks.beyond_the_card(facts), facts, self.session("xl"))

    # Results

    def conclude(self):
        if self.joins:
            self.add("profile.join_mismatches", [float(j["mismatches"]) for j in self.joins], [],
                     "calls without a record of the GPU and records of the program without a call, one sample a session",
                     {"joins": self.joins})
        for measurement in self.raw.data["measurements"]:
            precision = measurement["claim"].rpartition("gpt2_")[2]
            fresh = self.raw.data.get("fresh", {}).get(precision)
            if measurement["claim"].startswith("profile.overhead/") and fresh and fresh["profiled_ns"]:
                measurement["checks"]["fresh"] = fresh
                measurement["checks"]["fresh_slowdown"] = (statistics.median(fresh["profiled_ns"]) /
                                                           statistics.median(fresh["native_ns"]))
        if not self.arguments.dry_run:
            self.raw.data["checks"] = [{key: check[key] for key in ("name", "result", "says")} for check in self.checks]
            self.raw.write()

    def add(self, claim, samples, command, note, checks=None, baseline=None):
        slowdown = baseline is not None
        measurement = {"claim": claim, "kind": "measured", "metric": "slowdown" if slowdown else "value",
                       "command": "benchmarks/profile.py --bundle build/bundle --out OUT",
                       "job": cells.job_of({"command": command}),
                       "subject": {"label": "tferry profile", "samples_ns" if slowdown else "samples": samples},
                       "checks": checks or {}, "note": note}
        if slowdown:
            measurement["baseline"] = {"label": "native", "samples_ns": baseline}
        self.raw.data["measurements"].append(measurement)
        self.raw.write()


class Skip(Exception):
    """A dry run goes no further into a cell."""


def is_gpt2(pid):
    """Whether a process runs gpt2.py, and is not the tferry that started it."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().decode(errors="replace").split("\0")
    except OSError:
        return False
    launcher = "tferry" in [os.path.basename(word) for word in words[:2]]
    return not launcher and any(word.endswith("gpt2.py") for word in words)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bundle", required=True, help="folder with bin/tferry and its libraries")
    parser.add_argument("--out", default=".", help="folder for the results")
    parser.add_argument("--cells", default="", help="beginnings of cell names, comma-separated; all when empty")
    parser.add_argument("--time-limit", type=float, default=400, help="seconds for everything")
    parser.add_argument("--python", default="python3", help="the interpreter that has torch")
    parser.add_argument("--alternations", type=int, default=20)
    parser.add_argument("--fresh", type=int, default=1, help="alternations of fresh jobs, for each precision")
    parser.add_argument("--dry-run", action="store_true", help="print the commands and stop")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tferry-profile-") as folder:
        Profile(arguments, folder).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
