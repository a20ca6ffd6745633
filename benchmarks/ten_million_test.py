"""benchmarks/ten_million.py: a session is repeated soundly, and what is measured becomes a raw file. Needs no build."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from lib import long_session  # noqa: E402

SCHEMA = """
CREATE TABLE iteration(process_id, number, first_operation);
CREATE TABLE operation(process_id, operation, call_ns);
CREATE TABLE kernel(id INTEGER PRIMARY KEY, operation, call_ns, start_ns, wait_ns);
CREATE TABLE allocation(id INTEGER PRIMARY KEY, allocation, alloc_ns, free_ns);
CREATE TABLE access(operation, allocation_id);
CREATE INDEX kernel_start ON kernel(start_ns);
"""
EMPTY = ("memcpy", "memset", "counter", "sync", "marker", "overhead")


def short_session(path):
    """A weight, and three iterations of two kernels and an activation, ten ns each."""
    session = sqlite3.connect(path)
    session.executescript(SCHEMA)
    for table in EMPTY:
        session.execute(f"CREATE TABLE {table}(id INTEGER PRIMARY KEY, call_ns, start_ns)")
    for table in long_session.DERIVED:
        if table not in ("iteration", "operation"):
            session.execute(f"CREATE TABLE {table}(id INTEGER PRIMARY KEY)")
    session.execute("INSERT INTO allocation VALUES (1, 1, 0, 99)")
    for number in range(3):
        session.execute("INSERT INTO iteration VALUES (1, ?, ?)", (number, 2 * number))
        session.execute("INSERT INTO allocation VALUES (?, ?, ?, ?)",
                        (number + 2, number + 2, 10 * number + 10, 10 * number + 19))
        for operation in (2 * number, 2 * number + 1):
            call = 10 + 5 * operation
            session.execute("INSERT INTO operation VALUES (1, ?, ?)", (operation, call))
            session.execute("INSERT INTO kernel VALUES (NULL, ?, ?, ?, 7)", (operation, call, call + 1))
            session.executemany("INSERT INTO access VALUES (?, ?)", [(operation, 1), (operation, number + 2)])
    session.commit()
    session.close()


class Repeat(unittest.TestCase):
    def test_an_iteration_goes_on_as_it_was(self):
        with tempfile.TemporaryDirectory() as folder:
            short, long = os.path.join(folder, "short"), os.path.join(folder, "long")
            short_session(short)
            # Two iterations stay, with 15 rows; three more have seven rows each.
            self.assertEqual(long_session.repeat(short, long, 36), 36)
            session = sqlite3.connect(long)
            self.assertEqual(session.execute("SELECT operation, call_ns, start_ns, wait_ns FROM kernel ORDER BY 1").fetchall(),
                             [(k, 10 + 5 * k, 11 + 5 * k, 7) for k in range(10)])
            self.assertEqual(session.execute("SELECT id, allocation, alloc_ns, free_ns FROM allocation").fetchall(),
                             [(1, 1, 0, None)] + [(k + 2, k + 2, 10 * k + 10, 10 * k + 19) for k in range(5)],
                             "the weight lives on")
            self.assertEqual(session.execute("SELECT * FROM access ORDER BY 1, 2").fetchall(),
                             [(k, a) for k in range(10) for a in (1, k // 2 + 2)])
            self.assertEqual(session.execute("SELECT count(*) FROM iteration").fetchone(), (0,))
            self.assertEqual(session.execute("SELECT count(*) FROM sqlite_master WHERE name = 'kernel_start'").fetchone(), (1,))
            session.close()


class Measure(unittest.TestCase):
    def run_script(self, folder, tferry):
        path = os.path.join(folder, "tferry")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\n{tferry}")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return subprocess.run([sys.executable, os.path.join(HERE, "ten_million.py"), "--bundle", folder, "--out", folder,
                               "--events", "36", "--times", "2"],
                              check=False, capture_output=True, text=True, timeout=60)

    def test_times_and_memory_of_both_sessions(self):
        with tempfile.TemporaryDirectory() as folder:
            short_session(os.path.join(folder, "short"))
            done = self.run_script(folder, f"""
import shutil, sys
arguments = sys.argv[1:]
if arguments[0] == "demo" or "golden.tferry" in arguments[3]:
    shutil.copyfile({os.path.join(folder, "short")!r}, arguments[arguments.index("-o") + 1])
""")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(folder, "ten_million_raw.json"), encoding="utf-8") as file:
                raw = json.load(file)
            self.assertEqual([one["claim"] for one in raw["measurements"]],
                             [f"analyzer.ten_million/{metric}{name}" for name in ("", "/recorded")
                              for metric in ("seconds", "memory_GiB")])
            for one in raw["measurements"]:
                self.assertEqual(len(one["subject"]["samples"]), 2)
                self.assertGreater(min(one["subject"]["samples"]), 0)
                self.assertEqual(len(one["checks"]["processor_seconds"]), 2)

    def test_a_failure_ends_it(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_script(folder, "import sys\nsys.exit('no room')")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("no room", done.stderr)
            self.assertFalse(os.path.exists(os.path.join(folder, "ten_million_raw.json")))


if __name__ == "__main__":
    unittest.main()
