"""Runs samples/python/gpt2.py with --pause-every, and calls cudaProfilerStart at given bursts of steps, cudaProfilerStop
after them.

    ranged_gpt2.py 1,3 GPT2.PY ARGUMENTS...      bursts 1 and 3, counted from 0, are ranges
"""

import runpy
import sys


class Bursts:
    """Standard input that counts the lines which gpt2.py waits for."""

    def __init__(self, lines, ranges):
        self.lines, self.ranges, self.burst = lines, ranges, -1

    def readline(self):
        import torch
        if self.burst in self.ranges:
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()
        line = self.lines.readline()
        self.burst += 1
        if line and self.burst in self.ranges:
            torch.cuda.profiler.start()
        return line


def main():
    ranges = {int(number) for number in sys.argv[1].split(",")}
    sys.argv = sys.argv[2:]
    sys.stdin = Bursts(sys.stdin, ranges)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
