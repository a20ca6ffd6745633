"""A job that profiles itself with torch.profiler, so that a second CUPTI client is in the process when it runs under
`tferry profile`. Prints one JSON line: whether its results are right, and what its own profiler saw of the GPU."""

import json
import warnings

import torch
from torch.profiler import ProfilerActivity, profile

SIZE = 1024
ROUNDS = 20


def main():
    warnings.simplefilter("ignore")
    a = torch.ones(SIZE, SIZE, device="cuda")
    seen, error = 0, ""
    try:
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recording:
            product = multiply(a)
        seen = sum(1 for event in recording.events() if event.device_type == torch.autograd.DeviceType.CUDA)
    except RuntimeError as failure:
        error = str(failure).split("\n")[0]
        product = multiply(a)
    right = bool(torch.all(product == SIZE * ROUNDS).item())
    print(json.dumps({"right": right, "gpu_events_seen_by_torch": seen, "torch_profiler_error": error}))


def multiply(a):
    total = torch.zeros_like(a)
    for _ in range(ROUNDS):
        total += a @ a
    torch.cuda.synchronize()
    return total


if __name__ == "__main__":
    main()
