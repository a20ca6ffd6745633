"""Contention that nobody staged: a process for each GPU, which copies alone and with the others at once.

    both_ways.py GPUS [MIB] [COPIES]

Phases: each GPU alone in, out and both ways ("alone"), then all GPUs together in, out and both ways ("together"). Prints a
JSON line for every process and phase: {"phase", "way", "gpu", "begin_ns", "end_ns", "gbps"}; times by CLOCK_MONOTONIC, as
in Tensorferry's recordings, rates by CUDA events. With both ways the rate is the sum.
"""

import json
import os
import subprocess
import sys
import time

WAYS = ("in", "out", "both")


def copies(torch, buffers, way, count):
    """Queues the copies; for each way an event before and behind them."""
    (host_in, device_in, stream_in), (host_out, device_out, stream_out) = buffers
    ends = []
    for wanted, stream, target, source in (("in", stream_in, device_in, host_in), ("out", stream_out, host_out, device_out)):
        if way not in (wanted, "both"):
            continue
        with torch.cuda.stream(stream):
            ends.append((torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)))
            ends[-1][0].record()
            for _ in range(count):
                target.copy_(source, non_blocking=True)
            ends[-1][1].record()
    return ends


def work(gpu, mib, count):
    import torch
    torch.cuda.set_device(gpu)
    size = mib << 20
    buffers = [(torch.empty(size, dtype=torch.uint8, pin_memory=True), torch.empty(size, dtype=torch.uint8, device="cuda"),
                torch.cuda.Stream()) for _ in range(2)]
    copies(torch, buffers, "both", 2)
    torch.cuda.synchronize()
    print("ready", flush=True)
    for line in sys.stdin:
        phase, way = line.split()
        begin = time.monotonic_ns()
        ends = copies(torch, buffers, way, count)
        torch.cuda.synchronize()
        rate = sum(count * size / (before.elapsed_time(after) * 1e6) for before, after in ends)
        print(json.dumps({"phase": phase, "way": way, "gpu": gpu, "begin_ns": begin, "end_ns": time.monotonic_ns(),
                          "gbps": round(rate, 2)}), flush=True)


def ask(workers, phase, way):
    """Has these processes copy at once, and passes on what they say."""
    for worker in workers:
        worker.stdin.write(f"{phase} {way}\n")
        worker.stdin.flush()
    for worker in workers:
        print(worker.stdout.readline().strip(), flush=True)


def lead(gpus, mib, count):
    workers = []
    for gpu in range(gpus):
        variables = {"RANK": str(gpu), "LOCAL_RANK": str(gpu), "WORLD_SIZE": str(gpus), "LOCAL_WORLD_SIZE": str(gpus)}
        workers.append(subprocess.Popen([sys.executable, __file__, "--gpu", str(gpu), str(mib), str(count)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **variables}))
    for worker in workers:
        if worker.stdout.readline().strip() != "ready":
            raise SystemExit("a process did not start")
    for way in WAYS:
        for worker in workers:
            ask([worker], "alone", way)
    for way in WAYS:
        ask(workers, "together", way)
    for worker in workers:
        worker.stdin.close()
    sys.exit(max(worker.wait() for worker in workers))


def main():
    words = sys.argv[1:]
    if words[0] == "--gpu":
        work(int(words[1]), int(words[2]), int(words[3]))
    else:
        lead(int(words[0]), int(words[1]) if len(words) > 1 else 64, int(words[2]) if len(words) > 2 else 100)


if __name__ == "__main__":
    main()
