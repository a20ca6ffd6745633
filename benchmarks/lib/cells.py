"""Runs the cells of a measuring script: jobs with time limits, a ballast and a memory sampler beside them.

Raw results are written after every cell, so that a script that is stopped leaves what it measured until then. What
they contain is described in benchmarks/results/README.md; `tferry-bench record` makes result files from them.
"""

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import threading
import time

MIB = 2**20
GIB = 2**30
TAIL = 4000  # characters of a job's output that are kept


class Programs:
    """Where the programs are: in the bundle, or in a build folder of this repository."""

    def __init__(self, bundle, repository, must_exist=True):
        self.must_exist = must_exist
        self.folders = [bundle, os.path.join(bundle, "bin"), os.path.join(bundle, "samples"),
                        os.path.join(bundle, "samples", "python"), os.path.join(bundle, "samples", "cuda"),
                        os.path.join(repository, "samples", "python"), os.path.join(repository, "benchmarks", "gpu"),
                        os.path.join(repository, "build", "bin")]

    def find(self, name):
        for folder in self.folders:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                return path
        if not self.must_exist:
            return name
        raise FileNotFoundError(f"{name} is in none of: " + ", ".join(self.folders))


class Helper:
    """A program that says "... ready ..." on its first line and ends when its standard input is closed."""

    def __init__(self, command, ready_within=60.0):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        watchdog = _Alarm(self.process, ready_within)
        self.first_line = self.process.stdout.readline().strip()
        watchdog.stop()
        if " ready " not in self.first_line:
            self.process.kill()
            _, errors = self.process.communicate()
            raise RuntimeError(f"{command[0]} did not start: {self.first_line} {errors.strip()}")

    def close(self, within=30.0):
        try:
            output, _ = self.process.communicate(timeout=within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            output, _ = self.process.communicate()
        return output


class _Alarm:
    def __init__(self, process, seconds):
        self.timer = threading.Timer(seconds, process.kill)
        self.timer.start()

    def stop(self):
        self.timer.cancel()


def session_members(session):
    """Process ids of a session: of a job and all that it started, process groups of their own included."""
    members = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended meanwhile
            state, its_session = fields[0], int(fields[3])
            if its_session == session and state != "Z":
                members.append(int(entry))
    return members


def signal_session(session, number):
    for member in session_members(session):
        try:
            os.kill(member, number)
        except ProcessLookupError:
            pass


def stop(process, grace_s=10):
    """Ends a job that leads a session: asked first, so that a launcher can end its own job, then killed."""
    signal_session(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=grace_s)
    except subprocess.TimeoutExpired:
        pass
    signal_session(process.pid, signal.SIGKILL)
    process.wait()


def run_job(command, limit_s, folder, name, environment=None):
    """Runs a job in a session of its own, ends all of it at the limit, returns what is known about it."""
    stdout_path = os.path.join(folder, name + ".out")
    stderr_path = os.path.join(folder, name + ".err")
    start = time.monotonic()
    timed_out = False
    with open(stdout_path, "wb") as out, open(stderr_path, "wb") as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
                                   env={**os.environ, **(environment or {}), "PYTHONUNBUFFERED": "1"})
        try:
            process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            timed_out = True
            stop(process)
    result = {"command": command, "rc": process.returncode, "timed_out": timed_out, "limit_s": round(limit_s, 1),
              "wall_s": round(time.monotonic() - start, 3)}
    for key, path in (("stdout", stdout_path), ("stderr", stderr_path)):
        with open(path, encoding="utf-8", errors="replace") as file:
            result[key] = file.read()
    return result


def visible_gpu():
    """NVML's index of the GPU that programs take for their first one: NVML does not know CUDA_VISIBLE_DEVICES."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    return first if first.isdigit() else "0"


class Watched:
    """The memory sampler beside jobs and, given `room` in bytes, a ballast that leaves no more than that free."""

    def __init__(self, programs, room=None):
        self.programs, self.room = programs, room
        self.ballast = self.sampler = None
        self.found = {"ballast_leaves_bytes": room}

    def start(self):
        if self.room is not None:
            self.ballast = Helper([self.programs.find("tferry-ballast"), "--leave", str(self.room)])
            self.found["ballast"] = self.ballast.first_line
        self.sampler = Helper([self.programs.find("tferry-memory-sampler"), "--device", visible_gpu()])

    def stop(self):
        """What was seen: "device_peak_bytes" is what the jobs added to the card's use."""
        if self.sampler:
            text = self.sampler.close()
            try:
                memory = json.loads(text)
                self.found["memory"] = memory
                self.found["device_peak_bytes"] = memory["peak_used_bytes"] - memory["first_used_bytes"]
            except (ValueError, KeyError):
                self.found["memory"] = {"error": text[-300:]}
        if self.ballast:
            self.ballast.close()
        return self.found


def run_watched(programs, command, limit_s, folder, name, parse, room=None):
    """run_job with a Watched beside it. What could not be had is in "error"."""
    cell = {}
    watched = Watched(programs, room)
    try:
        watched.start()
        cell.update(run_job(command, limit_s, folder, name))
        cell.update(parse(cell["stdout"]))
    except (OSError, RuntimeError) as error:
        cell["error"] = str(error)
    finally:
        cell.update(watched.stop())
    return cell


def append_log(path, cell):
    with open(path, "a", encoding="utf-8") as log:
        log.write(f"===== {cell['cell']}: {cell.get('command')}\n{cell.get('stdout', '')}\n"
                  f"----- stderr, rc {cell.get('rc')}\n{cell.get('stderr', '')[-60000:]}\n")


