"""Turns the runs of benchmarks/plan.py into measurements (samples only; tferry-bench computes verdicts). No GPU.

A series is a dictionary: series[job][factor][policy] is a list of runs, one an alternation; "in_memory"/"native" and
"own_peak"/"checkpoint", "save_on_cpu" stand beside the factors.
"""

import statistics

from lib import cells

COMMAND = "benchmarks/plan.py --bundle build/bundle --out OUT"
FERRIED = ("plan", "live", "lms", "lms_early", "pump", "naive_um")
FIRST_STEPS = 8  # in which a plan that is made while the job runs is made, taken over and judged
SLACK = 256 * cells.MIB


def middle(times):
    return round(statistics.median(times)) if times else None


def run_of(cell, beyond=False):
    """What a series keeps of a cell. `beyond`: of a job whose first steps are timed as all others."""
    steps = cell.get("step_ns") or []
    every = cell.get("every_step_ns") or steps
    if beyond:
        steps = steps[-FIRST_STEPS:]
    return {"first_ns": sum(every[:FIRST_STEPS]) if len(every) >= FIRST_STEPS else None,
            "rc": cell.get("rc"), "step_ns": middle(steps),
            "losses": cell.get("losses"),
            "device_peak_bytes": cell.get("device_peak_bytes"), "error": cell.get("error")}


def same_losses(cell, native):
    """Whether the losses of the steps that both made are the same, to the last bit."""
    ours, theirs = cell.get("losses") or [], native.get("losses") or []
    common = min(len(ours), len(theirs))
    return cell.get("rc") == 0 and common > 0 and ours[:common] == theirs[:common]


def missing_option(words, run_help):
    """The first option of `words` that the program does not offer; None when it has them all."""
    for word in words.split():
        if word.startswith("--") and word.split("=")[0] not in run_help:
            return word
    return None


def finished(runs):
    return [run for run in runs if run.get("rc") == 0 and run.get("step_ns")]


def pairs(one, other):
    """Runs of two policies in the same alternation. Alternations of several sessions share numbers: the n-th of a
    number in one belongs to the n-th of that number in the other."""
    found, waiting = [], list(finished(other))
    for run in finished(one):
        partner = next((r for r in waiting if r["alternation"] == run["alternation"]), None)
        if partner:
            waiting.remove(partner)
            found.append((run, partner))
    return found


def measurements(series):
    found = []
    for job, by_factor in series.items():
        for factor, policies in by_factor.items():
            if factor not in ("in_memory", "own_peak"):
                found += Case(job, factor, policies, by_factor).measurements()
    return found


