"""Cost of 100 gates a training step, by event and by memory word, and whether the launching thread stays ahead.

usage: gates.py GATES_LIBRARY PRECISION OUT.json, with PRECISION fp32 or bf16

A gate stands before two linear layers and both norms of every block, the last norm and the head, forward and
backward: 100 in all. The modes take turns, in rounds, each second one backwards, so that drift is no mode's. "host_ms" is how long the step took to queue, "step_ms" until the card had done it; run-ahead
survives while the first stays well below the second.
"""

import ctypes
import sys
import time

import torch

from findings import Findings, summarize
from gpt2_model import Training

# Mode numbers of gates.cpp. None: no hooks in the model at all.
MODES = [("no_hooks", None), ("hooks_only", 0), ("event_done", 1), ("value_done", 4), ("host_value_done", 7),
         ("event_submitted", 2), ("event_two_ahead", 3), ("event_submitted_room", 8),
         ("event_two_ahead_room", 9), ("value_submitted", 5), ("value_two_ahead", 6)]
COPY_BYTES = 24 << 20
ROUNDS, WARM_STEPS, STEPS = 5, 1, 2


def gated_modules(model):
    for block in model.blocks:
        yield from (block.norm1, block.projection, block.widen, block.narrow)
    yield from (model.norm, model.head)


class GateHooks:
    """Puts a gate before each module's forward and before the backward of its output."""

    def __init__(self, model, library, stream):
        self.fired, self.failed = 0, 0
        self.library, self.stream = library, ctypes.c_uint64(stream)
        self.handles = []
        for module in gated_modules(model):
            self.handles.append(module.register_forward_pre_hook(self.before_forward))
            self.handles.append(module.register_forward_hook(self.after_forward))

    def gate(self):
        self.fired += 1
        self.failed = self.failed or self.library.tferry_gate(self.stream)

    def before_forward(self, module, inputs):
        self.gate()

    def after_forward(self, module, inputs, output):
        output.register_hook(self.before_backward)

    def before_backward(self, gradient):
        self.gate()

    def remove(self):
        for handle in self.handles:
            handle.remove()


class Samples:
    """What one mode showed so far, over all rounds."""

    def __init__(self):
        self.host, self.total, self.fired, self.steps, self.error, self.loss = [], [], 0, 0, 0, None

    def take(self, training, hooks):
        for step in range(WARM_STEPS + STEPS):
            torch.cuda.synchronize()
            start = time.perf_counter()
            loss = training.step()
            queued = time.perf_counter()
            torch.cuda.synchronize()
            done = time.perf_counter()
            if step >= WARM_STEPS:
                self.host.append((queued - start) * 1e3)
                self.total.append((done - start) * 1e3)
        self.loss = float(loss)
        self.steps += WARM_STEPS + STEPS
        if hooks:
            self.fired += hooks.fired
            self.error = self.error or hooks.failed

    def found(self):
        return {"host_ms": summarize(self.host), "step_ms": summarize(self.total), "loss": self.loss,
                "gates_per_step": self.fired / self.steps, "cuda_error": self.error}


def visit(training, library, mode, samples):
    if mode is None:
        samples.take(training, None)
        return
    opened = library.tferry_gates_open(mode, COPY_BYTES)
    if opened:
        raise RuntimeError(f"opening the gates: CUDA error {opened}")
    hooks = GateHooks(training.model, library, torch.cuda.current_stream().cuda_stream)
    try:
        samples.take(training, hooks)
    finally:
        hooks.remove()
        torch.cuda.synchronize()
        library.tferry_gates_close()


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.tferry_gates_open.argtypes = [ctypes.c_int, ctypes.c_uint64]
    library.tferry_gate.argtypes = [ctypes.c_uint64]
    precision = sys.argv[2]
    findings = Findings(f"gates_{precision}", sys.argv[3])
    training = Training(precision)
    for _ in range(3):
        training.step()
    torch.cuda.synchronize()
    samples = {name: Samples() for name, _ in MODES}
    for turn in range(ROUNDS):
        for name, mode in MODES if turn % 2 == 0 else reversed(MODES):
            with findings.section(name) as found:
                visit(training, library, mode, samples[name])
                found.update(samples[name].found())
    return 1 if findings.failures else 0


if __name__ == "__main__":
    sys.exit(main())
