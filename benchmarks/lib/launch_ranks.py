"""Starts the ranks of a job on this machine, as torchrun does, and hands each line of its own standard input to all of them:

    launch_ranks.py COUNT PORT PROGRAM [ARGUMENTS...]

Ends with the first rank's exit code that is not 0; when one fails the others are ended, since they would wait for it.
"""

import os
import subprocess
import sys
import threading
import time


def start(rank, count, port, command):
    variables = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count,
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    # A line and its end would be two writes then, and those of several ranks end up in each other.
    environment.pop("PYTHONUNBUFFERED", None)
    return subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)


def pass_on(ranks):
    """Every line to every rank; the end of the input is passed on as well."""
    while True:
        line = sys.stdin.buffer.raw.readline()  # a buffer's lock would be held while the program ends
        for rank in ranks:
            try:
                if line:
                    rank.stdin.write(line)
                    rank.stdin.flush()
                else:
                    rank.stdin.close()
            except OSError:
                pass  # it has ended
        if not line:
            return


def end(ranks):
    """Asked first, then killed: one that waits in a collective may not listen."""
    for rank in ranks:
        rank.terminate()
    deadline = time.monotonic() + 5
    for rank in ranks:
        try:
            rank.wait(timeout=max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            rank.kill()
            rank.wait()


def main():
    count, port = int(sys.argv[1]), int(sys.argv[2])
    ranks = [start(rank, count, port, sys.argv[3:]) for rank in range(count)]
    threading.Thread(target=pass_on, args=(ranks,), daemon=True).start()
    while None in (codes := [rank.poll() for rank in ranks]):
        if any(codes):
            time.sleep(1)  # so that the others' own last words are seen
            end(ranks)
            break
        time.sleep(0.02)
    codes = [rank.returncode for rank in ranks if rank.returncode]
    first = next((code for code in codes if code > 0), codes[0] if codes else 0)
    sys.exit(first if first >= 0 else 128 - first)


if __name__ == "__main__":
    main()
