#!/usr/bin/env python3
"""Measures the claims that begin with "analyzer.prediction/": how far a planned run is from what was predicted before it.

    benchmarks/predictions.py --bundle build/bundle --out "$OUT" --python python3 --time-limit 240

Jobs (--jobs), each recorded, analysed at 1.5 times and run under its plan, one after the other; nothing of the model was fitted to any:
    gpt2_batch_4, gpt2_batch_12       GPT-2 124M in fp32, half and one and a half times the batch of benchmarks/plan.py
    gpt2_bf16                         the same at batch 8 in bf16
    resnet50, inference, finetune     a convolution network whose input is made on the CPU; weights that do not fit; optimizer state
                                      that does not fit

The prediction and its hash are read from the session before the run; what was measured is the mean of the program's steps from
the tenth on. The first planned steps, of which some are watched (TFERRY_WATCH), stand beside them: what watching costs.

A job that fails is recorded and the script goes on. Files in --out: predictions_raw.json (for tferry-bench record) and the analysed
sessions, JOB.tferry, as far as they are small enough to be brought back (--most-MiB).
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import cells, recordings  # noqa: E402

GPT2 = ["gpt2.py", "--layers", "12", "--width", "768", "--heads", "12", "--context", "1024"]
JOBS = {
    "gpt2_batch_4": [*GPT2, "--batch", "4", "--precision", "fp32"],
    "gpt2_batch_12": [*GPT2, "--batch", "12", "--precision", "fp32"],
    "gpt2_bf16": [*GPT2, "--batch", "8", "--precision", "bf16"],
    "resnet50": ["resnet.py", "--batch", "96"],
    "inference": ["inference.py", "--layers", "24"],
    "finetune": ["gpt2.py", "--layers", "12", "--width", "2560", "--heads", "20", "--batch", "1", "--context", "256", "--precision",
                 "fp32"],
}
FACTOR = "1.5"
RECORDED, PLANNED, SETTLED = 5, 24, 10  # steps of the recording and of the run, and from which on the run is measured
COMMAND = "benchmarks/predictions.py --bundle build/bundle --out OUT"


def measurement(job, found):
    """What a job's run is worth as a claim."""
    measured, predicted = found["measured_ns"], found["predicted_ns"]
    return {"claim": f"analyzer.prediction/{job}/{FACTOR}", "kind": "measured", "metric": "value", "command": COMMAND,
            "subject": {"label": "plan", "samples": [abs(measured / predicted - 1)]}, "predicted_ns": predicted,
            "bound_ns": found["bound_ns"],
            "checks": {key: found[key] for key in ("sha256", "budget_bytes", "recorded_ns", "same_losses", "watched_ns")},
            "note": f"how far the mean step under the plan ({measured / 1e6:.1f} ms) is from the prediction ({predicted / 1e6:.1f} ms), "
                    f"stored with its hash before the run; steps {SETTLED} to {PLANNED} of one run"}


class Predictions:
    def __init__(self, arguments, folder):
        repository = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.arguments, self.folder = arguments, folder
        self.programs = cells.Programs(arguments.bundle, repository)
        self.deadline = time.monotonic() + arguments.time_limit
        self.raw = cells.Raw(os.path.join(arguments.out, "predictions_raw.json"), "predictions", repository)
        self.sessions = recordings.Recordings(self.programs.find("tferry"))

    def left(self):
        return self.deadline - time.monotonic()

    def run(self):
        for job in [word for word in self.arguments.jobs.split(",") if word] or JOBS:
            if self.left() < 40:
                self.raw.add({"cell": job, "skipped": "no time left"})
                continue
            try:
                found = self.measure(job)
                self.raw.data["measurements"].append(measurement(job, found))
                print(f"{job}: predicted {found['predicted_ns'] / 1e6:.1f} ms, measured {found['measured_ns'] / 1e6:.1f} ms, bound "
                      f"{found['bound_ns'] / 1e6:.1f} ms, recorded {found['recorded_ns'] / 1e6:.1f} ms, {self.left():.0f} s left",
                      flush=True)
            except Exception as error:  # noqa: BLE001: whatever it is, the other jobs shall still run
                print(f"{job}: {error!r}", flush=True)
                self.raw.add({"cell": job, "error": repr(error)})
            self.raw.write()

    def tool(self, name, words):
        cell = {"cell": name, **cells.run_job([self.programs.find("tferry"), *words], max(self.left() - 5, 5), self.folder, name)}
        self.raw.add(cell)
        if cell["rc"] != 0:
            raise RuntimeError(f"{name}: rc {cell['rc']}: {cell['stderr'].strip()[-400:]}")
        return {**cell, **cells.parse_gpt2(cell["stdout"])}

    def measure(self, job):
        program, *options = JOBS[job]
        command = [self.arguments.python, self.programs.find(program), *options, "--warmup", "0"]
        session = os.path.join(self.folder, job + ".tferry")
        recorded = self.tool(f"{job}.profile", ["profile", "--counters", "off", "-o", session, "--", *command, "--steps",
                                                str(RECORDED)])
        self.tool(f"{job}.analyze", ["analyze", session, "--oversubscribe", FACTOR])
        facts = self.sessions.row(session, "SELECT bound.budget_bytes AS budget_bytes, bound.bound_ns AS bound_ns, "
                                           "plan.predicted_ns AS predicted_ns, plan.sha256 AS sha256 FROM bound, plan "
                                           "ORDER BY plan.id DESC, bound.id DESC LIMIT 1")
        if os.path.getsize(session) <= self.arguments.most_MiB * cells.MIB:
            shutil.copyfile(session, os.path.join(self.arguments.out, job + ".tferry"))
        report = os.path.join(self.folder, job + ".run.json")
        ran = self.tool(f"{job}.run", ["run", "--plan", session, "--json", report, "--", *command, "--steps", str(PLANNED)])
        self.raw.add({"cell": f"{job}.run.report", "run": cells.read_json(report), "every_step_ns": ran["every_step_ns"]})
        steps = ran["every_step_ns"]
        common = min(len(recorded["losses"]), len(ran["losses"]))
        return {**{key: facts[key] for key in ("budget_bytes", "bound_ns", "predicted_ns", "sha256")},
                "recorded_ns": round(statistics.median(recorded["every_step_ns"][1:])),
                "measured_ns": round(statistics.mean(steps[SETTLED:])), "watched_ns": steps[1:SETTLED],
                "same_losses": float(common > 0 and recorded["losses"][:common] == ran["losses"][:common])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bundle", required=True, help="folder with bin/tferry and its libraries")
    parser.add_argument("--out", default=".", help="folder for the results")
    parser.add_argument("--jobs", default="", help="comma-separated; all when empty")
    parser.add_argument("--most-MiB", type=int, default=14, help="sessions up to this size are kept in --out")
    parser.add_argument("--time-limit", type=float, default=300, help="seconds for everything")
    parser.add_argument("--python", default="python3", help="the interpreter that has torch")
    arguments = parser.parse_args()
    unknown = [job for job in arguments.jobs.split(",") if job and job not in JOBS]
    if unknown:
        parser.error(f"no such job: {', '.join(unknown)}; there are {', '.join(JOBS)}")
    os.makedirs(arguments.out, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tferry-predictions-") as folder:
        Predictions(arguments, folder).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
