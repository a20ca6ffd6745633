#!/usr/bin/env python3
"""A stand-in for tferry in tests of the measuring scripts: `profile` runs the job and writes a small database in a
session's shape, its contents chosen by the session's name; `query` answers SQL on it as tferry does."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys

MS = 1_000_000
TABLES = {
    "meta": "key, value", "string": "id, value", "enumeration": "name, value, label", "loss": "what, reason, count, detail",
    "device": "id, memory_bytes", "kernel": "name_id, grid_x, grid_y, grid_z, start_ns, end_ns, operation, owner",
    "memcpy": "start_ns, end_ns, bytes, kind, device_id, operation, owner", "memset": "bytes, start_ns, operation, owner",
    "allocation": "bytes, memory_kind, free_ns", "swap": "kind, bytes", "gate": "operation", "graph_launch": "operation",
    "um_event": "kind", "sync": "kind", "marker": "kind", "overhead": "what", "access": "operation",
    "counter": "device_id, name_id, start_ns, end_ns, value"}
READ_ID, WRITE_ID, KERNEL_ID = 1, 2, 3


class Session:
    def __init__(self, path):
        self.database = sqlite3.connect(path)
        for table, columns in TABLES.items():
            self.database.execute(f'CREATE TABLE "{table}" ({columns})')
        for row in ((READ_ID, "pcie__read_bytes.sum"), (WRITE_ID, "pcie__write_bytes.sum"), (KERNEL_ID, "gemm")):
            self.add("string", *row)
        self.add("enumeration", "transfer_kind", 1, "park")
        self.add("enumeration", "transfer_kind", 2, "fetch")
        self.add("device", 1, 100)
        for key, value in (("calls", 10), ("matched_calls", 10), ("records", 10)):
            self.add("meta", "join." + key, value)
        self.add("meta", "join.resynchronisations", 0)

    def add(self, table, *row):
        self.database.execute(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(row))})', row)

    def kernels(self, count, duration=1000):
        for i in range(count):
            self.add("kernel", KERNEL_ID, 1, 1, 1, i * MS, i * MS + duration, i, 1)

    def copies(self, copies, owner=1, waste=1.0):
        """Each (from ms, to ms, kind, bytes a ms), with counters as an idle link (10 bytes a ms) and headers make them."""
        end = max((stop for _, stop, _, _ in copies), default=0) + 1000
        for start, stop, kind, rate in copies:
            self.add("memcpy", start * MS, stop * MS, (stop - start) * rate, kind, 1, start, owner)
        for at in range(end):
            rates = {kind: sum(rate for start, stop, k, rate in copies if k == kind and start <= at < stop)
                     for kind in (1, 2)}
            self.add("counter", 1, READ_ID, at * MS, (at + 1) * MS, 10 + waste * (1.05 * rates[1] + 0.01 * rates[2]))
            self.add("counter", 1, WRITE_ID, at * MS, (at + 1) * MS, 10 + waste * (0.06 * rates[1] + 1.04 * rates[2]))

    def close(self):
        self.database.commit()
        self.database.close()


def fill(session, name):
    if name.endswith(".bytes"):
        session.copies([(0, 2000, 1, 600), (0, 2000, 2, 500)])
    elif name == "wire":
        rate = 2**26
        session.copies([(0, 10, 1, rate), (0, 10, 2, rate), (500, 580, 1, rate), (1080, 1160, 2, rate),
                        (1660, 1740, 1, rate), (1660, 1740, 2, rate)])
    elif name == "layers.exact":
        session.kernels(7)
        session.add("memcpy", MS, 2 * MS, int(os.environ.get("FAKE_COPY", "4096")), 1, 1, 8, 1)
        session.add("allocation", 64, 3, 9)
        session.add("allocation", 64, 3, None)
    elif name == "layers.copies":
        session.copies([(100, 900, 1, 2**20), (100, 900, 2, 2**20)], owner=2, waste=float(os.environ.get("FAKE_WASTE", 1)))
    else:
        session.kernels(20, duration=1100 if name == "budget" else 1000)
        if name in ("budget", "xl"):
            for kind, moved in ((1, 500), (2, 700)):
                session.add("memcpy", MS, 2 * MS, moved, kind, 1, 1, 2)
                session.add("swap", 3 - kind, moved)
            session.add("gate", 4)
        if name != "no_preload":
            session.add("allocation", 64, 3, 9)
        if name == "killed":
            session.add("loss", "record", "unknown", None, "spool: its process ended without closing it (killed?)")
        if name == "no_preload":
            session.add("loss", "kernel_launch", "unsupported", None, "not recorded, as --no-preload asked for")


def profile(words):
    options, job = words[:words.index("--")], words[words.index("--") + 1:]
    value = lambda option: options[options.index(option) + 1] if option in options else None  # noqa: E731
    done = subprocess.run(job, check=False)
    path = value("-o")
    session = Session(path)
    fill(session, os.path.basename(path).removesuffix(".tferry"))
    session.close()
    if value("--json"):
        with open(value("--json"), "w", encoding="utf-8") as file:
            json.dump({"processes": [{"devices": [{"allocated_peak": 150}]}]}, file)
    if value("--keep-spools"):
        os.makedirs(value("--keep-spools"))
        for name in ("spool.1.collector.0", "spool.1.runtime.0", "spool.1.sampler.0"):
            shutil.copy(path, os.path.join(value("--keep-spools"), name))
    if done.returncode < 0:
        os.kill(os.getpid(), -done.returncode)
    return done.returncode


def analyze(words):
    path = words[words.index("-o") + 1] if "-o" in words else words[0]
    if path != words[0]:
        shutil.copy(words[0], path)
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE bound (id, budget_bytes, bound_ns, in_memory_ns, bytes_in, bytes_out, resource)")
    database.execute("CREATE TABLE plan (id, budget_bytes, bound_ns, predicted_ns, sha256)")
    database.execute("INSERT INTO bound VALUES (1, 4000, 120000000, 100000000, 50000, 50000, 'link_out')")
    database.execute("INSERT INTO plan VALUES (1, 4000, 120000000, 130000000, 'abc')")
    database.commit()
    return 0


def run(words):
    if "--help" in words:
        print("--plan --output --policy --json --budget")
        return 0
    with open(words[words.index("--json") + 1], "w", encoding="utf-8") as file:
        json.dump({"processes": [{"devices": [{"plan_iterations": 5, "plan_mappings": 0, "plan_late_bytes": 10,
                                                  "iterations": {"time_ns": 142000000}}]}]}, file)
    policy = "plan" if "--plan" in words else words[words.index("--policy") + 1] if "--policy" in words else "live"
    job = words[words.index("--") + 1:]
    return subprocess.run(job, check=False, env={**os.environ, "FAKE_POLICY": policy}).returncode


def query(words):
    database = sqlite3.connect(words[1])
    database.row_factory = sqlite3.Row
    rows = [{**dict(row), "known_by": "measured"} for row in database.execute(words[0])]
    print(json.dumps({"tables": [{"rows": rows}]}))
    return 0


def main():
    command, words = sys.argv[1], sys.argv[2:]
    if command == "profile":
        return profile(words)
    if command == "analyze":
        return analyze(words)
    if command == "run":
        return run(words)
    if command == "query":
        return query(words)
    if command == "merge":
        shutil.copy(next(word for word in words if ".runtime." in word), words[words.index("-o") + 1])
        return 0
    if command == "compare":
        print("the same")
        return int(os.environ.get("FAKE_DIFFERENT", "0"))
    print("nothing is known to be missing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
