#!/usr/bin/env python3
"""Measures on a machine with several GPUs: links, contention, ranks that take turns, the neighbour's link.

    benchmarks/several_gpus.py --bundle build/bundle --out "$OUT" --python python3 --time-limit 420

Parts (--parts), in this order; each has a limit of its own, and the others run when one fails:
    calibrate   `tferry calibrate`: each GPU alone, every pair, all together; groups, relays, managed memory
    profile     GPT-2 124M fp32 on all GPUs under torchrun, with counters: a session of several ranks, which also has the plan
                for ranks that exchange gradients in every step
    copies      a process for each GPU copies alone and together (lib/both_ways.py): the stretch that the session's analysis
                finds, the one that the copies' own clocks give, and the calibration's
    table       set-ups (--setups) and intervals (--every), all rows under the same budget: lms_fair, lms_interleave,
                lms_orchestrate (--policy lms, --coordinate off, interleave, orchestrate), ours_fair and ours_coordinated
                (--plan of a recording, --coordinate off, orchestrate). The rows of a case are started together, and take turns (lib/ranked.py): in each alternation (--alternations) every one runs a burst of steps
                while the others pause, the order turned by one each time; a ballast on each GPU leaves them their budgets,
                2 GiB a rank for context, modules and NCCL, and 1 GiB for each rank that goes by a neighbour. Losses must be those of lms_fair
    route       one hot GPU and idle neighbours: steps of one rank by each route, in turns
Set-ups: natural (every GPU by its own link), one_link (all host traffic by the first GPU's link), two_links (by the first and
the third one's, with four GPUs); only where they are named: pair and pair_one_link (the same with the first two GPUs of a
larger machine), one_gpu (two ranks on the first GPU, gloo, exchanging the loss alone), no_p2p (natural, but gradients go through
host memory, NCCL_P2P_DISABLE=1, as on machines without NVLink: before its cells lib/all_reduce.py is recorded with that and
without, and where the PCIe counters say that sums do not go that way, its cells are left out). Parts, set-ups and intervals are taken in the
order in which they are named; what is left of the time is shared evenly by the cases of the table.
What this tferry has no option for is skipped and said.

Files in --out: several_gpus_raw.json, several_gpus_log.txt, calibration.json, calibration.txt, and gzipped sessions ranks.tferry.gz,
copies.tferry.gz, turns.tferry.gz (the last run under a plan with turns) and sums.tferry.gz (of no_p2p).
"""

import argparse
import contextlib
import gzip
import json
import os
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import (cells, contention_check, coordination_results, gradient_way, ranked, recordings,  # noqa: E402
                 several_gpus_results)

PARTS = ("calibrate", "profile", "copies", "table", "route")
ROWS = {"lms_fair": ("--policy", "lms", "--coordinate", "off"),
        "lms_interleave": ("--policy", "lms", "--coordinate", "interleave"),
        "lms_orchestrate": ("--policy", "lms", "--coordinate", "orchestrate"),
        "ours_fair": ("--plan", "SESSION", "--coordinate", "off"),
        "ours_coordinated": ("--plan", "SESSION", "--coordinate", "orchestrate")}
# With --short, where no link is shared and turns have nothing to do.
SHORT = {setup: ("lms_fair", "ours_fair", "ours_coordinated") for setup in ("natural", "pair", "no_p2p")}
# One hot GPU: each route without a plan, and the direct one and both with plans made while the job runs.
ROUTES = (("lms", "direct"), ("lms", "neighbour"), ("lms", "both"), ("ours", "direct"), ("ours", "both"))
EXCHANGE = {"natural": "gradients", "one_link": "gradients", "two_links": "gradients", "pair": "gradients",
            "pair_one_link": "gradients", "one_gpu": "loss", "no_p2p": "gradients_by_host"}
