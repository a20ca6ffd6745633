"""Holds the contention that a session's analysis finds against the copies' own clocks and the calibration.

Input is what lib/both_ways.py printed, its analysed session, and calibration.json.
"""

import json
import statistics

DIRECTIONS = {"in": ("h2d",), "out": ("d2h",), "both": ("h2d", "d2h")}
CALIBRATED = {"in": "h2d", "out": "d2h", "both": "both"}
EDGES_NS = 3_000_000  # of a phase, in which a process may still be alone


def phases_of(text):
    """The lines of both_ways.py."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def of(phases, phase, way):
    return [one for one in phases if one["phase"] == phase and one["way"] == way]


def by_clocks(phases, way):
    """How much slower all GPUs are together than alone, in sum."""
    alone = sum(one["gbps"] for one in of(phases, "alone", way))
    together = sum(one["gbps"] for one in of(phases, "together", way))
    return round(alone / together, 4) if together else None


def by_analysis(sessions, session, phases, phase, way):
    """The mean stretch of the transfers that lie wholly inside the time in which all copied; None without a baseline."""
    lines = of(phases, phase, way)
    begin, end = max(one["begin_ns"] for one in lines) + EDGES_NS, min(one["end_ns"] for one in lines) - EDGES_NS
    directions = ", ".join(f"'{name}'" for name in DIRECTIONS[way])
    found = sessions.rows(session, f"SELECT count(*) AS n, count(solo_ns) AS known, sum(end_ns - start_ns) AS took, "
                                   f"sum(solo_ns) AS solo, sum(lost_ns) AS lost, group_concat(DISTINCT solo_known_by) AS by_ "
                                   f"FROM transfer WHERE start_ns >= {begin} AND end_ns <= {end} "
                                   f"AND direction IN ({directions}) AND bytes >= 1048576")[0]
    stretch = round(found["took"] / found["solo"], 4) if found["known"] and found["known"] == found["n"] else None
    return {"transfers": found["n"], "stretch": stretch, "lost_ns": found["lost"], "solo_known_by": found["by_"]}


def stretches(sessions, session, phases):
    """For each way: together against alone by the copies' clocks and by the session's analysis. The analysis' solo time is
    that of one direction alone, so that its stretch both ways has the GPU's own other direction in it: alone both ways is
    beside it."""
    found = {}
    for way in DIRECTIONS:
        found[way] = {"by_clocks": by_clocks(phases, way),
                      "alone": [by_analysis(sessions, session, [one], "alone", way) for one in of(phases, "alone", way)],
                      "together": by_analysis(sessions, session, phases, "together", way)}
        alone = [one["stretch"] for one in found[way]["alone"]]
        together = found[way]["together"]["stretch"]
        if together and all(alone):
            found[way]["by_analysis"] = round(together / statistics.fmean(alone), 4)
    return found


def calibrated(calibration):
    """The calibration's stretch of all GPUs together, by way."""
    figures = [figure for figure in (calibration or {}).get("figures", []) if figure.get("what") == "stretch"]
    most = max((len(figure["gpus"]) for figure in figures), default=0)
    return {way: {key: figure.get(key) for key in ("median", "low", "high")} for way, name in CALIBRATED.items()
            for figure in figures if len(figure["gpus"]) == most and figure["direction"] == name}