def own_use(native, allocated_key):
    """C: what the job uses beyond its allocations, its context and modules above all, with none of ours."""
    if not native or native.get("rc") != 0 or "device_peak_bytes" not in native:
        return None
    return max(native["device_peak_bytes"] - native[allocated_key], 0)


def median_ms(cell):
    steps = cell.get("step_ns")
    return round(statistics.median(steps) / 1e6, 3) if steps else None


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def job_of(cell):
    """The command without the paths of the machine it ran on."""
    return " ".join(os.path.basename(word) if word.startswith("/") else word for word in cell.get("command", []))


def runtime_counter(cell, name):
    """The sum of one of the runtime's counters over processes and devices, from the file of `tferry run --json`."""
    processes = (cell.get("run") or {}).get("processes") or []
    return sum(device.get(name) or 0 for process in processes for device in process.get("devices") or [])


def moved_bytes(cell):
    """Bytes in and out that the runtime counted, and what its launching threads waited, in ns."""
    return {name: runtime_counter(cell, name) for name in ("bytes_in", "bytes_out", "host_wait_ns")}


def free_device_bytes():
    """Of the GPU that programs take for their first one, as the driver tells; 0 where nobody knows."""
    found = first_match(["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits", "-i", visible_gpu()],
                        r"^(\d+)") if shutil.which("nvidia-smi") else ""
    return int(found) * MIB if found else 0


def plan_counters(cell):
    """The counters of following a plan, of the device that followed one, and `iteration_ns`, the median of its whole
    iterations by the events of the runtime."""
    processes = (cell.get("run") or {}).get("processes") or []
    devices = [device for process in processes for device in process.get("devices") or []]
    followed = [device for device in devices if device.get("plan_iterations")] or devices[:1]
    found = {name: value for device in followed[:1] for name, value in device.items()
             if name.startswith("plan_") and value is not None}
    for device in followed[:1]:
        found["iteration_ns"] = (device.get("iterations") or {}).get("time_ns")
    return found


def parse_gpt2(text):
    """Losses as they stand and the times of the steps that count, from the lines of samples/python/gpt2.py."""
    steps = re.findall(r"^step (\d+) loss (\S+) \(\S+\) time_ms ([\d.]+)( warmup)?$", text, re.MULTILINE)
    digest = re.search(r"^losses sha256 (\w+) over (\d+) steps$", text, re.MULTILINE)
    return {"losses": [loss for _, loss, _, _ in steps],
            "step_ns": [round(float(ms) * 1e6) for _, _, ms, warmup in steps if not warmup],
            "every_step_ns": [round(float(ms) * 1e6) for _, _, ms, _ in steps],
            "loss_sha256": digest.group(1) if digest else None}


def parse_layers(text):
    """The answer and the iterations' times but the first, from the lines of the layers programs."""
    iterations = re.findall(r"^iteration \d+ sum (\w+) time_ms ([\d.]+)$", text, re.MULTILINE)
    answer = re.search(r"^answer ok (\w+),.* footprint (\d+) bytes$", text, re.MULTILINE)
    return {"losses": [value for value, _ in iterations],
            "step_ns": [round(float(ms) * 1e6) for _, ms in iterations[1:]],
            "loss_sha256": answer.group(1) if answer else None,
            "footprint_bytes": int(answer.group(2)) if answer else None}


def first_match(command, pattern):
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(pattern, text)
    return found.group(1).strip() if found else ""


def describe_machine():
    machine = {"gpu": "", "gpus": 0, "driver": "", "cuda": ""}
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--format=csv,noheader,nounits"]
        machine["gpu"] = first_match(query + ["--query-gpu=name"], r"^(.+)")
        machine["driver"] = first_match(query + ["--query-gpu=driver_version"], r"^(.+)")
        machine["cuda"] = first_match(["nvidia-smi"], r"CUDA Version:\s*([\d.]+)")
        machine["gpus"] = len(first_match(query + ["--query-gpu=index"], r"([\s\S]+)").split("\n"))
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                machine["host_memory_limit"] = file.read().strip()
            break
    return machine


def today():
    return time.strftime("%Y-%m-%d", time.gmtime())


class Raw:
    """The raw file: everything measured so far, written whole after every cell, by rename."""

    def __init__(self, path, script, repository):
        self.path = path
        self.data = {"schema": "tferry.raw/1", "script": script, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ",
                                                                                       time.gmtime()),
                     "git": first_match(["git", "-C", repository, "rev-parse", "HEAD"], r"(\w+)")
                     or os.environ.get("TFERRY_GIT", ""),
                     "machine": describe_machine(), "cells": [], "measurements": []}

    def write(self):
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.data, file, indent=1)
            file.write("\n")
        os.replace(self.path + ".new", self.path)

    def add(self, cell):
        kept = {key: value[-TAIL:] if key in ("stdout", "stderr") else value for key, value in cell.items()}
        self.data["cells"].append(kept)
        self.write()


def earlier_series(path, data):
    """The series of an earlier raw file of the same script, to be continued by `data`; {} without one. Another script,
    format or GPU is refused."""
    if not path:
        return {}
    with open(path, encoding="utf-8") as file:
        earlier = json.load(file)
    script = data["script"]
    if any(earlier.get(key) != data[key] for key in ("schema", "script")) or "series" not in earlier:
        raise SystemExit(f"{script}.py: {path} is no raw file of this script")
    if earlier["machine"].get("gpu") != data["machine"].get("gpu"):
        raise SystemExit(f"{script}.py: {path} is of {earlier['machine'].get('gpu')}, this machine has "
                         f"{data['machine'].get('gpu')}: their times cannot be put together")
    data["continues"] = [*earlier.get("continues", []), {key: earlier[key] for key in ("git", "date")}]
    return earlier["series"]
