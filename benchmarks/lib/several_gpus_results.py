"""Turns what benchmarks/several_gpus.py left into measurements (samples only; tferry-bench computes verdicts). No GPU.

    several_gpus_results.py OUT      measurements of OUT/several_gpus_raw.json anew, with OUT/calibration.json
"""

import json
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib import coordination_results  # noqa: E402

COMMAND = "benchmarks/several_gpus.py --bundle build/bundle --out OUT"


def value(claim, label, samples, note):
    return {"claim": "coordination." + claim, "kind": "measured", "metric": "value", "command": COMMAND, "note": note,
            "subject": {"label": label, "samples": samples}}


def figures(calibration, **wanted):
    return [figure for figure in (calibration or {}).get("figures", [])
            if all(figure.get(name, "" if name != "gpu" else -1) == one for name, one in wanted.items())]


def of_links(calibration):
    """What a neighbour's link adds to a GPU's own, by the calibration: for each direction the least of all GPUs."""
    found = []
    for way in ("h2d", "d2h", "both"):
        ratios = []
        for relay in figures(calibration, what="relay", direction=way, beside="direct", gpu=-1):
            alone = [one["median"] for one in figures(calibration, what="copy", gpus=relay["gpus"][:1], direction=way,
                                                      memory="pinned", beside="")]
            if alone:
                ratios.append(relay["median"] / max(alone))
        if ratios:
            found.append(value(f"both_links_rate/{way}", "both links over the direct one", ratios,
                               "pinned copies by the GPU's own link and by an idle neighbour's at once, over the own one alone; "
                               "one sample a GPU"))
    return found


def of_contention(contention):
    """How the stretch that a session's analysis finds stands to that of the copies' own clocks."""
    found = []
    for way, one in (contention or {}).get("stretch", {}).items():
        if one.get("by_clocks") and one.get("by_analysis"):
            calibrated = (contention.get("calibrated") or {}).get(way) or {}
            beside = f"{calibrated['median']:.3f} by the calibration" if calibrated.get("median") else "not calibrated"
            found.append(value(f"stretch_found/{way}", "analysis over clocks", [one["by_analysis"] / one["by_clocks"]],
                               f"all GPUs copying at once, in one session: stretch {one['by_analysis']:.3f} by its analysis, "
                               f"{one['by_clocks']:.3f} by the copies' own clocks, {beside}"))
    return found


def of_routes(routes):
    """Steps of one rank by another route over those by its own link, turn by turn."""
    found = []
    for policy in ("lms", "ours"):
        direct = {run["alternation"]: run for run in routes.get(policy + ".direct", {}).get("runs", [])}
        for route in ("neighbour", "both"):
            pairs = [(run, direct[run["alternation"]]) for run in routes.get(f"{policy}.{route}", {}).get("runs", [])
                     if run["alternation"] in direct]
            if pairs:
                found.append({"claim": f"coordination.route_{route}/gpt2_fp32/1.5/{policy}", "kind": "measured",
                              "metric": "ratio", "command": COMMAND,
                              "note": f"one rank, its neighbour idle, {policy}: steps by its own link over steps by {route}",
                              "subject": {"label": route, "samples_ns": [a["step_ns"] for a, _ in pairs]},
                              "baseline": {"label": "direct", "samples_ns": [b["step_ns"] for _, b in pairs]}})
    runs = [run for one in routes.values() for run in one.get("runs", [])]
    first = routes.get("lms.direct", {}).get("runs", [])
    if first:
        right = {run["alternation"]: run["losses"] for run in first}
        same = [float(run["losses"] == right[run["alternation"]]) for run in runs if run["alternation"] in right]
        found.append(value("same_results/gpt2_fp32/1.5/routes", "all routes", same,
                           "1 a turn whose losses so far are those of lms by the direct route, bit for bit"))
    return found


def of_gradient_ways(ways):
    """Whether NCCL's sums cross PCIe."""
    return [value(one["claim"], "bytes over PCIe by those to send and receive", [one["by_need"]],
                  f"NCCL summing {one['ranks'][0]['bytes']} bytes over {len(one['ranks'])} GPUs, "
                  + ("NCCL_P2P_DISABLE=1" if setup == "no_p2p" else "as it likes")
                  + "; PCIe counters of all GPUs, both ways")
            for setup, one in ways.items() if one["by_need"] is not None]


def measurements(raw, calibration, factor):
    return (coordination_results.measurements(raw["series"], factor) + of_links(calibration) +
            of_contention(raw.get("contention")) + of_routes(raw.get("routes", {})) +
            of_gradient_ways(raw.get("gradient_ways", {})))


def main():
    folder = sys.argv[1]
    path = os.path.join(folder, "several_gpus_raw.json")
    with open(path, encoding="utf-8") as file:
        raw = json.load(file)
    calibration = None
    if os.path.exists(os.path.join(folder, "calibration.json")):
        with open(os.path.join(folder, "calibration.json"), encoding="utf-8") as file:
            calibration = json.load(file)
    raw["measurements"] = measurements(raw, calibration, "1.5")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(raw, file, indent=1)
        file.write("\n")
    for one in raw["measurements"]:
        subject, baseline = one["subject"], one.get("baseline")
        samples = subject.get("samples") or [b / a for a, b in zip(subject["samples_ns"], baseline["samples_ns"])]
        print(f"{one['claim']}: median {statistics.median(samples):.4f} of {len(samples)}")


if __name__ == "__main__":
    main()
