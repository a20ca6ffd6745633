"""What a cache below PyTorch may do with memory that a stream capture touched.

usage: capture.py POLICY OUT.json, with POLICY
  native       PyTorch's own cache
  driver       PYTORCH_NO_CUDA_MEMORY_CACHING=1, no preload: the driver refuses to allocate in capture, which is noted
  never, reuse the same, with libtferry_exp_vmm_cache.so preloaded and memory touched in capture never reused, or at once

Captures a graph with intermediates, frees them, allocates and fills others, replays, and looks whether the result is
right and whether the others still hold what was written to them.
"""

import ctypes
import gc
import sys

import torch

from findings import Findings

ELEMENTS = 4 << 20
ROUNDS = 5


def cache_functions(policy):
    if policy not in ("never", "reuse"):
        return None
    library = ctypes.CDLL(None)
    library.tferry_cache_reused.restype = ctypes.c_uint64
    library.tferry_cache_held_back.restype = ctypes.c_uint64
    library.tferry_cache_policy(1 if policy == "reuse" else 0)
    return library


def bystanders(count, size):
    return [torch.full((size,), 1000.0 + i, device="cuda") for i in range(count)]


def intact(tensors):
    return sum(int((t == 1000.0 + i).all()) for i, t in enumerate(tensors))


def captured(found, policy, work):
    """The graph of `work` and what work returned; None where the driver refused it, as it must without any cache."""
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            result = work()
    except RuntimeError as error:
        if policy != "driver":
            raise
        found["captured"] = False
        found["why"] = str(error.__context__ or error).splitlines()[0]
        return None
    found["captured"] = True
    return graph, result


def replay_after_reuse(found, policy, keep_result):
    x = torch.arange(ELEMENTS, device="cuda", dtype=torch.float32)
    work = lambda: ((x * 2 + 1) * 3 - 1).sqrt() + x
    expected = work()
    torch.cuda.synchronize()
    capture = captured(found, policy, work)
    if not capture:
        return
    graph, result = capture
    del capture
    graph.replay()
    torch.cuda.synchronize()
    found["right_after_first_replay"] = bool(torch.equal(result, expected))
    address = result.data_ptr()
    if not keep_result:
        del result
    gc.collect()
    others = bystanders(12, ELEMENTS)
    found["others_at_the_result's_address"] = sum(t.data_ptr() == address for t in others)
    torch.cuda.synchronize()
    for _ in range(ROUNDS):
        graph.replay()
    torch.cuda.synchronize()
    found["others"] = len(others)
    found["others_intact"] = intact(others)
    if keep_result:
        found["right_at_the_end"] = bool(torch.equal(result, expected))


def interleaved(found, policy):
    """Fresh allocations between replays, as a program with a captured forward pass makes them."""
    # Not random: a capture that failed leaves the generator unusable.
    x = torch.ones(ELEMENTS, device="cuda")
    capture = captured(found, policy, lambda: torch.relu(x) * 2 + 1)
    if not capture:
        return
    graph, y = capture
    damaged = wrong = 0
    for i in range(50):
        x.fill_(float(i))
        others = bystanders(4, ELEMENTS)
        graph.replay()
        damaged += intact(others) != 4
        wrong += not bool((y == 2.0 * i + 1).all())
        del others
    found["rounds"] = 50
    found["rounds_with_damaged_others"] = damaged
    found["rounds_with_a_wrong_result"] = wrong


def main():
    policy, out = sys.argv[1:]
    findings = Findings(f"capture_{policy}", out)
    library = cache_functions(policy)
    torch.zeros(1, device="cuda")
    for name, body in (("freed_in_capture", lambda found: replay_after_reuse(found, policy, True)),
                       ("result_freed_after_capture", lambda found: replay_after_reuse(found, policy, False)),
                       ("interleaved", lambda found: interleaved(found, policy))):
        with findings.section(name) as found:
            body(found)
            if library:
                found["cache_blocks_reused"] = library.tferry_cache_reused()
                found["cache_blocks_held_back"] = library.tferry_cache_held_back()
                found["cache_thinks_capturing"] = library.tferry_cache_capturing()
    return 1 if findings.failures else 0


if __name__ == "__main__":
    sys.exit(main())