class Case:
    """One job at one factor."""

    def __init__(self, job, factor, policies, by_factor):
        self.suffix = f"{job}/{factor}"
        self.policies = policies
        self.alternatives = by_factor.get("own_peak", {})
        self.plans = finished(policies.get("plan", []))
        self.found = []

    def measurements(self):
        self.correctness()
        if self.plans:
            self.against_the_bound()
            self.following()
            for name in ("checkpoint", "save_on_cpu"):
                self.beside(name)
        self.against("lms", "plan.vs_lms/", "plan")
        self.against("lms_early", "plan.vs_lms_early/", "plan")
        self.live()
        self.share_of_the_way()
        self.against("naive_um", "plan.vs_naive_um/", "plan", kind="emulated")
        self.against("naive_um", "plan.pump_vs_naive_um/", "pump", kind="emulated")
        self.bytes_on_the_wire()
        return self.found

    def add(self, claim, metric, samples, note, kind="measured", subject="plan", baseline=None, baseline_label="", **more):
        if not samples:
            return
        key = "samples" if metric == "value" else "samples_ns"
        measurement = {"claim": claim + self.suffix, "kind": kind, "metric": metric, "command": COMMAND,
                       "subject": {"label": subject, key: samples}, "note": note, "checks": self.checks(), **more}
        if baseline is not None:
            measurement["baseline"] = {"label": baseline_label, "samples_ns": baseline}
        self.found.append(measurement)

    def checks(self):
        run = next((r for runs in self.policies.values() for r in runs if "budget_bytes" in r), {})
        return {key: run[key] for key in ("budget_bytes", "sha256", "resource", "bytes_in", "bytes_out") if key in run}

    def correctness(self):
        runs = [run for policy in FERRIED for run in self.policies.get(policy, []) if "same_losses" in run]
        self.add("plan.same_results/", "value", [float(run["same_losses"]) for run in runs],
                 "1 a run of any policy whose losses are those of the native run beside it, bit for bit",
                 subject="all policies")
        kept = [run["device_peak_bytes"] / run["room_bytes"] for run in self.policies.get("together", [])
                if run["device_peak_bytes"]]
        self.add("plan.budget_kept/", "value", kept, "peak of all jobs on the card, sampled from outside, over what the ballast "
                 "left: for each its budget or, in memory, its footprint, with C and 256 MiB",
                 subject="in memory, plan, live, lms, lms-early")

    def against_the_bound(self):
        steps = [run["step_ns"] for run in self.plans]
        bounds = [run["bound_ns"] for run in self.plans]
        self.add("plan.vs_bound/", "slowdown", steps, "median step of each run over the bound of the profiled session",
                 baseline=bounds, baseline_label="bound", bound_ns=bounds[0])
        # Single steps say nothing here: one can be short because the one before waited for its transfers. The turns of a
        # job are all of one run.
        whole = [run for run in self.plans if run.get("alternation", 0) == 0 and (run.get("plan") or {}).get("iteration_ns")]
        self.add("plan.not_below_bound/", "value", [run["plan"]["iteration_ns"] / run["bound_ns"] for run in whole],
                 "median whole iteration of each run, by the runtime's events, over the bound; below 1 shows an error of the model")
        predicted = [run["predicted_ns"] for run in self.plans]
        if all(predicted):
            self.add("plan.prediction/", "value", [abs(s / p - 1) for s, p in zip(steps, predicted)],
                     "how far the median step is from the prediction that was stored, with its hash, before the run",
                     predicted_ns=predicted[0])

    def following(self):
        counted = [run["plan"] for run in self.plans if run.get("plan", {}).get("plan_iterations")]
        self.add("plan.mappings_per_step/", "value", [c["plan_mappings"] / c["plan_iterations"] for c in counted],
                 "chunk mappings made in iterations under the plan, for each of them; where the time goes: "
                 + where_time_goes(self.plans))

    def beside(self, name):
        run = next(iter(finished(self.alternatives.get(name, []))), None)
        if run:
            self.add(f"plan.vs_{name}/", "ratio", [plan["step_ns"] for plan in self.plans],
                     f"{name} at its own peak of {run['device_peak_bytes']} bytes (one run, its median step), the plan in "
                     "its budget and C", baseline=[run["step_ns"]] * len(self.plans), baseline_label=name)

    def against(self, baseline, claim, subject, kind="measured"):
        both = pairs(self.policies.get(subject, []), self.policies.get(baseline, []))
        more = {"bound_ns": both[0][0]["bound_ns"]} if both and "bound_ns" in both[0][0] else {}
        note = "median step of each run, run by run in alternation"
        if kind == "emulated":
            note += "; managed memory at a budget below the card is emulated (FACTS: evict, then fault)"
            if subject == "plan":
                note += ", and took its turns after the plan, which has a ballast beside it"
        self.add(claim, "ratio", [a["step_ns"] for a, _ in both], note, kind=kind, subject=subject,
                 baseline=[b["step_ns"] for _, b in both], baseline_label=baseline, **more)

    def live(self):
        live = self.policies.get("live", [])
        if not live:
            return
        self.against("lms", "plan.live_vs_none/", "live")
        recorded = pairs(live, self.policies.get("plan", []))
        self.add("plan.live_vs_recorded/", "slowdown", [a["step_ns"] for a, _ in recorded], "median of the last steps under "
                 "a plan made while the job runs over that under the plan of a recording", subject="live",
                 baseline=[b["step_ns"] for _, b in recorded], baseline_label="plan")
        first = [(a, b) for a, b in pairs(live, self.policies.get("lms", [])) if a["first_ns"] and b["first_ns"]]
        self.add("plan.live_first_steps/", "slowdown", [a["first_ns"] for a, _ in first], f"the first {FIRST_STEPS} steps "
                 "together, in which the plan is made and taken over, over those without a plan", subject="live",
                 baseline=[b["first_ns"] for _, b in first], baseline_label="lms")

    def share_of_the_way(self):
        shares = [(lms["step_ns"] - plan["step_ns"]) / (lms["step_ns"] - plan["bound_ns"])
                  for plan, lms in pairs(self.policies.get("plan", []), self.policies.get("lms_early", []))
                  if lms["step_ns"] > plan["bound_ns"]]
        self.add("plan.share_of_the_way/", "value", shares,
                 "what the plan gains on lms-early over what the bound leaves to gain; 1 is the bound")

    def bytes_on_the_wire(self):
        runs = [run for run in self.policies.get("bytes", []) if run["forced"] > 0]
        over = [(run["bytes_in_per_step"] + run["bytes_out_per_step"]) / run["forced"] for run in runs]
        self.add("plan.bytes_over_forced/", "value", over, "bytes a step by the PCIe counters, in and out, by what known "
                 "copies cost on the wire, over those that the bound forces")
        self.add("plan.not_below_forced_bytes/", "value", over, "the same; below 0.97 (the counters' own error) shows an "
                 "error of the model")


def where_time_goes(plans):
    """The parts of a step beyond the time in memory, in ms; what is left over is the cost of following itself."""
    run = plans[len(plans) // 2]
    counters = run.get("plan") or {}
    steps = counters.get("plan_iterations") or 0
    if not steps:
        return "unknown, no iteration was counted under the plan"
    step, bound, memory = run["step_ns"] / 1e6, run["bound_ns"] / 1e6, run["in_memory_ns"] / 1e6
    late = counters.get("plan_late_bytes", 0) / steps
    return (f"{memory:.1f} ms in memory, {bound - memory:.1f} ms forced by the link, {step - bound:.1f} ms above the "
            f"bound, with {late / 1e6:.1f} MB a step fetched late, {counters.get('plan_departures', 0)} departures and "
            f"{counters.get('plan_conflicts', 0)} conflicts in {steps} iterations")
