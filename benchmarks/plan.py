#!/usr/bin/env python3
"""Measures the claims that begin with "plan.": the look-ahead plan against the bound and against other ways.

    benchmarks/plan.py --bundle build/bundle --out "$OUT" --python python3 --time-limit 540
    benchmarks/plan.py ... --policies plan,live,lms --no-bytes --beyond     plans made while the job runs
    benchmarks/plan.py ... --append EARLIER/plan_raw.json          more alternations, in another session of the machine
    benchmarks/plan.py ... --facts EARLIER/plan_raw.json --policies pump,naive_um    budgets and bounds of an earlier recording

Jobs (--jobs): gpt2_fp32, GPT-2 124M, batch 8 x 1024; wide_bf16, 8 layers of width 4096. Factors (--factors): 1.33, 1.5
and 2.0 times oversubscribed. For each job, in this order:
    JOB.native            in memory, with the memory sampler beside it: losses, time, C
    JOB.profile           `tferry profile`, then JOB.F.analyze: `tferry analyze --oversubscribe F` for each factor;
                          budget, bound and prediction are read from the session before anything runs under the plan
    JOB.checkpoint, JOB.save_on_cpu      what PyTorch offers, each at its own peak
    JOB.F.bytes           the plan once more with the PCIe counters beside it
    JOB.F.POLICY          all policies and the job in memory, started together, with one ballast for all of them; then they take
                          turns: in each alternation (--alternations) every one makes a burst of steps while the others
                          pause, the order turned by one from each alternation to the next, the first two steps of a burst left out
    JOB.managed.F.POLICY  the same for pump and naive_um: as many factors at once as the card holds, in steps that end before the
                          next begins, so that only pump, which moves ahead of need, leaves out the first step of a burst
    BEYOND.A.POLICY       with --beyond: jobs of 150 GiB under the default budget, live and lms alternating
Policies (--policies): plan, live (a plan made while the job runs), lms (what a job without a plan gets; only when it is
named), lms_early, pump, naive_um (emulated). Before the turns live makes 30 steps, the job in memory five and the others ten; the first eight of live
are compared with those of lms: there the plan is made, taken over and judged. A ballast holds all device memory
but, for each job, its budget, C and 256 MiB; not for pump and naive_um, whose managed memory must never exceed what the card has free. What
this tferry has no option for is skipped and said; --words POLICY=WORDS gives other words.

A cell that fails is recorded and the script goes on. Files in --out: plan_raw.json (for tferry-bench record, and to be
continued), plan_log.txt, and the analysed sessions JOB.F.tferry, so that the bound can be computed anew.
"""

import argparse
import os
import shlex
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import cells, paced, plan_results, recordings, wire_cost  # noqa: E402

SLACK = 256 * cells.MIB
JOBS = {
    "gpt2_fp32": ["--layers", "12", "--width", "768", "--heads", "12", "--batch", "8", "--context", "1024",
                  "--precision", "fp32"],
    "wide_bf16": ["--layers", "8", "--width", "4096", "--heads", "32", "--batch", "8", "--context", "1024",
                  "--precision", "bf16"],
}
FACTORS = ("1.33", "1.5", "2.0")
# Words of `tferry run` by policy; SESSION stands for the analysed session, OUTPUT for the run's own.
WORDS = {"plan": "--plan SESSION --output OUTPUT", "live": "", "lms": "--policy lms",
         "lms_early": "--policy lms-early", "pump": "--memory managed", "naive_um": "--policy naive-um"}
ASKED_FOR = ("lms",)  # measured where --policies names it
# More managed memory than the card has free can hang the GPU, so no ballast may stand beside these.
MANAGED = ("pump", "naive_um")
MANAGED_BURST = {"pump": (2, 1), "naive_um": (1, 0)}  # steps of a turn, and how many of them settle
MANAGED_WARM_UP = 2  # bursts
STEPS = {"plan": (4, 6)}  # of jobs by themselves: warm-up, timed
BURST = 5  # steps of a turn
SETTLING = 2  # of these; in a pause the link catches up, so that they can be faster than the bound, which is for the long run
WARM_UP = {"native": 1, "live": 6}  # bursts before the turns begin, others
OTHERS_WARM_UP = 2
MOST_SECONDS = 120  # of one job
# Jobs that no card holds: what they print is parsed as the second entry says.
BEYOND = {
    "gpt2_xl_fp32": (["gpt2.py", "--layers", "48", "--width", "1600", "--heads", "25", "--batch", "15", "--context", "1024",
                      "--precision", "fp32", "--warmup", "0", "--steps", "16"], cells.parse_gpt2),
    "layers_cuda_150GiB": (["tferry-sample-layers-cuda", "--buffers", "150", "--mib", "1024", "--iterations", "24"],
                           cells.parse_layers),
}