ASKED_FOR = ("pair", "pair_one_link", "one_gpu", "no_p2p")  # measured where --setups names them
OF_TWO_RANKS = ("pair", "pair_one_link", "one_gpu")
# Of a set-up's jobs. NCCL chooses other kernels and grids without peers, so that plans need a recording of their own.
VARIABLES = {"one_gpu": {"CUDA_VISIBLE_DEVICES": "0"}, "no_p2p": {"NCCL_P2P_DISABLE": "1"}}
WAYS = {"natural": "gradients_over_pcie/{}", "no_p2p": "gradients_over_pcie/{}_no_p2p"}
BURST = {1: 8, 16: 16}  # steps of a turn, whole rounds between synchronisations
SKIPPED = 2  # first steps of a burst: in the pause before them the link has caught up
WARM_UP = {1: {"lms": 1, "ours": 2}, 16: {"lms": 1, "ours": 1}}  # bursts before the turns: a plan is found and adopted
ALLOWANCE = 2 * cells.GIB  # of a rank, beside its budget
ROUTE_S = 80  # kept for the part "route"
READY_S = 90  # until all rows of a case must be there
BURST_S = 40  # of a burst at most
CLOSING_S = 20  # kept for ending a case's jobs
LARGEST_FILE = 15 * cells.MIB
NAMES = {2: "two_gpus", 4: "four_gpus", 8: "eight_gpus"}


def ranks_of(setup, gpus):
    return 2 if setup in OF_TWO_RANKS else gpus


def exchange_word(setup):
    """What --exchange of the job is."""
    return EXCHANGE[setup].removesuffix("_by_host")


def in_words(variables, command):
    return " ".join([f"{name}={value}" for name, value in variables.items()] + command)


@contextlib.contextmanager
def environment(variables):
    """For jobs started inside: these variables are none of this process's own."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def setup_name(setup, gpus):
    if setup == "one_gpu":
        return setup
    if setup.startswith("pair"):
        setup, gpus = setup.removeprefix("pair").removeprefix("_") or "natural", 2
    name = NAMES.get(gpus, f"{gpus}_gpus")
    return name if setup == "natural" else f"{name}_{setup}"


def routes_of(setup, gpus):
    """By which way each rank's host traffic goes; None: the direct one."""
    if setup in ("one_link", "pair_one_link"):
        return ["direct"] + ["neighbour:0"] * (ranks_of(setup, gpus) - 1)
    if setup == "two_links":
        half = gpus // 2
        return ["direct"] + ["neighbour:0"] * (half - 1) + ["direct"] + [f"neighbour:{half}"] * (gpus - half - 1)
    return None


