"""Launches a known number of small kernels: many_kernels.py COUNT. Its last line is "launched COUNT"."""

import sys

import torch


def main():
    count = int(sys.argv[1])
    words = torch.zeros(1024, device="cuda")
    torch.cuda.synchronize()
    for number in range(count):
        words.add_(1.0)
        if number % 100_000 == 0:
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    if words[0].item() != min(count, 2**24):
        raise SystemExit("the kernels did not all run")
    print(f"launched {count}")


if __name__ == "__main__":
    main()
