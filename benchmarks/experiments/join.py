"""Joins hook events with CUPTI records by stream and order, and counts what does not match.

usage: LD_PRELOAD=libtferry_exp_launch_log.so CUDA_INJECTION64_PATH=libtferry_exp_cupti_log.so
       join.py CUPTI_LIBRARY PRECISION OUT.json
"""

import ctypes
import struct
import sys
import tempfile

import torch

from findings import Findings
from gpt2_model import Training

RECORD = struct.Struct("<QQQQQI7I")  # operation_record.hpp
KINDS = {1: "kernel", 2: "copy", 3: "memset"}
STEPS = 4


class Operation:
    __slots__ = ("order", "driver_stream", "bytes", "start", "end", "stream", "kind", "shape")

    def __init__(self, fields):
        self.order, self.driver_stream, self.bytes, self.start, self.end, self.stream, self.kind = fields[:7]
        self.shape = fields[7:]

    def signature(self):
        return (self.kind, self.shape if self.kind == 1 else self.bytes)


def read(write, name):
    with tempfile.NamedTemporaryFile() as raw:
        count = write(raw.name.encode())
        if count < 0:
            raise RuntimeError(f"{name} could not write its log")
        return [Operation(fields) for fields in RECORD.iter_unpack(raw.read())]


def by_stream(operations):
    streams = {}
    for operation in operations:
        streams.setdefault(operation.stream, []).append(operation)
    return streams


def compare(hooked, recorded):
    """n-th against n-th; then again with up to 8 steps of resynchronisation on either side."""
    straight = sum(a.signature() != b.signature() for a, b in zip(hooked, recorded))
    i = j = matched = skipped_hooks = skipped_records = 0
    examples = []
    while i < len(hooked) and j < len(recorded):
        if hooked[i].signature() == recorded[j].signature():
            i, j, matched = i + 1, j + 1, matched + 1
            continue
        ahead = next(((a, b) for n in range(1, 9) for a in range(n + 1) for b in (n - a,)
                      if i + a < len(hooked) and j + b < len(recorded)
                      and hooked[i + a].signature() == recorded[j + b].signature()), (1, 1))
        if len(examples) < 8:
            examples.append({"hook": hooked[i].signature(), "record": recorded[j].signature(), "at": i,
                             "skipped_hooks": ahead[0], "skipped_records": ahead[1]})
        i, j = i + ahead[0], j + ahead[1]
        skipped_hooks, skipped_records = skipped_hooks + ahead[0], skipped_records + ahead[1]
    return {"hooks": len(hooked), "records": len(recorded), "mismatches_nth_to_nth": straight,
            "length_difference": len(hooked) - len(recorded), "matched_with_resync": matched,
            "hooks_skipped": skipped_hooks, "records_skipped": skipped_records, "first_mismatches": examples}


def main():
    cupti_path, precision, out = sys.argv[1:]
    findings = Findings(f"join_{precision}", out)
    hook_library, cupti_library = ctypes.CDLL(None), ctypes.CDLL(cupti_path)
    hook_library.tferry_launch_graphs.restype = ctypes.c_uint64
    for function in (hook_library.tferry_launch_write, cupti_library.tferry_cupti_write):
        function.restype = ctypes.c_long
    with findings.section("join") as found:
        training = Training(precision)
        side, pinned = torch.cuda.Stream(), torch.empty(4 << 20, pin_memory=True)
        on_card = torch.empty(4 << 20, device="cuda")
        losses = []
        for step in range(STEPS):
            loss = training.step()
            with torch.cuda.stream(side):
                on_card.copy_(pinned, non_blocking=True)
                on_card.add_(1)
                pinned.copy_(on_card, non_blocking=True)
            if step % 2:
                losses.append(float(loss))
        torch.cuda.synchronize()
        found["losses"] = losses
        hooked = read(hook_library.tferry_launch_write, "launch log")
        recorded = read(cupti_library.tferry_cupti_write, "CUPTI log")
        found["graph_launches"] = hook_library.tferry_launch_graphs()
        found["stream_ids"] = sorted({(o.driver_stream, o.stream) for o in hooked})
        found["record_streams"] = sorted({o.stream for o in recorded})
        found["records_with_zero_time"] = sum(o.start == 0 or o.end == 0 for o in recorded)
        found["records_reversed"] = sum(o.end < o.start for o in recorded)
        recorded.sort(key=lambda o: o.order)
        mine, theirs = by_stream(hooked), by_stream(recorded)
        found["start_order_is_call_order"] = {
            str(s): sum(a.start > b.start for a, b in zip(ops, ops[1:])) for s, ops in theirs.items()}
        found["streams"] = {str(s): compare(mine.get(s, []), theirs.get(s, [])) for s in set(mine) | set(theirs)}
        for kind, name in KINDS.items():
            found[f"only_{name}s"] = {
                str(s): compare([o for o in mine.get(s, []) if o.kind == kind],
                                [o for o in theirs.get(s, []) if o.kind == kind]) for s in set(mine) | set(theirs)}
    return 1 if findings.failures else 0


if __name__ == "__main__":
    sys.exit(main())
