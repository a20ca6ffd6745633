#!/usr/bin/env python3
"""Measures the claims that begin with "coordination.": two ranks of GPT-2 in less memory than they need.

    benchmarks/coordination.py --bundle build/bundle --out "$OUT" --python python3 --time-limit 590
    benchmarks/coordination.py ... --append EARLIER/coordination_raw.json    more alternations

Job: GPT-2 124M fp32, batch 8 x 1024 in each rank, 1.5 times oversubscribed (--factor). Set-ups (--setups):
    one_gpu    two ranks on one GPU, so that they share its link; gloo; they exchange the loss alone, since gloo would
               take gradients through host memory, over the link that is measured
    two_gpus   a GPU each, as they are plugged in; NCCL; they exchange gradients
They synchronise every --every (1 and 16) steps. Rows (--rows), all under the same budget:
    lms_fair, lms_interleave, lms_orchestrate     --policy lms, --coordinate off, interleave, orchestrate
    ours_fair, ours_coordinated                   --plan of a recording, --coordinate off, orchestrate
For each set-up and interval: SETUP.EVERY.profile and .analyze, then alternations (--alternations) in which every row runs
once, the order turned by one each time. The time of a step is that of the whole timed part over its steps, of the slower
rank: whole rounds between synchronisations. Losses of every rank must be those of lms_fair in the same alternation.

A cell that fails is recorded and the script goes on. Files in --out: coordination_raw.json, coordination_log.txt.
"""

import argparse
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import cells, coordination_results, recordings  # noqa: E402

SETUPS = {"one_gpu": {"visible": "0", "options": ["--backend", "gloo", "--exchange", "loss"]},
          "two_gpus": {"visible": "0,1", "options": ["--backend", "nccl", "--exchange", "gradients"]}}
ROWS = {"lms_fair": ("--policy", "lms", "--coordinate", "off"),
        "lms_interleave": ("--policy", "lms", "--coordinate", "interleave"),
        "lms_orchestrate": ("--policy", "lms", "--coordinate", "orchestrate"),
        "ours_fair": ("--plan", "SESSION", "--coordinate", "off"),
        "ours_coordinated": ("--plan", "SESSION", "--coordinate", "orchestrate")}
STEPS = {1: (6, 12), 16: (16, 32)}  # warm-up and timed, in whole rounds
MOST_SECONDS = 150  # of one job


def steps_of(every):
    return STEPS.get(every, (2 * every, 4 * every))


