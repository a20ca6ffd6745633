#!/usr/bin/env python3
"""Trains a GPT-2-size transformer on synthetic tokens, deterministically, in plain torch.

It is the job that Tensorferry is tried on: it prints every loss as a hexadecimal float and a hash over all of them,
so that two runs can be compared to the last bit, and the time of every step.

    gpt2.py                                        GPT-2 124M, batch 8 x 1024, fp32: about 14 GiB
    gpt2.py --plan-only                            the same, only the memory it will take; needs no GPU and no torch
    torchrun --nproc-per-node 2 gpt2.py --synchronise 16    two ranks, whose gradients are averaged in every 16th step
    gpt2.py --layers 48 --width 1600 --heads 25 --batch 15 --steps 6          GPT-2 XL, about 150 GiB

Under torchrun (WORLD_SIZE is set) every rank trains on tokens of its own, on GPU LOCAL_RANK modulo the GPUs there are;
ranks on one GPU need --backend gloo. Lines then begin with "rank 1 ", and --json FILE is FILE.1 for rank 1.

Output, one line a step:  step 3 loss 0x1.5b0c3ep+3 (10.845733) time_ms 178.204
and at the end:           losses sha256 5f0c... over 12 steps
Exit code 0, or 1 when training failed; then the last line on stderr says of what.
"""

import argparse
import hashlib
import json
import math
import os
import statistics
import sys
import time

GIB = 2**30
LARGEST_TENSOR = 2**31  # elements; beyond, many kernels need 64-bit indices


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--batch", type=int, default=8, help="sequences a step")
    parser.add_argument("--context", type=int, default=1024, help="tokens a sequence")
    parser.add_argument("--vocab", type=int, default=50257)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32",
                        help="bf16 is autocast: weights and optimizer stay in fp32")
    parser.add_argument("--memory", choices=("plain", "checkpoint", "save-on-cpu"), default="plain",
                        help="what PyTorch itself offers against out-of-memory, to compare with")
    parser.add_argument("--steps", type=int, default=10, help="steps that are timed")
    parser.add_argument("--warmup", type=int, default=2,
                        help="steps before them; their losses count, their times do not")
    parser.add_argument("--pause-every", type=int, default=0, metavar="STEPS",
                        help="wait for a line on standard input before every so many steps; its end ends the run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--synchronise", type=int, default=1, metavar="STEPS",
                        help="under torchrun: the ranks exchange in every so many steps")
    parser.add_argument("--exchange", choices=("gradients", "loss"), default="gradients",
                        help="what they average: gradients, or the loss alone, which costs no time but the waiting")
    parser.add_argument("--backend", choices=("auto", "nccl", "gloo"), default="auto",
                        help="auto: nccl where every rank has a GPU of its own")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, cpu")
    parser.add_argument("--json", metavar="FILE", help="write configuration, losses and times there as well")
    parser.add_argument("--plan-only", action="store_true", help="print the estimated memory by category and stop")
    arguments = parser.parse_args()
    for name in ("layers", "width", "heads", "batch", "context", "vocab"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} must be at least 1")
    if arguments.steps < 1 or arguments.warmup < 0:
        parser.error("--steps must be at least 1 and --warmup at least 0")
    if arguments.pause_every < 0:
        parser.error("--pause-every must be at least 0")
    if arguments.synchronise < 1:
        parser.error("--synchronise must be at least 1")
    if arguments.width % arguments.heads:
        parser.error(f"--width {arguments.width} is not a multiple of --heads {arguments.heads}")
    return arguments


def estimate(arguments):
    """Bytes by category, in plain training without checkpoints. The formula is explained in samples/README.md."""
    layers, width, vocab = arguments.layers, arguments.width, arguments.vocab
    tokens = arguments.batch * arguments.context
    parameters = vocab * width + arguments.context * width + layers * (12 * width**2 + 13 * width) + 2 * width
    unit = tokens * width * 4
    bf16 = arguments.precision == "bf16"
    logits = tokens * vocab * 4
    sizes = {
        "weights": 4 * parameters,
        "optimizer state": 8 * parameters,
        "gradients": 4 * parameters,
        "bf16 copies of weights": 2 * parameters if bf16 else 0,
        "activations of the layers": int(layers * unit * (21 if bf16 else 28)),
        "embedding and last norm": unit * 2,
        "logits": 3 * logits,
    }
    # Two candidates: when the backward pass begins, every activation and three arrays of the logits' size are alive
    # and no gradient is yet; in the optimizer's step all gradients, and one temporary of the weights' size.
    at_backward = sum(sizes.values()) - sizes["gradients"]
    at_optimizer = 20 * parameters
    largest = max(tokens * vocab, 4 * tokens * width, vocab * width, 4 * width * width)
    return {"parameters": parameters, "bytes": sizes, "peak_bytes": max(at_backward, at_optimizer),
            "largest_tensor_elements": largest}