class SeveralGpus:
    def __init__(self, arguments, folder):
        repository = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.arguments, self.folder = arguments, folder
        self.programs = cells.Programs(arguments.bundle, repository, must_exist=not arguments.dry_run)
        self.tferry = self.programs.find("tferry")
        self.deadline = time.monotonic() + arguments.time_limit
        self.raw = cells.Raw(os.path.join(arguments.out, "several_gpus_raw.json"), "several_gpus", repository)
        self.log = os.path.join(arguments.out, "several_gpus_log.txt")
        self.sessions = recordings.Recordings(self.tferry)
        self.gpus = arguments.gpus or max(self.raw.data["machine"]["gpus"], 2)
        self.raw.data["series"] = cells.earlier_series(arguments.append, self.raw.data)
        self.run_help = "--route" if arguments.dry_run else self.sessions.ask("run", "--help")
        self.plans = {}  # by what is exchanged: session and facts
        self.recorded = set()  # what was tried
        self.summed = False  # whether it was asked by which way sums go
        self.port = arguments.port

    def left(self):
        return self.deadline - time.monotonic()

    def chosen(self, option, all_of_them):
        """Those that were asked for, in the order in which they were; all of them where none was."""
        wanted = [word for word in getattr(self.arguments, option).split(",") if word]
        return [one for word in wanted for one in all_of_them if str(one) == word] if wanted else [*all_of_them]

    def next_port(self):
        self.port += 1
        return str(self.port)

    def run(self):
        for part in self.chosen("parts", PARTS):
            self.attempt(part, getattr(self, part))
        calibration = cells.read_json(os.path.join(self.arguments.out, "calibration.json"))
        self.raw.data["measurements"] = several_gpus_results.measurements(self.raw.data, calibration, self.arguments.factor)
        if not self.arguments.dry_run:
            self.raw.write()

    def attempt(self, name, phase):
        try:
            phase()
        except Exception as error:  # noqa: BLE001: whatever it is, the other parts shall still run
            self.say(f"{name}: {error!r}")
            if not self.arguments.dry_run:
                self.raw.add({"cell": name, "error": repr(error)})

    def say(self, text):
        print(f"{text}, {self.left():.0f} s left", flush=True)

    def execute(self, name, command, limit_s, environment=None):
        """One command; None when it was not run, an error when it failed."""
        if self.arguments.dry_run:
            print(f"{name}: {in_words(environment or {}, command)}")
            return None
        if self.left() < 15:
            self.raw.add({"cell": name, "skipped": "no time left"})
            raise RuntimeError("no time left")
        cell = {"cell": name, **cells.run_job(command, min(limit_s, self.left() - 5), self.folder, name, environment)}
        self.raw.add(cell)
        cells.append_log(self.log, cell)
        self.say(f"{name}: rc {cell['rc']} wall {cell['wall_s']} s")
        if cell["rc"] != 0:
            raise RuntimeError(f"{name}: rc {cell['rc']}: {cell['stderr'].strip()[-300:]}")
        return cell

    def give_out(self, session, name):
        """A session among the results, where it is small enough."""
        if self.arguments.dry_run or not os.path.exists(session):
            return
        target = os.path.join(self.arguments.out, name + ".gz")
        with open(session, "rb") as source, gzip.open(target, "wb", compresslevel=6) as out:
            shutil.copyfileobj(source, out)
        if os.path.getsize(target) > LARGEST_FILE:
            self.raw.add({"cell": name, "skipped": f"{os.path.getsize(target)} bytes are too many to keep"})
            os.remove(target)

    # Links

    def calibrate(self):
        """Once; where that fails, once more with the most important experiments only."""
        figures = os.path.join(self.arguments.out, "calibration.json")
        seconds = 20 + 8 * self.gpus
        for name, words, limit in (("calibrate", ["--time-limit", str(seconds), "--repeats", "3"], seconds + 25),
                                   ("calibrate.short", ["--time-limit", "10", "--repeats", "2", "--run", "512MiB"], 40)):
            try:
                cell = self.execute(name, [self.tferry, "calibrate", *words, "--json", figures, "--force"], limit)
            except RuntimeError as error:
                self.say(repr(error))
                continue
            if cell is not None:
                with open(os.path.join(self.arguments.out, "calibration.txt"), "w", encoding="utf-8") as file:
                    file.write(cell["stdout"])
            return

    # Sessions

    def gpt2(self, *options):
        return [self.arguments.python, self.programs.find("gpt2.py"), *options]

    def profile(self, exchange="gradients"):
        self.recorded.add(exchange)
        by_host = exchange == "gradients_by_host"
        name = "ranks_by_host.tferry" if by_host else "ranks.tferry"
        session = os.path.join(self.folder, name)
        self.execute("profile.no_p2p" if by_host else "profile", [
            self.tferry, "profile", "--counter-interval", "500us", "-o", session, "--", self.arguments.python, "-m",
            "torch.distributed.run", "--nproc-per-node", str(self.gpus), "--master-port", self.next_port(),
            self.programs.find("gpt2.py"), "--warmup", "2", "--steps", "4", "--backend", "nccl"], 90,
            VARIABLES["no_p2p"] if by_host else None)
        try:
            self.analyze(exchange, session)
        finally:
            self.give_out(session, name)

    def record_plain(self):
        """A session of one rank that exchanges nothing, for plans of steps in which ranks do not meet."""
        session = os.path.join(self.folder, "plain.tferry")
        self.execute("plain.profile", [self.tferry, "profile", "--counters", "off", "-o", session, "--",
                                       *self.gpt2("--warmup", "2", "--steps", "4")], 60)
        self.analyze("loss", session)

    def analyze(self, exchange, session):
        planned = os.path.join(self.folder, exchange + ".planned.tferry")
        self.execute(exchange + ".analyze", [self.tferry, "analyze", session, "--oversubscribe", self.arguments.factor, "-o",
                                             planned], 60)
        facts = {"budget_bytes": "BUDGET"}
        if not self.arguments.dry_run:
            facts = self.sessions.row(planned, "SELECT budget_bytes, predicted_ns, bound_ns, in_memory_ns FROM plan "
                                               "ORDER BY id DESC LIMIT 1")
            self.raw.data.setdefault("facts", {})[exchange] = facts
        self.plans[exchange] = {"session": planned, **facts}

    def plan_for(self, exchange, every):
        """The plan of the steps that most of the time is spent in: with an exchange in each of them, or without, which also
        serves where the former could not be recorded."""
        if exchange.startswith("gradients") and every == 1:
            if exchange not in self.recorded:
                self.attempt("profile", lambda: self.profile(exchange))
            if exchange in self.plans:
                return self.plans[exchange]
        if "loss" not in self.plans:
            self.record_plain()
        return self.plans["loss"]

    def copies(self):
        session = os.path.join(self.folder, "copies.tferry")
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "both_ways.py")
        cell = self.execute("copies", [self.tferry, "profile", "--counter-interval", "500us", "-o", session, "--",
                                       self.arguments.python, script, str(self.gpus)], 60)
        try:
            self.execute("copies.analyze", [self.tferry, "analyze", session, "--no-plan"], 30)
        finally:
            self.give_out(session, "copies.tferry")
        if cell is None:
            return
        phases = contention_check.phases_of(cell["stdout"])
        found = {"phases": phases, "stretch": contention_check.stretches(self.sessions, session, phases),
                 "calibrated": contention_check.calibrated(
                     cells.read_json(os.path.join(self.arguments.out, "calibration.json")))}
        self.raw.data["contention"] = found
        self.raw.data["contention_report"] = json.loads(
            self.sessions.ask("report", "contention", "causes", "links", session, "--format", "json"))
        self.raw.write()
        self.say(f"copies: stretch {found['stretch']}")

    # Ranks

    def table(self):
        cases = [(setup, every) for every in self.chosen("every", BURST) for setup in self.offered_setups()]
        parts = self.chosen("parts", PARTS)
        reserved = ROUTE_S if "route" in parts[parts.index("table"):] and "--route" in self.run_help else 0
        for number, (setup, every) in enumerate(cases):
            if setup == "no_p2p" and not self.by_host():
                continue
            weights = [len(self.rows_of(case[0])) for case in cases[number:]]
            share = max((self.left() - reserved) * weights[0] / sum(weights), 60)
            self.attempt(f"{setup}.{every}", lambda setup=setup, every=every, share=share: self.case(setup, every, share))

    def by_host(self):
        """Whether gradients of no_p2p go through host memory, as far as is known; asked once."""
        ways = self.raw.data.setdefault("gradient_ways", {})
        if not self.summed:
            self.summed = True
            for setup in ("natural", "no_p2p"):
                self.attempt("sums." + setup, lambda setup=setup: self.sums(setup, ways))
        taken = ways.get("no_p2p", {}).get("way", "unknown")
        if taken == "between the GPUs":
            self.raw.add({"cell": "no_p2p", "skipped": "gradients do not go through host memory with NCCL_P2P_DISABLE=1"})
            return False
        self.say(f"no_p2p: gradients go by {taken}")
        return True

    def sums(self, setup, ways):
        """Bytes over PCIe while NCCL sums a buffer over all GPUs."""
        session = os.path.join(self.folder, f"sums.{setup}.tferry")
        cell = self.execute("sums." + setup, [
            self.tferry, "profile", "--counter-interval", "500us", "-o", session, "--", self.arguments.python,
            self.helper("launch_ranks.py"), str(self.gpus), self.next_port(), self.arguments.python,
            self.helper("all_reduce.py")], 60, VARIABLES.get(setup))
        if cell is None:
            return
        ranks = gradient_way.ranks_of(cell["stdout"])
        by_need, why = gradient_way.bytes_by_need(self.sessions, session, ranks)
        ways[setup] = {"claim": WAYS[setup].format(setup_name("natural", self.gpus)), "by_need": by_need, "unknown": why,
                       "way": gradient_way.way(by_need), "ranks": ranks}
        if setup == "no_p2p":
            self.give_out(session, "sums.tferry")
        self.raw.write()
        self.say(f"sums.{setup}: {ways[setup]['way']}, {by_need} of what has to be sent and received crosses PCIe {why}")

    def offered_setups(self):
        found = []
        for setup in self.chosen("setups", EXCHANGE):
            if setup in ASKED_FOR and not self.arguments.setups:
                continue
            if setup == "two_links" and self.gpus < 4:
                continue
            if routes_of(setup, self.gpus) and "--route" not in self.run_help:
                self.raw.add({"cell": setup, "skipped": "this tferry run has no --route"})
                continue
            found.append(setup)
        return found

    def rows_of(self, setup):
        rows = self.chosen("rows", ROWS)
        return [row for row in rows if row in SHORT[setup]] if self.arguments.short and setup in SHORT else rows

    def rank_job(self, setup, every, ranks):
        return [self.arguments.python, self.helper("launch_ranks.py"), str(ranks), self.next_port(),
                *self.gpt2("--warmup", "0", "--steps", "100000", "--pause-every", str(BURST[every]), "--synchronise",
                           str(every), "--exchange", exchange_word(setup), "--backend", "gloo" if setup == "one_gpu" else "nccl")]

    def helper(self, name):
        return os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", name)

    def row_command(self, name, setup, every, row, plan, ranks):
        words = [plan["session"] if word == "SESSION" else word for word in ROWS[row]]
        if row.startswith("ours"):
            words += ["--output", os.path.join(self.folder, name + ".own.tferry")]
        if routes_of(setup, self.gpus):
            words += ["--route", ",".join(routes_of(setup, self.gpus))]
        if "orchestrate" in words:
            words += self.arguments.orchestrate.split()
        return [self.tferry, "run", "--json", os.path.join(self.folder, name + ".run.json"), "--budget",
                str(plan["budget_bytes"]), *words, "--", *self.rank_job(setup, every, ranks)]

    def case(self, setup, every, share):
        """The rows of one case, taking turns, for about `share` seconds."""
        until = time.monotonic() + share
        plan = self.plan_for(EXCHANGE[setup], every)
        ranks = ranks_of(setup, self.gpus)
        name = setup_name(setup, self.gpus)
        commands = {row: self.row_command(f"{name}.{every}.{row}", setup, every, row, plan, ranks)
                    for row in self.rows_of(setup)}
        if self.arguments.dry_run:
            for row, command in commands.items():
                print(f"{name}.{every}.{row}: {in_words(VARIABLES.get(setup, {}), command)}")
            return
        with environment(VARIABLES.get(setup, {})):
            jobs, runs = self.take_turns(f"{name}.{every}", commands, every, ranks, plan, until,
                                         sum(route != "direct" for route in routes_of(setup, self.gpus) or []))
        for row, found in runs.items():
            summary = cells.read_json(os.path.join(self.folder, f"{name}.{every}.{row}.run.json"))
            told = {"turns": coordination_results.turns_of(summary), "moved": coordination_results.moved_of(summary)}
            for run in found:
                run.update({"rc": jobs[row]["rc"], **told})
            self.raw.data["series"].setdefault(name, {}).setdefault(str(every), {}).setdefault(row, []).extend(found)
        self.raw.write()
        self.give_out(os.path.join(self.folder, f"{name}.{every}.ours_coordinated.own.tferry"), "turns.tferry")

    def ballasts(self, name, room, gpus):
        """One on each GPU, and a sampler of what is in use."""
        watched, found = [], []
        for gpu in range(gpus):
            for program, words in (("tferry-ballast", ["--leave", str(room)]), ("tferry-memory-sampler", [])):
                try:
                    watched.append(cells.Helper([self.programs.find(program), "--device", str(gpu), *words]))
                    found.append({"gpu": gpu, "program": program, "said": watched[-1].first_line})
                except (OSError, RuntimeError) as error:
                    found.append({"gpu": gpu, "program": program, "error": str(error)})
        self.raw.add({"cell": name + ".room", "room_bytes": room, "helpers": found})
        return watched

    def take_turns(self, name, commands, every, ranks, plan, until, guests=0):
        """Starts the jobs, lets them take turns; how each ended, and its runs. A job that fails is left out from then on.
        `guests`: ranks of each job that go by another GPU's link, and so have a context there."""
        on_one_gpu = 2 if os.environ.get("CUDA_VISIBLE_DEVICES") == "0" else 1
        room = len(commands) * (on_one_gpu * (plan["budget_bytes"] + ALLOWANCE) + guests * cells.GIB)
        watched = self.ballasts(name, room, 1 if on_one_gpu > 1 else self.gpus)
        jobs, runs, errors = {}, {row: [] for row in commands}, {}
        try:
            jobs = {row: ranked.RankedJob(command, self.folder, f"{name}.{row}", ranks)
                    for row, command in commands.items()}
            ready = time.monotonic() + READY_S
            for row in commands:
                self.guard(errors, row, lambda row=row: jobs[row].wait_until_ready(max(ready - time.monotonic(), 1)))
            for row in commands:
                for _ in range(WARM_UP[every]["lms" if "lms" in row else "ours"]):
                    self.guard(errors, row, lambda row=row: jobs[row].burst(BURST[every], BURST_S))
            for alternation in range(self.arguments.alternations):
                if time.monotonic() > until - CLOSING_S or self.left() < CLOSING_S + 10:
                    break
                first = alternation % len(commands)
                for row in [*commands][first:] + [*commands][:first]:
                    self.guard(errors, row, lambda row=row: runs[row].append(
                        self.turn(jobs[row], every, alternation)))
        finally:
            for job in jobs.values():
                job.process.stdin.close()
            ended = {row: job.finish(limit_s=CLOSING_S) for row, job in jobs.items()}
            for helper in watched:
                text = helper.close(within=10).strip()
                if text:
                    self.raw.data.setdefault("memory", {}).setdefault(name, []).append(json.loads(text))
        for row, cell in ended.items():
            cell = {"cell": f"{name}.{row}", **cell, "error": errors.get(row)}
            self.raw.add(cell)
            cells.append_log(self.log, cell)
            self.say(f"{cell['cell']}: rc {cell['rc']} {errors.get(row, '')} turns "
                     f"{[round(run['step_ns'] / 1e6, 1) for run in runs[row]]}")
        return ended, runs

    def guard(self, errors, row, action):
        if row in errors:
            return
        try:
            action()
        except (RuntimeError, OSError) as failure:
            errors[row] = str(failure)
            self.say(f"{row}: {failure}")

    def turn(self, job, every, alternation):
        times = job.burst(BURST[every], BURST_S)
        return {"alternation": alternation, "step_ns": ranked.slower_rank_ns(times, SKIPPED), "steps_ms": times,
                # As many as every row has had by now.
                "losses": job.loss_digests((alternation + 2) * BURST[every])}

    # The neighbour's link

    def route(self):
        """One rank whose host traffic goes by each route, in turns, the neighbours idle."""
        if "--route" not in self.run_help:
            self.raw.add({"cell": "route", "skipped": "this tferry run has no --route"})
            return
        plan = self.plan_for("gradients", 1)
        commands = {}
        for policy, route in ROUTES:
            commands[f"{policy}.{route}"] = [
                self.tferry, "run", "--json", os.path.join(self.folder, f"route.{policy}.{route}.run.json"), "--budget",
                str(plan["budget_bytes"]), "--route", route, *(["--policy", "lms"] if policy == "lms" else []), "--",
                *self.gpt2("--warmup", "0", "--steps", "100000", "--pause-every", str(BURST[1]))]
        if self.arguments.dry_run:
            for name, command in commands.items():
                print(f"route.{name}: {' '.join(command)}")
            return
        _, runs = self.take_turns("route", commands, 1, 1, plan, time.monotonic() + ROUTE_S)
        for name, found in runs.items():
            told = coordination_results.moved_of(cells.read_json(os.path.join(self.folder, f"route.{name}.run.json")))
            self.raw.data.setdefault("routes", {})[name] = {"runs": found, "moved": told}
        self.raw.write()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bundle", required=True, help="folder with bin/tferry and its libraries")
    parser.add_argument("--out", default=".", help="folder for the results")
    parser.add_argument("--gpus", type=int, default=0, help="how many (default: all)")
    parser.add_argument("--parts", default="", help="comma-separated, in this order; all when empty")
    parser.add_argument("--setups", default="", help="comma-separated; natural, one_link and two_links when empty")
    parser.add_argument("--every", default="", help="comma-separated of 1 and 16; all when empty")
    parser.add_argument("--rows", default="", help="comma-separated; all when empty")
    parser.add_argument("--short", action="store_true", help="fewer rows where no link is shared")
    parser.add_argument("--factor", default="1.5", help="footprint over budget")
    parser.add_argument("--alternations", type=int, default=6)
    parser.add_argument("--append", metavar="RAW", help="continue with the runs of an earlier several_gpus_raw.json")
    parser.add_argument("--orchestrate", default="", metavar="WORDS",
                        help="more words of tferry run for the orchestrated rows, such as '--slot-order deadline'")
    parser.add_argument("--port", type=int, default=29530, help="the first of those that ranks meet at")
    parser.add_argument("--time-limit", type=float, default=420, help="seconds for everything")
    parser.add_argument("--python", default="python3", help="the interpreter that has torch")
    parser.add_argument("--dry-run", action="store_true", help="print the commands and stop")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    # Multicast can put the GPUs of a shared host out of service.
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory(prefix="tferry-several-gpus-") as folder:
        os.environ["XDG_DATA_HOME"] = folder
        SeveralGpus(arguments, folder).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