class Coordination:
    def __init__(self, arguments, folder):
        repository = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.arguments = arguments
        self.folder = folder
        self.programs = cells.Programs(arguments.bundle, repository, must_exist=not arguments.dry_run)
        self.deadline = time.monotonic() + arguments.time_limit
        self.raw = cells.Raw(os.path.join(arguments.out, "coordination_raw.json"), "coordination", repository)
        self.log = os.path.join(arguments.out, "coordination_log.txt")
        self.sessions = recordings.Recordings(self.programs.find("tferry"))
        # series[setup][every][row] is a list of runs, one an alternation.
        self.raw.data["series"] = cells.earlier_series(arguments.append, self.raw.data)
        self.budgets = {}

    def left(self):
        return self.deadline - time.monotonic()

    def chosen(self, option, all_of_them):
        wanted = [word for word in getattr(self.arguments, option).split(",") if word]
        return [one for one in all_of_them if not wanted or str(one) in wanted]

    def run(self):
        cases = [(setup, every) for setup in self.chosen("setups", SETUPS) for every in self.chosen("every", STEPS)]
        for case in cases:
            self.attempt("%s.%s.prepare" % case, lambda case=case: self.prepare(*case))
        for alternation in range(self.arguments.alternations):
            for case in cases:
                self.attempt(f"{case[0]}.{case[1]}.{alternation}", lambda case=case: self.alternate(*case, alternation))
        self.raw.data["measurements"] = coordination_results.measurements(self.raw.data["series"], self.arguments.factor)
        if not self.arguments.dry_run:
            self.raw.write()

    def attempt(self, name, phase):
        try:
            phase()
        except Exception as error:  # noqa: BLE001: whatever it is, the other cells shall still run
            print(f"{name}: {error!r}", flush=True)
            if not self.arguments.dry_run:
                self.raw.add({"cell": name, "error": repr(error)})

    def job(self, setup, every, report, warmup, steps):
        return [self.arguments.python, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port",
                str(self.arguments.port), self.programs.find("gpt2.py"), "--synchronise", str(every),
                *SETUPS[setup]["options"], "--warmup", str(warmup), "--steps", str(steps), "--json", report]

    def execute(self, name, setup, command):
        """One command; None when it was not run."""
        if self.arguments.dry_run:
            print(f"{name}: CUDA_VISIBLE_DEVICES={SETUPS[setup]['visible']} {' '.join(command)}")
            return None
        if self.left() < 40:
            self.raw.add({"cell": name, "skipped": "no time left"})
            return None
        cell = {"cell": name, **cells.run_job(command, min(MOST_SECONDS, self.left() - 5), self.folder, name,
                                              {"CUDA_VISIBLE_DEVICES": SETUPS[setup]["visible"],
                                               # a machine's own name need not lead anywhere
                                               "GLOO_SOCKET_IFNAME": os.environ.get("GLOO_SOCKET_IFNAME", "lo")})}
        self.raw.add(cell)
        cells.append_log(self.log, cell)
        return cell

    def session(self, setup, every):
        return os.path.join(self.folder, f"{setup}.{every}.tferry")

    def prepare(self, setup, every):
        recorded = os.path.join(self.folder, f"{setup}.{every}.recorded.tferry")
        report = os.path.join(self.folder, "profile.json")
        tferry = self.programs.find("tferry")
        for name, words in (
                ("profile", ["profile", "--counters", "off", "-o", recorded, "--", *self.job(setup, every, report, 2, 6)]),
                ("analyze", ["analyze", recorded, "--oversubscribe", self.arguments.factor, "-o",
                             self.session(setup, every)])):
            cell = self.execute(f"{setup}.{every}.{name}", setup, [tferry, *words])
            if cell is not None and cell["rc"] != 0:
                raise RuntimeError(f"{name}: rc {cell['rc']}: {cell['stderr'].strip()[-300:]}")
        if not self.arguments.dry_run:
            plan = self.sessions.row(self.session(setup, every), "SELECT budget_bytes, predicted_ns, bound_ns FROM plan "
                                                                 "ORDER BY id DESC LIMIT 1")
            self.budgets[setup, every] = plan["budget_bytes"]
            self.raw.data.setdefault("facts", {})[f"{setup}/{every}"] = plan

    def alternate(self, setup, every, alternation):
        if (setup, every) not in self.budgets and not self.arguments.dry_run:
            return
        rows = self.chosen("rows", ROWS)
        turn = alternation % len(rows)
        for row in rows[turn:] + rows[:turn]:
            self.run_row(setup, every, row, alternation)

    def run_row(self, setup, every, row, alternation):
        name = f"{setup}.{every}.{alternation}.{row}"
        report = os.path.join(self.folder, name + ".job.json")
        summary = os.path.join(self.folder, name + ".run.json")
        warmup, steps = steps_of(every)
        words = [self.session(setup, every) if word == "SESSION" else word for word in ROWS[row]]
        if row.startswith("ours"):
            words += ["--output", os.path.join(self.folder, name + ".own.tferry")]
        if "orchestrate" in words:
            words += self.arguments.orchestrate.split()
        command = [self.programs.find("tferry"), "run", "--json", summary, "--budget",
                   str(self.budgets.get((setup, every), "BUDGET")), *words, "--",
                   *self.job(setup, every, report, warmup, steps)]
        cell = self.execute(name, setup, command)
        if cell is None:
            return
        ranks = [cells.read_json(report), cells.read_json(report + ".1")]
        run = {"alternation": alternation, "rc": cell["rc"],
               **coordination_results.run_of(ranks, warmup, cells.read_json(summary))}
        self.raw.data["series"].setdefault(setup, {}).setdefault(str(every), {}).setdefault(row, []).append(run)
        self.raw.write()
        step = run["step_ns"]
        print(f"{name}: rc {cell['rc']} wall {cell['wall_s']} s, step {round(step / 1e6, 1) if step else None} ms, turns "
              f"{run['turns']}, {self.left():.0f} s left", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bundle", required=True, help="folder with bin/tferry and its libraries")
    parser.add_argument("--out", default=".", help="folder for the results")
    parser.add_argument("--setups", default="", help="comma-separated; all when empty")
    parser.add_argument("--every", default="", help="comma-separated of 1 and 16; all when empty")
    parser.add_argument("--rows", default="", help="comma-separated; all when empty")
    parser.add_argument("--factor", default="1.5", help="footprint over budget")
    parser.add_argument("--alternations", type=int, default=3)
    parser.add_argument("--append", metavar="RAW", help="continue with the runs of an earlier coordination_raw.json")
    parser.add_argument("--orchestrate", default="", metavar="WORDS",
                        help="more words of tferry run for the orchestrated rows, such as '--slot-order deadline'")
    parser.add_argument("--port", type=int, default=29517, help="for torchrun")
    parser.add_argument("--time-limit", type=float, default=590, help="seconds for everything")
    parser.add_argument("--python", default="python3", help="the interpreter that has torch")
    parser.add_argument("--dry-run", action="store_true", help="print the commands and stop")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tferry-coordination-") as folder:
        Coordination(arguments, folder).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
