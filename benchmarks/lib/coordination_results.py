"""Turns the table of benchmarks/several_gpus.py into measurements (samples only; tferry-bench computes verdicts). No GPU.

series[setup][every][row] is a list of runs, one an alternation.
"""

COMMAND = "benchmarks/several_gpus.py --bundle build/bundle --out OUT --parts table"
NOTES = {"one_gpu": "two ranks on one GPU, gloo, exchanging the loss alone",
         "two_gpus": "two GPUs, each with a link of its own, NCCL, exchanging gradients",
         "four_gpus": "four GPUs, each with a link of its own, NCCL, exchanging gradients",
         "eight_gpus": "eight GPUs, each with a link of its own, NCCL, exchanging gradients"}
NOTES |= {f"{gpus}_{links}": f"{gpus.replace('_', ' ')}, all host traffic by {by}, NCCL, exchanging gradients"
          for gpus in ("two_gpus", "four_gpus", "eight_gpus")
          for links, by in (("one_link", "the first GPU's link"), ("two_links", "two of the GPUs' links"))}
NOTES |= {f"{gpus}_no_p2p": f"{gpus.replace('_', ' ')}, each with a link of its own, NCCL through host memory "
                             "(NCCL_P2P_DISABLE=1), exchanging gradients"
          for gpus in ("two_gpus", "four_gpus", "eight_gpus")}
MOVED = ("bytes_out", "bytes_in", "plan_iterations_followed", "plan_iterations", "plan_late_fetches", "host_waits")
TURNS = ("slot_members", "slots_asked", "slots_granted", "slots_used", "slots_ahead", "slots_expired", "slot_wait_ns")


def moving_devices(summary):
    """Of every process those devices that moved something, as `tferry run --json` tells them."""
    return [device for process in (summary or {}).get("processes") or [] for device in process.get("devices") or []
            if device.get("bytes_out")]


def turns_of(summary):
    """What taking turns came to, for each process that moved something."""
    return [{name.removeprefix("slots_"): device.get(name) for name in TURNS} for device in moving_devices(summary)]


def moved_of(summary):
    """What was moved, and how a plan was followed, for each process that moved something."""
    return [{name: device.get(name) for name in MOVED} for device in moving_devices(summary)]


def finished(runs):
    return [run for run in runs if run.get("rc") == 0 and run.get("step_ns")]


def pairs(one, other):
    """Runs of two rows in the same alternation; the n-th of a number belongs to the n-th of that number."""
    found, waiting = [], list(finished(other))
    for run in finished(one):
        partner = next((r for r in waiting if r["alternation"] == run["alternation"]), None)
        if partner:
            waiting.remove(partner)
            found.append((run, partner))
    return found


def measurements(series, factor):
    """Claims as coordination.WHAT/gpt2_fp32/FACTOR/SETUP/EVERY."""
    found = []
    for setup, by_interval in series.items():
        for every, rows in by_interval.items():
            found += case(rows, f"/gpt2_fp32/{factor}/{setup}/{every}",
                          f"{NOTES.get(setup, setup)}; synchronising every {every}; mean step of the slower rank, run by run "
                          "in alternation")
    return found


def case(rows, suffix, note):
    found = []

    def against(claim, subject, baseline):
        both = pairs(rows.get(subject, []), rows.get(baseline, []))
        if both:
            found.append({"claim": "coordination." + claim + suffix, "kind": "measured", "metric": "ratio",
                          "command": COMMAND, "note": note,
                          "subject": {"label": subject, "samples_ns": [a["step_ns"] for a, _ in both]},
                          "baseline": {"label": baseline, "samples_ns": [b["step_ns"] for _, b in both]}})

    against("ours_vs_fair", "ours_coordinated", "ours_fair")
    against("ours_vs_lms_fair", "ours_coordinated", "lms_fair")
    against("ours_fair_vs_lms_fair", "ours_fair", "lms_fair")
    against("lms_interleave_vs_fair", "lms_interleave", "lms_fair")
    against("lms_orchestrate_vs_fair", "lms_orchestrate", "lms_fair")
    same = [float(a["losses"] == b["losses"] and None not in a["losses"]) for row, runs in rows.items()
            if row != "lms_fair" for a, b in pairs(runs, rows.get("lms_fair", []))]
    if same:
        found.append({"claim": "coordination.same_results" + suffix, "kind": "measured", "metric": "value",
                      "command": COMMAND, "subject": {"label": "all rows", "samples": same},
                      "note": "1 a run whose ranks have the losses of lms_fair in the same alternation, bit for bit"})
    return found
