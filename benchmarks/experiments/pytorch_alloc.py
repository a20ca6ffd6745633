"""PyTorch's allocation sequence over three GPT-2 steps, and how it packs into chunks.

usage: PYTORCH_NO_CUDA_MEMORY_CACHING=1 LD_PRELOAD=libtferry_exp_alloc_log.so pytorch_alloc.py PRECISION LOG.gz OUT.json

The log is an array of (uint32 operation, uint32 id, uint64 bytes), little endian: 0 allocate, 1 free, 2 mark (its id
is the number of the step that begins).
"""

import ctypes
import gzip
import struct
import sys
import tempfile

import torch

from findings import Findings
from gpt2_model import Training

MIB = 1 << 20
CLASSES = [("below_1_MiB", 0, MIB), ("1_to_2_MiB", MIB, 2 * MIB), ("2_to_8_MiB", 2 * MIB, 8 * MIB),
           ("8_to_64_MiB", 8 * MIB, 64 * MIB), ("64_MiB_and_more", 64 * MIB, 1 << 62)]
CHUNKS = (2 * MIB, 8 * MIB, 32 * MIB)
STEPS = 3


def by_class(sizes):
    result = {}
    for name, low, high in CLASSES:
        inside = [s for s in sizes if low <= s < high]
        result[name] = {"count": len(inside), "bytes": sum(inside)}
    return result


def rounded(bytes_, chunk):
    return -(-bytes_ // chunk) * chunk


def packing(live, chunk):
    """Bytes of the live set with every allocation rounded up; with the small ones in an arena, rounded once as a whole."""
    result = {"all_rounded": sum(rounded(s, chunk) for s in live)}
    for threshold in (MIB, 2 * MIB, 8 * MIB):
        arena = sum(rounded(s, 512) for s in live if s < threshold)
        result[f"rounded_from_{threshold // MIB}_MiB_rest_in_arena"] = rounded(arena, chunk) + sum(
            rounded(s, chunk) for s in live if s >= threshold)
    return result


def analyze(records):
    live, live_bytes, peak, peak_live, step = {}, 0, 0, [], 0
    allocated = {}
    frees = {}
    for operation, identity, size in records:
        if operation == 2:
            step = identity
        elif operation == 0:
            live[identity] = size
            live_bytes += size
            allocated.setdefault(step, []).append(size)
            if live_bytes > peak:
                peak, peak_live = live_bytes, list(live.values())
        else:
            live_bytes -= live.pop(identity)
            frees[step] = frees.get(step, 0) + 1
    result = {"records": len(records), "peak_bytes": peak, "live_at_peak": len(peak_live),
              "live_at_peak_by_class": by_class(peak_live),
              "distinct_sizes": len({s for sizes in allocated.values() for s in sizes}),
              "distinct_sizes_from_1_MiB": len({s for sizes in allocated.values() for s in sizes if s >= MIB}),
              "steps": {}, "at_peak_packed": {}}
    for number, sizes in sorted(allocated.items()):
        result["steps"]["start" if number == 0 else str(number)] = {
            "allocations": len(sizes), "frees": frees.get(number, 0), "by_class": by_class(sizes)}
    for chunk in CHUNKS:
        result["at_peak_packed"][f"{chunk // MIB}_MiB"] = {
            name: {"bytes": value, "over_true": value / peak} for name, value in packing(peak_live, chunk).items()}
    sequences = [allocated.get(n) for n in (2, 3)]
    result["step_2_and_3_ask_for_the_same_sizes_in_order"] = sequences[0] == sequences[1]
    return result


def main():
    precision, log_path, out = sys.argv[1:]
    findings = Findings(f"pytorch_alloc_{precision}", out)
    with findings.section("sequence") as found:
        logger = ctypes.CDLL(None)
        training = Training(precision)
        for step in range(1, STEPS + 1):
            logger.tferry_alloc_mark(step)
            loss = training.step()
        torch.cuda.synchronize()
        found["loss"] = float(loss)
        with tempfile.NamedTemporaryFile() as raw:
            found["records_written"] = logger.tferry_alloc_write(raw.name.encode())
            data = raw.read()
        with gzip.open(log_path, "wb", 9) as file:
            file.write(data)
        found.update(analyze(list(struct.iter_unpack("<IIQ", data))))
    return 1 if findings.failures else 0


if __name__ == "__main__":
    sys.exit(main())