def print_plan(arguments):
    plan = estimate(arguments)
    print(f"parameters {plan['parameters']} ({plan['parameters'] / 1e6:.1f} M)")
    for name, size in plan["bytes"].items():
        print(f"{name:<28}{size:>16} bytes {size / GIB:>9.2f} GiB")
    print(f"{'estimated peak':<28}{plan['peak_bytes']:>16} bytes {plan['peak_bytes'] / GIB:>9.2f} GiB")
    largest = plan["largest_tensor_elements"]
    verdict = "below" if largest < LARGEST_TENSOR else "NOT BELOW"
    print(f"largest tensor {largest} elements, {verdict} 2^31")


def build_model(torch, arguments):
    nn = torch.nn
    functional = torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            width = arguments.width
            self.attention_norm = nn.LayerNorm(width)
            self.query_key_value = nn.Linear(width, 3 * width)
            self.attention_out = nn.Linear(width, width)
            self.feed_norm = nn.LayerNorm(width)
            self.feed_in = nn.Linear(width, 4 * width)
            self.feed_out = nn.Linear(4 * width, width)

        def attention(self, x):
            batch, context, width = x.shape
            shape = (batch, context, arguments.heads, width // arguments.heads)
            query, key, value = (part.view(shape).transpose(1, 2)
                                 for part in self.query_key_value(x).split(width, dim=2))
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            return self.attention_out(mixed.transpose(1, 2).reshape(batch, context, width))

        def forward(self, x):
            x = x + self.attention(self.attention_norm(x))
            return x + self.feed_out(gelu(self.feed_in(self.feed_norm(x))))

    def gelu(x):
        # Spelled out, as GPT-2 was published and is still widely run: its intermediate results are part of the
        # footprint that such jobs have. torch's fused gelu would save 12 of 28 units a layer.
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))

    class Gpt2(nn.Module):
        def __init__(self):
            super().__init__()
            self.token_embedding = nn.Embedding(arguments.vocab, arguments.width)
            self.position_embedding = nn.Embedding(arguments.context, arguments.width)
            self.blocks = nn.ModuleList(Block() for _ in range(arguments.layers))
            self.last_norm = nn.LayerNorm(arguments.width)

        def forward(self, tokens, targets):
            positions = torch.arange(tokens.shape[1], device=tokens.device)
            x = self.token_embedding(tokens) + self.position_embedding(positions)
            for block in self.blocks:
                if arguments.memory == "checkpoint":
                    x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
                else:
                    x = block(x)
            logits = functional.linear(self.last_norm(x), self.token_embedding.weight)
            return functional.cross_entropy(logits.view(-1, arguments.vocab), targets.view(-1))

    model = Gpt2()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
            elif "norm" not in name:
                deep = name.endswith(("attention_out.weight", "feed_out.weight"))
                parameter.normal_(0.0, 0.02 / math.sqrt(2 * arguments.layers) if deep else 0.02)
    return model


def attention_backend(torch, arguments):
    """The fused attention whose backward pass is deterministic when torch.use_deterministic_algorithms is on: the
    memory-efficient kernel does not split over keys then, and flash attention sums its partial gradients in order.
    Flash has no fp32; cuDNN's has no deterministic backward; plain softmax would store batch x heads x context^2."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    if arguments.device.startswith("cpu"):
        return sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
    if arguments.precision == "bf16":
        return sdpa_kernel(SDPBackend.FLASH_ATTENTION)
    return sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION)


def may_go_on(step, pause_every):
    """Waits where a pause is due, so that two jobs can take turns on one GPU; False when there is no more to do."""
    if pause_every == 0 or step % pause_every:
        return True
    print(f"paused before step {step}", flush=True)
    return sys.stdin.readline() != ""


class Ranks:
    """This process among the ranks of the job; alone where torchrun (or the like) did not start it."""

    def __init__(self, torch, arguments):
        self.rank = int(os.environ.get("RANK", "0"))
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.every = arguments.synchronise
        self.what = arguments.exchange
        self.prefix = f"rank {self.rank} " if self.size > 1 else ""
        self.torch = torch
        self.device = torch.device(arguments.device)
        self.backend = None
        if self.size == 1:
            return
        gpus = torch.cuda.device_count() if self.device.type == "cuda" else 0
        if gpus and self.device.index is None:
            self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % gpus)
        local_size = int(os.environ.get("LOCAL_WORLD_SIZE", self.size))
        self.backend = arguments.backend
        if self.backend == "auto":
            self.backend = "nccl" if gpus >= local_size else "gloo"

    def join(self):
        if self.size > 1:
            self.torch.distributed.init_process_group(self.backend)

    def leave(self):
        if self.size > 1:
            self.torch.distributed.destroy_process_group()

    def exchange(self, step, parameters, loss):
        """Averages over the ranks, in the steps in which that is due. Sums of two are the same in any order; with
        more ranks the backend's order counts, which does not change from run to run."""
        if self.size == 1 or (step + 1) % self.every:
            return
        if self.what == "loss":
            value = loss.detach().to("cpu" if self.backend == "gloo" else loss.device, copy=True)
            self.torch.distributed.all_reduce(value)
            return
        for parameter in parameters:
            self.torch.distributed.all_reduce(parameter.grad)
            parameter.grad /= self.size


