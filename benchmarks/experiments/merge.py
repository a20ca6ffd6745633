"""merge.py PARTS_FOLDER OUT.json: the experiments' files as one, with the machine they ran on."""

import datetime
import glob
import json
import os
import subprocess
import sys


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"


def main():
    folder, out = sys.argv[1:]
    machine = {"gpu": output("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"),
               "kernel": output("uname", "-sr"), "processors": os.cpu_count()}
    merged = {"date": datetime.date.today().isoformat(), "machine": machine, "experiments": {}, "exit_codes": {}}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        try:
            with open(path) as file:
                part = json.load(file)
            merged["experiments"][part["experiment"]] = part["sections"]
        except (OSError, ValueError, KeyError) as error:
            merged["experiments"][os.path.basename(path)] = {"error": f"unreadable: {error}"}
    for path in sorted(glob.glob(os.path.join(folder, "*.rc"))):
        with open(path) as file:
            merged["exit_codes"][os.path.basename(path)[:-3]] = file.read().strip()
    with open(out + ".part", "w") as file:
        json.dump(merged, file, indent=1)
    os.replace(out + ".part", out)


if __name__ == "__main__":
    main()
