#!/usr/bin/env python3
"""Records the golden session of tests/golden anew, on a machine with an NVIDIA GPU, into a folder.

    benchmarks/record_golden.py --bundle build/bundle --out "$OUT" --python python3 --compare tests/golden/gpt2.tferry

The job is samples/python/gpt2.py with few steps under `tferry profile`; nothing else makes it small. Files in --out:
gpt2.tferry, gpt2.{runtime,collector,sampler}.spool.gz, gpt2.txt (what the job printed), README.md (how it was made) and,
with --compare, compare.txt: what `tferry compare --structure OLD NEW` says of operations and allocations.

Exit code 0: recorded, at most 5 MB, and the same in structure; 1: recorded, but not so, see the last lines; 2: nothing
was recorded.
"""

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import cells, recordings  # noqa: E402

LIMIT_BYTES = 5_000_000
STEPS = ["--steps", "3", "--warmup", "1"]
# Counters at 100 us, the default, would be most of the session.
OPTIONS = ["--counter-interval", "1ms"]
SOURCES = ("runtime", "collector", "sampler")

README = """# Golden sessions

Recorded on a real GPU by our own collector and hooks; never edited. `benchmarks/record_golden.py` records them anew
(then this page is the one that it writes); `golden_test.cpp` asks them what any recording of this job has to answer.

| file | what |
|---|---|
| `gpt2.tferry` | the session that `tferry profile` left |
{spools}| `gpt2.txt` | what the job printed |

`{command}`
on one {gpu}, driver {driver}, CUDA {cuda}, PyTorch {torch}, {date}, Tensorferry at commit {git}.
{missing}"""


def record(arguments, programs, folder):
    """Runs the job; the cell of cells.run_job. The session and the spools are in `folder`."""
    job = [arguments.python, programs.find("gpt2.py"), *STEPS, "--json", os.path.join(folder, "job.json")]
    command = [programs.find("tferry"), "profile", *OPTIONS, "--keep-spools", os.path.join(folder, "spools"),
               "-o", os.path.join(folder, "gpt2.tferry"), "--", *job]
    return cells.run_job(command, arguments.time_limit, folder, "golden")


def find_spool(folder, source):
    """The spool of a source; with more than one the largest (helper processes of the job leave small ones)."""
    found = [os.path.join(folder, "spools", name) for name in os.listdir(os.path.join(folder, "spools"))
             if f".{source}." in name]
    return max(found, key=os.path.getsize) if found else None


def pack(source, target):
    # No name and no time of packing in it: the same spool gives the same file.
    with open(source, "rb") as spool, open(target, "wb") as file, \
            gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=9) as packed:
        shutil.copyfileobj(spool, packed)


def describe(cell, details, git, spools, losses):
    machine = cells.describe_machine()
    rows = "".join(f"| `gpt2.{source}.spool.gz` | {words} |\n" for source, words in (
        ("runtime", "what the hooks saw"), ("collector", "what CUPTI recorded"),
        ("sampler", "hardware counters, every millisecond")) if source in spools)
    missing = "".join(f"- {loss['what']}: {loss['reason']}: {loss['detail'] or loss['count']}\n" for loss in losses)
    return README.format(spools=rows, command=shown_command(cell), gpu=machine["gpu"] or "unknown GPU",
                         driver=machine["driver"], cuda=machine["cuda"], torch=details.get("torch", "unknown"),
                         date=cells.today(), git=git, missing="\nMissing from it:\n" + missing if missing else "")


def shown_command(cell):
    """The command as the README shows it: names without paths, and without the files that only this script needs."""
    words = cells.job_of(cell)
    return re.sub(r" --(keep-spools|json|o) \S+| -o \S+", "", words)


def compare(sessions, old, new, out):
    done = subprocess.run([sessions.tferry, "compare", "--structure", old, new], capture_output=True, text=True,
                          timeout=120, check=False)
    with open(os.path.join(out, "compare.txt"), "w", encoding="utf-8") as file:
        file.write(done.stdout + done.stderr)
    print(done.stdout + done.stderr)
    return done.returncode == 0


def keep(arguments, cell, folder, sessions):
    """Puts everything in place; what is wrong with it, in sentences."""
    wrong = []
    session = os.path.join(arguments.out, "gpt2.tferry")
    shutil.copyfile(os.path.join(folder, "gpt2.tferry"), session)
    with open(os.path.join(arguments.out, "gpt2.txt"), "w", encoding="utf-8") as file:
        file.write(cell["stdout"])
    spools = {source: find_spool(folder, source) for source in SOURCES}
    spools = {source: path for source, path in spools.items() if path}
    wrong += [f"there is no spool of the {source}" for source in SOURCES if source not in spools]
    for source, path in spools.items():
        pack(path, os.path.join(arguments.out, f"gpt2.{source}.spool.gz"))
    details = cells.read_json(os.path.join(folder, "job.json")) or {}
    with open(os.path.join(arguments.out, "README.md"), "w", encoding="utf-8") as file:
        file.write(describe(cell, details, arguments.git, spools, sessions.losses(session)))
    size = sum(os.path.getsize(os.path.join(arguments.out, name)) for name in os.listdir(arguments.out)
               if name.startswith("gpt2."))
    print(f"session {os.path.getsize(session)} bytes, all files {size} bytes")
    if size > LIMIT_BYTES:
        wrong.append(f"the files take {size} bytes, more than {LIMIT_BYTES}: record fewer counters or steps")
    join = sessions.join(session)
    print(f"calls {join['calls']}, records {join['records']}, mismatches {join['mismatches']}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bundle", required=True, help="folder with bin/tferry and its libraries")
    parser.add_argument("--out", required=True, help="folder for the files; it must not hold a recording already")
    parser.add_argument("--python", default="python3", help="the interpreter that has torch")
    parser.add_argument("--compare", metavar="SESSION", help="an earlier recording, to compare the structure with")
    parser.add_argument("--git", default=os.environ.get("TFERRY_GIT", ""), help="commit that the bundle was made from")
    parser.add_argument("--time-limit", type=float, default=120, help="seconds for the job and its session")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    if os.path.exists(os.path.join(arguments.out, "gpt2.tferry")):
        sys.exit(f"record_golden: {arguments.out} holds a recording already: name another folder")
    repository = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    programs = cells.Programs(arguments.bundle, repository)
    arguments.git = arguments.git or cells.first_match(["git", "-C", repository, "rev-parse", "HEAD"], r"(\w+)") \
        or "unknown"
    sessions = recordings.Recordings(programs.find("tferry"))
    with tempfile.TemporaryDirectory(prefix="tferry-golden-") as folder:
        cell = record(arguments, programs, folder)
        sys.stderr.write(cell["stderr"][-5000:])
        if cell["rc"] != 0 or not os.path.exists(os.path.join(folder, "gpt2.tferry")):
            print(f"record_golden: nothing was recorded: tferry profile ended with {cell['rc']}", file=sys.stderr)
            return 2
        wrong = keep(arguments, cell, folder, sessions)
    if arguments.compare and not compare(sessions, arguments.compare, os.path.join(arguments.out, "gpt2.tferry"),
                                         arguments.out):
        wrong.append("its structure is not that of " + arguments.compare)
    for sentence in wrong:
        print("record_golden: " + sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
