"""Copies known amounts over the link, pausing between: both ways (to warm up), in, out, both ways. Run it under
`tferry profile`; prints one JSON line with the rates in GB/s. The pauses let a recording tell the four apart."""

import json
import time

import torch

SIZE = 2**29
ROUNDS = 8
PAUSE_S = 0.5


def main():
    device = [torch.empty(SIZE, dtype=torch.uint8, device="cuda") for _ in range(2)]
    host = [torch.empty(SIZE, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
    inwards, outwards = torch.cuda.Stream(), torch.cuda.Stream()

    def rate(into, out_of, rounds=ROUNDS):
        torch.cuda.synchronize()
        time.sleep(PAUSE_S)
        start = time.perf_counter()
        for _ in range(rounds):
            if into:
                with torch.cuda.stream(inwards):
                    device[0].copy_(host[0], non_blocking=True)
            if out_of:
                with torch.cuda.stream(outwards):
                    host[1].copy_(device[1], non_blocking=True)
        torch.cuda.synchronize()
        return rounds * SIZE * (into + out_of) / 1e9 / (time.perf_counter() - start)

    rate(True, True, rounds=1)
    rates = {"h2d_gbps": round(rate(True, False), 2), "d2h_gbps": round(rate(False, True), 2),
             "duplex_gbps": round(rate(True, True), 2)}
    time.sleep(PAUSE_S)
    print(json.dumps({**rates, "bytes_in": SIZE * (2 * ROUNDS + 1), "bytes_out": SIZE * (2 * ROUNDS + 1)}))


if __name__ == "__main__":
    main()