class Plan:
    def __init__(self, arguments, folder):
        repository = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.arguments = arguments
        self.folder = folder
        self.programs = cells.Programs(arguments.bundle, repository, must_exist=not arguments.dry_run)
        self.deadline = time.monotonic() + arguments.time_limit
        self.raw = cells.Raw(os.path.join(arguments.out, "plan_raw.json"), "plan", repository)
        self.log = os.path.join(arguments.out, "plan_log.txt")
        self.sessions = recordings.Recordings(self.programs.find("tferry"))
        self.words = dict(WORDS)
        self.words.update(entry.split("=", 1) for entry in arguments.words)
        self.run_help = "" if arguments.dry_run else self.sessions.ask("run", "--help")
        self.facts = {}   # by job and factor: budget, bound, prediction ...
        self.native = {}  # by job: C and losses
        # Everything that claims are made of: series[job][factor][policy] is a list of runs, one an alternation.
        self.raw.data["series"] = cells.earlier_series(arguments.append, self.raw.data)

    def left(self):
        return self.deadline - time.monotonic()

    def chosen(self, option, all_of_them):
        wanted = [word for word in getattr(self.arguments, option).split(",") if word]
        return [one for one in all_of_them if (one in wanted if wanted else one not in ASKED_FOR)]

    def run(self):
        jobs = self.chosen("jobs", JOBS)
        for job in jobs:
            self.attempt(f"{job}.prepare", lambda job=job: self.prepare(job))
        for job in jobs:
            for factor in self.chosen("factors", FACTORS):
                self.attempt(f"{job}.{factor}", lambda job=job, factor=factor: self.take_turns(job, factor))
        for job in jobs:
            self.attempt(f"{job}.managed", lambda job=job: self.take_managed_turns(job))
        for alternation in range(self.arguments.alternations):
            for job in BEYOND if self.arguments.beyond else ():
                self.attempt(f"{job}.{alternation}", lambda job=job: self.go_beyond(job, alternation))
        self.raw.data["measurements"] = plan_results.measurements(self.raw.data["series"])
        if not self.arguments.dry_run:
            self.raw.write()

    def attempt(self, name, phase):
        try:
            phase()
        except Exception as error:  # noqa: BLE001: whatever it is, the other cells shall still run
            print(f"{name}: {error!r}", flush=True)
            if not self.arguments.dry_run:
                self.raw.add({"cell": name, "error": repr(error)})

    # Jobs

    def gpt2(self, job, *options):
        return [self.arguments.python, self.programs.find("gpt2.py"), *JOBS[job], *options]

    def measure(self, name, command, room=None, parse=cells.parse_gpt2, seconds=MOST_SECONDS):
        """One job with the memory sampler, and a ballast if `room` is given; None when it was not run."""
        if self.arguments.dry_run:
            print(f"{name}: {' '.join(command)}" + (f"   [ballast leaves {room}]" if room else ""))
            return None
        if self.left() < 30:
            self.raw.add({"cell": name, "skipped": "no time left"})
            return None
        cell = {"cell": name, **cells.run_watched(self.programs, command, min(seconds, self.left() - 5),
                                                  self.folder, name, parse, room)}
        cell["run"] = cells.read_json(os.path.join(self.folder, name + ".run.json"))
        cell["job_json"] = cells.read_json(os.path.join(self.folder, name + ".job.json"))
        self.raw.add({key: value for key, value in cell.items() if key != "job_json"})
        cells.append_log(self.log, cell)
        print(f"{name}: rc {cell.get('rc')} {cell.get('error', '')} wall {cell.get('wall_s')} s, median step "
              f"{cells.median_ms(cell)} ms, peak {cell.get('device_peak_bytes')}, {self.left():.0f} s left", flush=True)
        return cell

    def note(self, job, factor, policy, run):
        """Puts a run into its series, and the raw file on disk."""
        if run is None:
            return
        self.raw.data["series"].setdefault(job, {}).setdefault(factor, {}).setdefault(policy, []).append(run)
        self.raw.write()

    # Once for each job

    def prepare(self, job):
        self.native[job] = self.run_native(job, f"{job}.native")
        if self.arguments.facts:
            self.take_facts(job)
            return
        session = os.path.join(self.folder, job + ".tferry")
        self.tool(f"{job}.profile", ["profile", "--counters", "off", "-o", session, "--",
                                     *self.gpt2(job, "--warmup", "2", "--steps", "6")])
        for factor in self.chosen("factors", FACTORS):
            self.attempt(f"{job}.{factor}.analyze", lambda factor=factor: self.analyze(job, factor, session))
        for policy, memory in (("checkpoint", "checkpoint"), ("save_on_cpu", "save-on-cpu")):
            if policy in self.chosen("policies", (*WORDS, "checkpoint", "save_on_cpu")):
                self.run_alternative(job, policy, memory)
        if "plan" in self.chosen("policies", WORDS) and not self.arguments.no_bytes:
            self.attempt(f"{job}.bytes", lambda: self.count_bytes(job))

    def run_native(self, job, name):
        cell = self.measure(name, self.gpt2(job, "--warmup", "2", "--steps", "5", "--json",
                                            os.path.join(self.folder, name + ".job.json")))
        if cell is None or cell.get("rc") != 0:
            return None
        cell["torch_peak_reserved_bytes"] = (cell["job_json"] or {}).get("torch_peak_reserved_bytes", 0)
        own_use = cells.own_use(cell, "torch_peak_reserved_bytes")
        run = {**plan_results.run_of(cell), "own_use": own_use, "allocated_bytes": cell["torch_peak_reserved_bytes"]}
        self.note(job, "in_memory", "native", run)
        return run

    def tool(self, name, words):
        """A tferry command that is no measurement."""
        command = [self.programs.find("tferry"), *words]
        if self.arguments.dry_run:
            print(f"{name}: {' '.join(command)}")
            return None
        cell = {"cell": name, **cells.run_job(command, min(MOST_SECONDS, max(self.left() - 5, 5)), self.folder, name)}
        self.raw.add(cell)
        cells.append_log(self.log, cell)
        if cell["rc"] != 0:
            raise RuntimeError(f"{name}: rc {cell['rc']}: {cell['stderr'].strip()[-300:]}")
        return cell

    def analyze(self, job, factor, session):
        planned = self.planned_session(job, factor)
        self.tool(f"{job}.{factor}.analyze", ["analyze", session, "--oversubscribe", factor, "-o", planned])
        if self.arguments.dry_run:
            return
        bound = self.sessions.row(planned, "SELECT budget_bytes, bound_ns, in_memory_ns, coalesce(bytes_in, 0) AS "
                                           "bytes_in, coalesce(bytes_out, 0) AS bytes_out, resource FROM bound "
                                           "ORDER BY id DESC LIMIT 1")
        plans = self.sessions.rows(planned, "SELECT predicted_ns, sha256 FROM plan ORDER BY id DESC LIMIT 1")
        if not plans:
            raise RuntimeError("tferry analyze stored no plan")
        self.facts[job, factor] = {**{key: value for key, value in bound.items() if key != "known_by"},
                                   "predicted_ns": plans[0]["predicted_ns"], "sha256": plans[0]["sha256"]}
        self.raw.data.setdefault("facts", {}).setdefault(job, {})[factor] = self.facts[job, factor]
        self.raw.write()
        shutil.copyfile(planned, os.path.join(self.arguments.out, f"{job}.{factor}.tferry"))

    def take_facts(self, job):
        """Budgets, bounds and predictions of an earlier raw file. What needs the recording itself cannot be run by them."""
        earlier = cells.read_json(self.arguments.facts) or {}
        for factor in self.chosen("factors", FACTORS):
            self.facts[job, factor] = earlier["facts"][job][factor]
            self.raw.data.setdefault("facts", {}).setdefault(job, {})[factor] = self.facts[job, factor]
        self.raw.write()

    def planned_session(self, job, factor):
        return os.path.join(self.folder, f"{job}.{factor}.tferry")

    def run_alternative(self, job, policy, memory):
        name = f"{job}.{policy}"
        report = os.path.join(self.folder, name + ".job.json")
        cell = self.measure(name, self.gpt2(job, "--warmup", "2", "--steps", "4", "--memory", memory, "--json", report))
        if cell and cell.get("rc") == 0:
            self.note(job, "own_peak", policy, plan_results.run_of(cell))

    # Alternations

    def room(self, job, factor):
        """Bytes that the ballast leaves free for a job: budget, C and slack."""
        native, facts = self.native.get(job), self.facts.get((job, factor))
        if native is None or native["own_use"] is None or facts is None:
            return None
        return facts["budget_bytes"] + native["own_use"] + SLACK

    def offered(self, policies):
        """Those that this tferry has the options for; the others are said."""
        found = []
        for policy in policies:
            missing = plan_results.missing_option(self.words[policy], self.run_help)
            if missing and not self.arguments.dry_run:
                self.raw.add({"cell": policy, "skipped": f"this tferry run has no {missing}"})
            else:
                found.append(policy)
        return found

    def take_turns(self, job, factor):
        policies = self.offered(policy for policy in self.chosen("policies", WORDS) if policy not in MANAGED)
        name = f"{job}.{factor}"
        if not policies:
            return
        endless = self.endless(BURST)
        commands = {"native": self.gpt2(job, *endless),
                    **{policy: self.ferried(job, factor, policy, f"{name}.{policy}", endless) for policy in policies}}
        if self.arguments.dry_run:
            for label, command in commands.items():
                print(f"{name}.{label}: {' '.join(command)}")
            return
        room = self.room(job, factor)
        if room is None or self.left() < 60:
            self.raw.add({"cell": name, "skipped": "no time left" if room else "budget or C are unknown"})
            return
        native = self.native[job]
        together = len(policies) * room + native["allocated_bytes"] + native["own_use"] + SLACK
        bursts = self.bursts(name, commands, together)
        for label in commands:
            self.note_turns(job, factor, label, bursts)
        self.note(job, factor, "together", {"rc": 0, "room_bytes": together,
                                            "device_peak_bytes": bursts["watched"].get("device_peak_bytes")})

    @staticmethod
    def endless(burst):
        return ["--warmup", "0", "--steps", "100000", "--pause-every", str(burst)]

    def bursts(self, name, commands, room, burst_of=lambda label: (BURST, SETTLING),
               warm_up_of=lambda label: WARM_UP.get(label, OTHERS_WARM_UP)):
        """Lets the jobs take turns; {label: {"steps": a list of times for each alternation, "cell": how it ended}}."""
        watched = cells.Watched(self.programs, room)
        jobs, steps, error = {}, {label: [] for label in commands}, None
        try:
            watched.start()
            jobs = {label: paced.PacedJob(command, self.folder, f"{name}.{label}") for label, command in commands.items()}
            for label, one in jobs.items():
                one.wait_for("paused", limit_s=90)
                for _ in range(warm_up_of(label)):
                    one.steps(burst_of(label)[0], limit_s=90)
            for turn in range(self.arguments.alternations):
                if self.left() < 25:  # for ending the jobs
                    break
                first = turn % len(jobs)
                for label in [*jobs][first:] + [*jobs][:first]:
                    burst, settling = burst_of(label)
                    steps[label].append(jobs[label].steps(burst, limit_s=90)[settling:])
        except RuntimeError as failure:
            error = str(failure)
        ended = {label: one.finish(limit_s=30) for label, one in jobs.items()}
        found = {"watched": watched.stop()}
        for label, cell in ended.items():
            cell = {"cell": f"{name}.{label}", **cell, **cells.parse_gpt2(cell["stdout"]), "error": error,
                    "run": cells.read_json(os.path.join(self.folder, f"{name}.{label}.run.json"))}
            self.raw.add(cell)
            cells.append_log(self.log, cell)
            found[label] = {"steps": steps[label], "cell": cell}
            print(f"{cell['cell']}: rc {cell['rc']} {error or ''} turns "
                  f"{[round(plan_results.middle(times) / 1e6, 1) for times in steps[label]]}, {self.left():.0f} s left", flush=True)
        if error:
            raise RuntimeError(error)
        return found

    def note_turns(self, job, factor, label, bursts):
        cell, native = bursts[label]["cell"], bursts["native"]["cell"]
        for alternation, times in enumerate(bursts[label]["steps"]):
            run = {**plan_results.run_of({**cell, "step_ns": times, "every_step_ns": []}), "alternation": alternation,
                   "same_losses": plan_results.same_losses(cell, native)}
            if label != "native":
                run.update({**self.facts[job, factor], "own_use": self.native[job]["own_use"], "plan": cells.plan_counters(cell),
                            "native_ns": plan_results.middle(bursts["native"]["steps"][alternation])})
            if alternation == 0:
                run["first_ns"] = sum(cell["every_step_ns"][:plan_results.FIRST_STEPS])
            self.note(job, factor, label, run)

    def take_managed_turns(self, job):
        """Managed memory, which must never exceed what the card has free: so many factors at once as that allows."""
        policies = self.offered(policy for policy in self.chosen("policies", WORDS) if policy in MANAGED)
        native = self.native.get(job)
        factors = [factor for factor in self.chosen("factors", FACTORS)
                   if (job, factor) in self.facts or self.arguments.dry_run]
        if not policies or not factors or (native is None and not self.arguments.dry_run):
            return
        # A third more than the job takes, for the gaps between its tensors, and its context.
        limit = round(1.3 * native["allocated_bytes"]) + cells.GIB if native else 0
        at_once = len(factors)
        if native:
            one = len(policies) * (limit + (native["own_use"] or 0) + SLACK)
            at_once = max(1, min(at_once, cells.free_device_bytes() // one))
        for first in range(0, len(factors), at_once):
            self.attempt(f"{job}.managed", lambda first=first: self.managed_group(job, policies, limit,
                                                                                 factors[first:first + at_once]))

    def managed_group(self, job, policies, limit, factors):
        name = f"{job}.managed"
        labels = {f"{factor}.{policy}": (factor, policy) for factor in factors for policy in policies}
        limited = ["--managed-limit", str(limit)]
        commands = {label: self.ferried(job, factor, policy, f"{name}.{label}",
                                        self.endless(MANAGED_BURST[policy][0]), limited)
                    for label, (factor, policy) in labels.items()}
        if self.arguments.dry_run:
            for label, command in commands.items():
                print(f"{name}.{label}: {' '.join(command)}")
            return
        if self.left() < 60:
            self.raw.add({"cell": name, "skipped": "no time left"})
            return
        bursts = self.bursts(name, commands, None, burst_of=lambda label: MANAGED_BURST[labels[label][1]],
                             warm_up_of=lambda label: MANAGED_WARM_UP)
        for label, (factor, policy) in labels.items():
            cell = bursts[label]["cell"]
            for alternation, times in enumerate(bursts[label]["steps"]):
                self.note(job, factor, policy, {
                    **plan_results.run_of({**cell, "step_ns": times, "every_step_ns": []}), "alternation": alternation,
                    **self.facts[job, factor], "own_use": self.native[job]["own_use"], "plan": cells.plan_counters(cell),
                    "moved": cells.moved_bytes(cell), "steps_made": len(cell.get("every_step_ns") or []),
                    "native_ns": self.native[job]["step_ns"],
                    "same_losses": plan_results.same_losses(cell, self.native[job])})

    def alone(self, policy, name):
        """Options of a job that runs by itself."""
        warmup, steps = STEPS[policy]
        return ["--warmup", str(warmup), "--steps", str(steps), "--json", os.path.join(self.folder, name + ".job.json")]

    def ferried(self, job, factor, policy, name, options, more=()):
        """The command of a job under `tferry run`, which gets the options `more`."""
        budget = self.facts.get((job, factor), {}).get("budget_bytes", "BUDGET")
        output = os.path.join(self.folder, name + ".own.tferry")
        words = shlex.split(self.words[policy].replace("SESSION", self.planned_session(job, factor))
                            .replace("OUTPUT", output))
        return [self.programs.find("tferry"), "run", "--json", os.path.join(self.folder, name + ".run.json"),
                "--budget", str(budget), *words, *more, "--",
                *self.gpt2(job, *options)]

    def go_beyond(self, job, alternation):
        """A job that the card does not hold, with a plan made while it runs and without one."""
        (program, *options), parse = BEYOND[job]
        interpreter = [self.arguments.python] if program.endswith(".py") else []
        policies = ("live", "lms")
        for policy in policies[alternation % 2:] + policies[:alternation % 2]:
            name = f"{job}.{alternation}.{policy}"
            words = shlex.split(self.words[policy])
            cell = self.measure(name, [self.programs.find("tferry"), "run", "--json",
                                       os.path.join(self.folder, name + ".run.json"), *words, "--", *interpreter,
                                       self.programs.find(program), *options], parse=parse, seconds=300)
            if cell is not None:
                self.note(job, "auto", policy, {**plan_results.run_of(cell, beyond=True), "alternation": alternation,
                                                "plan": cells.plan_counters(cell)})

    # Bytes on the wire

    def count_bytes(self, job):
        """The plan at each factor with the PCIe counters of a `tferry profile` around `tferry run`."""
        if plan_results.missing_option(self.words["plan"], self.run_help):
            return
        cost = self.calibrate()
        for factor in self.chosen("factors", FACTORS):
            if (job, factor) in self.facts or self.arguments.dry_run:
                self.attempt(f"{job}.{factor}.bytes", lambda factor=factor: self.count_bytes_at(job, factor, cost))

    def calibrate(self):
        session = os.path.join(self.folder, "wire.tferry")
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "wire.py")
        if self.arguments.dry_run or not os.path.exists(session):
            self.tool("wire", ["profile", "-o", session, "--", self.arguments.python, script])
        if self.arguments.dry_run:
            return None
        return wire_cost.calibrate(wire_cost.copies_of(self.sessions, session),
                                   wire_cost.window_reader(self.sessions, session))

    def count_bytes_at(self, job, factor, cost):
        name = f"{job}.{factor}.bytes"
        session = os.path.join(self.folder, name + ".tferry")
        # The inner command records nothing itself; only the sampler of the outer one is wanted.
        plain = ["env", "-u", "CUDA_INJECTION64_PATH", "-u", "NVTX_INJECTION64_PATH"]
        self.tool(name, ["profile", "--no-preload", "-o", session, "--", *plain,
                         *self.ferried(job, factor, "plan", name, self.alone("plan", name))])
        if self.arguments.dry_run:
            return
        ends = cells.read_json(os.path.join(self.folder, name + ".job.json"))["step_end_ns"]
        warmup = STEPS["plan"][0]
        window, steps = (ends[warmup - 1], ends[-1]), len(ends) - warmup
        moved = wire_cost.payload(cost, window, wire_cost.window_reader(self.sessions, session))
        facts = self.facts[job, factor]
        self.note(job, factor, "bytes", {**facts, "bytes_in_per_step": moved[0] / steps,
                                         "bytes_out_per_step": moved[1] / steps,
                                         "forced": facts["bytes_in"] + facts["bytes_out"]})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bundle", required=True, help="folder with bin/tferry and its libraries")
    parser.add_argument("--out", default=".", help="folder for the results")
    parser.add_argument("--jobs", default="", help="comma-separated; all when empty, of policies all but lms")
    parser.add_argument("--factors", default="", help="comma-separated; all when empty, of policies all but lms")
    parser.add_argument("--policies", default="", help="comma-separated; all when empty, of policies all but lms")
    parser.add_argument("--alternations", type=int, default=5)
    parser.add_argument("--append", metavar="RAW", help="continue with the runs of an earlier plan_raw.json")
    parser.add_argument("--facts", metavar="RAW", help="budgets, bounds and predictions of an earlier plan_raw.json, for "
                        "policies that need no recording")
    parser.add_argument("--words", action="append", default=[], metavar="POLICY=WORDS",
                        help="other words of tferry run for a policy; SESSION stands for the analysed session")
    parser.add_argument("--beyond", action="store_true", help="also the jobs that the card does not hold")
    parser.add_argument("--no-bytes", action="store_true", help="leave out the cells that count bytes on the wire")
    parser.add_argument("--time-limit", type=float, default=540, help="seconds for everything")
    parser.add_argument("--python", default="python3", help="the interpreter that has torch")
    parser.add_argument("--dry-run", action="store_true", help="print the commands and stop")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tferry-plan-") as folder:
        Plan(arguments, folder).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
