"""What the smaller samples share: steps that are timed, and results that can be compared to the last bit."""

import hashlib
import os
import statistics
import sys
import time


def prepare():
    """torch, set to deterministic kernels."""
    # cuBLAS is deterministic only with a fixed workspace, and reads this when it is loaded.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch
    import torch.utils.deterministic
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    # Filling what torch.empty returns guards against reading it; no kernel here does, and it would cost writes.
    torch.utils.deterministic.fill_uninitialized_memory = False
    return torch


def run(torch, device, warmup, steps, step):
    """Calls step(i), which returns one number on the device, and prints a line for each as gpt2.py does. Exit code."""
    synchronize = torch.cuda.synchronize if device.startswith("cuda") else (lambda: None)
    values, times = [], []
    for i in range(warmup + steps):
        synchronize()
        start = time.perf_counter()
        try:
            value = step(i).item()
            synchronize()
        except torch.OutOfMemoryError as error:
            print(f"step {i}: out of memory: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
            return 1
        times.append((time.perf_counter() - start) * 1e3)
        values.append(value.hex())
        note = " warmup" if i < warmup else ""
        print(f"step {i} loss {value.hex()} ({value:.6f}) time_ms {times[-1]:.3f}{note}", flush=True)
    timed = times[warmup:]
    print(f"step time median {statistics.median(timed):.3f} ms, fastest {min(timed):.3f} ms, over {len(timed)} steps")
    if device.startswith("cuda"):
        print(f"peak by torch {torch.cuda.max_memory_allocated()} bytes allocated, "
              f"{torch.cuda.max_memory_reserved()} reserved")
    print(f"losses sha256 {hashlib.sha256(chr(10).join(values).encode()).hexdigest()} over {len(values)} steps", flush=True)
    return 0
