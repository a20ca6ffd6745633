"""Runs samples/python/gpt2.py under PyTorch's profiler, from its first step to its last.

    torch_profiled.py cuda|memory OUT.json GPT2.PY ARGUMENTS...

`cuda` records CUDA activities, `memory` CPU activities and memory as well. OUT.json gets the trace; how many events it has
and how large it is stands in the last line of standard error.
"""

import json
import os
import runpy
import sys

import torch
from torch.profiler import ProfilerActivity, profile


def main():
    kind, out, script = sys.argv[1:4]
    sys.argv = sys.argv[3:]
    activities = [ProfilerActivity.CUDA] + ([ProfilerActivity.CPU] if kind == "memory" else [])
    code = 0
    with profile(activities=activities, profile_memory=kind == "memory") as profiler:
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            code = end.code or 0
        torch.cuda.synchronize()
    profiler.export_chrome_trace(out)
    with open(out, encoding="utf-8") as file:
        events = sum(1 for line in file if '"ph": "X"' in line)
    print(json.dumps({"events": events, "bytes": os.path.getsize(out)}), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