def train(torch, arguments, report, ranks):
    device = ranks.device
    on_gpu = device.type == "cuda"
    if on_gpu:
        torch.cuda.set_device(device.index or 0)
    ranks.join()

    def synchronize():
        if on_gpu:
            torch.cuda.synchronize()

    torch.manual_seed(arguments.seed)
    with device:
        model = build_model(torch, arguments)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    generator = torch.Generator().manual_seed(arguments.seed + ranks.rank)
    autocast = torch.autocast(device.type, torch.bfloat16, enabled=arguments.precision == "bf16")

    for step in range(arguments.warmup + arguments.steps):
        report["at"] = f"step {step}"
        if not may_go_on(step, arguments.pause_every):
            break
        tokens = torch.randint(arguments.vocab, (arguments.batch, arguments.context + 1), generator=generator)
        synchronize()
        start = time.perf_counter()
        tokens = tokens.to(device)
        with attention_backend(torch, arguments):
            if arguments.memory == "save-on-cpu":
                with torch.autograd.graph.save_on_cpu(pin_memory=on_gpu), autocast:
                    loss = model(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
            else:
                with autocast:
                    loss = model(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
            loss.backward()
        ranks.exchange(step, model.parameters(), loss)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        synchronize()
        ended_ns = time.monotonic_ns()  # CLOCK_MONOTONIC, as in Tensorferry's recordings
        value = loss.item()  # part of the step: under a runtime that moves memory it can wait for transfers
        milliseconds = (time.perf_counter() - start) * 1e3
        del loss
        report["losses"].append(value.hex())
        report["step_ms"].append(milliseconds)
        report["step_end_ns"].append(ended_ns)
        note = " warmup" if step < arguments.warmup else ""
        print(f"{ranks.prefix}step {step} loss {value.hex()} ({value:.6f}) time_ms {milliseconds:.3f}{note}", flush=True)

    ranks.leave()
    if on_gpu:
        report["torch_peak_allocated_bytes"] = torch.cuda.max_memory_allocated()
        report["torch_peak_reserved_bytes"] = torch.cuda.max_memory_reserved()


def write_json(report, file):
    if file:
        with open(file, "w", encoding="utf-8") as out:
            json.dump(report, out, indent=1)
            out.write("\n")


def main():
    arguments = parse_arguments()
    if arguments.plan_only:
        print_plan(arguments)
        return 0
    # cuBLAS is deterministic only with a fixed workspace, and reads this when it is loaded.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch
    import torch.utils.checkpoint
    import torch.utils.deterministic

    torch.use_deterministic_algorithms(True)
    # Filling what torch.empty returns guards against reading it; no kernel here does, and it would cost writes.
    torch.utils.deterministic.fill_uninitialized_memory = False

    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        print("gpt2.py: no usable GPU: run it where nvidia-smi shows one, or with --device cpu", file=sys.stderr)
        return 1
    report = {"schema": "tferry.sample/1", "sample": "gpt2", "torch": torch.__version__,
              "config": {key: value for key, value in vars(arguments).items() if key not in ("json", "plan_only")},
              "estimate": estimate(arguments), "losses": [], "step_ms": [], "step_end_ns": [],
              "at": "start", "error": None}
    ranks = Ranks(torch, arguments)
    if ranks.size > 1:
        import torch.distributed
        report.update(rank=ranks.rank, ranks=ranks.size, backend=ranks.backend)
    try:
        train(torch, arguments, report, ranks)
    except torch.OutOfMemoryError as error:
        report["error"] = "out of memory: " + str(error).split("\n")[0]
    except RuntimeError as error:
        kind = "out of memory" if "out of memory" in str(error) else "failed"
        report["error"] = f"{kind}: " + str(error).split("\n")[0]
    digest = hashlib.sha256("\n".join(report["losses"]).encode()).hexdigest()
    report["loss_sha256"] = digest
    write_json(report, f"{arguments.json}.{ranks.rank}" if arguments.json and ranks.rank else arguments.json)
    if report["error"]:
        print(f"{ranks.prefix}gpt2.py: {report['at']}: {report['error']}", file=sys.stderr, flush=True)
        return 1
    timed = report["step_ms"][arguments.warmup:]
    if timed:
        print(f"{ranks.prefix}step time median {statistics.median(timed):.3f} ms, fastest {min(timed):.3f} ms, "
              f"over {len(timed)} steps")
    if report.get("torch_peak_allocated_bytes"):
        print(f"{ranks.prefix}peak by torch {report['torch_peak_allocated_bytes']} bytes allocated, "
              f"{report['torch_peak_reserved_bytes']} reserved")
    print(f"{ranks.prefix}losses sha256 {digest} over {len(report['losses'])} steps", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
