"""Measures the link of the current GPU with pinned memory and prints one JSON line: GB/s in, out, and both at once."""

import json
import time

import torch

SIZE = 2**30
ROUNDS = 8


def main():
    device = [torch.empty(SIZE, dtype=torch.uint8, device="cuda") for _ in range(2)]
    host = [torch.empty(SIZE, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
    inwards, outwards = torch.cuda.Stream(), torch.cuda.Stream()

    def seconds(into, out_of):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(ROUNDS):
            if into:
                with torch.cuda.stream(inwards):
                    device[0].copy_(host[0], non_blocking=True)
            if out_of:
                with torch.cuda.stream(outwards):
                    host[1].copy_(device[1], non_blocking=True)
        torch.cuda.synchronize()
        return time.perf_counter() - start

    seconds(True, True)
    total = SIZE * ROUNDS / 1e9
    print(json.dumps({"h2d_gbps": round(total / seconds(True, False), 2),
                      "d2h_gbps": round(total / seconds(False, True), 2),
                      "duplex_gbps": round(2 * total / seconds(True, True), 2)}))


if __name__ == "__main__":
    main()
