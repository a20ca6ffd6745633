#!/usr/bin/env python3
"""A small planner for `tferry analyze --planner exec:samples/python/planner.py`: a workload (docs/workload.md) in, a plan
(docs/plan.md) out. The longest gaps between two uses leave first, whole, until the rest fits."""
import json
import sys

job = json.load(sys.stdin)
count = len(job["operations"])
uses, size, gaps, alive = {}, {}, [], [0] * count
for position, operation in enumerate(job["operations"]):
    for access in operation["accesses"]:
        uses.setdefault(access["tensor"], []).append(position)
for tensor in job["tensors"]:
    name, birth = tensor["name"], tensor.get("birth", 0)
    size[name], lasts = tensor["size"], (tensor.get("death", count - 1) - birth) % count + 1
    for position in range(birth, birth + lasts):
        alive[position % count] += size[name]
    used = sorted({(use - birth) % count + birth for use in uses[name]})  # in the order of its life
    if "birth" not in tensor:
        used.append(used[0] + count)  # it is needed again in the next iteration
    gaps += [(before - after, name, after, before) for after, before in zip(used, used[1:])]
actions = []
for lasts, name, after, before in sorted(gaps, reverse=True):
    away = [position % count for position in range(after + 1, before)]
    if any(alive[position] > job["budget"] for position in away):
        for position in away:
            alive[position] -= size[name]
        earlier = after - after % count  # a life may reach into the next iteration
        actions.append({"tensor": name, "bytes": size[name], "leave_after": after - earlier,
                        "return_from": before - earlier, "needed_by": before - earlier})
json.dump({"schema": "tferry.plan/1", "planner": "sample", "workload": job["name"], "operations": count,
           "budget": job["budget"], "predicted_ns": 0, "actions": actions}, sys.stdout)
