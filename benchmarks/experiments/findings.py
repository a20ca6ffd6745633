"""A report like the C++ experiments': one JSON file, rewritten after every section; errors are kept, not fatal."""

import contextlib
import json
import os
import statistics
import time
import traceback


def summarize(samples):
    if not samples:
        return {"count": 0}
    ordered = sorted(samples)
    at = lambda share: ordered[round(share * (len(ordered) - 1))]
    return {"count": len(ordered), "mean": statistics.fmean(ordered), "min": ordered[0], "p50": at(0.5),
            "p90": at(0.9), "max": ordered[-1]}


class Findings:
    def __init__(self, experiment: str, path: str):
        self.path = path
        self.root = {"experiment": experiment, "sections": {}}
        self.failures = 0

    @contextlib.contextmanager
    def section(self, name: str):
        found, start = {}, time.perf_counter()
        try:
            yield found
        except Exception as error:
            traceback.print_exc()
            found["error"] = f"{type(error).__name__}: {error}"
            self.failures += 1
        self.root["sections"][name] = found
        print(f"{name}: {json.dumps(found)}  ({time.perf_counter() - start:.2f} s)", flush=True)
        with open(self.path + ".part", "w") as file:
            json.dump(self.root, file, indent=1)
        os.replace(self.path + ".part", self.path)
