#!/usr/bin/env python3
"""Tests of collector.py and what it compares with: no GPU, no torch."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import collector  # noqa: E402
from lib import kind_checks, pages_checks  # noqa: E402

SESSION = """
CREATE TABLE enumeration(name, value, label);
INSERT INTO enumeration VALUES('copy_kind', 1, 'host_to_device'), ('um_event_kind', 3, 'migration_to_device'),
                              ('allocation_api', 3, 'pool');
CREATE TABLE memcpy(kind, bytes, owner, start_ns);
INSERT INTO memcpy VALUES(1, 100, 1, 5), (1, 100, 1, 6), (1, 999, 2, 7), (1, 50, 1, NULL), (2, 100, 1, 8);
CREATE TABLE memset(bytes, owner, start_ns);
INSERT INTO memset VALUES(10, 1, 5);
CREATE TABLE kernel(process_id, correlation_id, owner, start_ns, stream_id);
INSERT INTO kernel VALUES(1, 7, 1, 5, 1), (1, 7, 1, 6, 1), (1, 8, 1, 7, 2);
CREATE TABLE graph_launch(process_id, correlation_id);
INSERT INTO graph_launch VALUES(1, 7);
CREATE TABLE um_event(kind, bytes);
INSERT INTO um_event VALUES(3, 4096), (3, 8192);
CREATE TABLE allocation(api, bytes, free_ns);
INSERT INTO allocation VALUES(3, 64, 9), (3, 64, NULL);
CREATE TABLE stream(id, owner, priority);
INSERT INTO stream VALUES(1, 1, 0), (2, 1, -5), (3, 2, -3);
"""


class Kinds(unittest.TestCase):
    def setUp(self):
        self.database = sqlite3.connect(":memory:")
        self.addCleanup(self.database.close)
        self.database.row_factory = sqlite3.Row
        self.database.executescript(SESSION)

    def compare(self, text):
        return kind_checks.compare(text, lambda sql: dict(self.database.execute(sql).fetchone()))

    def test_what_agrees_is_counted(self):
        text = ("known memcpy host_to_device 2 of 200 bytes\nknown memset 1 of 10 bytes\nknown kernel of_graphs 2\nknown kernel 3\n"
                "known graph_launch 1\nknown um_event migration_to_device 1 of 8192 bytes\nknown allocation pool 1 of 64 bytes\n"
                "known stream priorities 2\nanswer ok\n")
        self.assertEqual(self.compare(text), ([], 8))

    def test_what_differs_is_told_with_both_figures(self):
        differences, agreeing = self.compare("known memcpy host_to_device 2 of 300 bytes\nknown kernel of_graphs 3\n"
                                             "known um_event migration_to_device 1 of 99999 bytes\n")
        self.assertEqual(agreeing, 0)
        self.assertEqual(differences[0], "memcpy host_to_device: recorded 2 of 200 bytes, made were 2 of 300 bytes")
        self.assertEqual(differences[1], "kernel of_graphs: recorded 2, made were 3")
        self.assertEqual(len(differences), 3)


class Pages(unittest.TestCase):
    LAUNCHED = {"fill_kernel": 4, "combine_kernel": 10, "update_by_table_kernel": 2, "sums_kernel": 3}

    @staticmethod
    def touch(kernel, kind, n, by_pointer=0, allocations=1, how=pages_checks.PAGES):
        return {"name": kernel + "_kernel", "kind": kind, "how": how, "by_pointer": by_pointer, "n": n, "allocations": allocations}

    def right(self):
        return [self.touch("fill", pages_checks.WRITE, 4), self.touch("combine", pages_checks.READ, 12),
                self.touch("combine", pages_checks.MAY_TOUCH, 8), self.touch("sums", pages_checks.READ, 3),
                self.touch("sums", pages_checks.MAY_TOUCH, 3, how=1),
                self.touch("update_by_table", pages_checks.READ, 6, by_pointer=1, allocations=3)]

    def test_what_the_sample_does_is_right_and_what_has_a_direction_is_counted(self):
        self.assertEqual(pages_checks.compare(self.right(), self.LAUNCHED, 3),
                         {"differences": [], "touched": 33, "directed": 25})

    def differences(self, touches):
        return pages_checks.compare(touches, self.LAUNCHED, 3)["differences"]

    def test_a_wrong_direction_or_pointer_is_told(self):
        fill = self.differences([*self.right(), self.touch("fill", pages_checks.READ, 1)])
        self.assertEqual(fill, ["a fill read what it only writes"])
        pointer = self.differences([*self.right(), self.touch("sums", pages_checks.READ, 1, by_pointer=1)])
        self.assertEqual(pointer, ["sums reached memory by pointers, and has none"])
        missed = self.differences([row for row in self.right() if not row["by_pointer"]])
        self.assertEqual(len(missed), 2)
        self.assertIn("updates reached [] allocations by pointer, the table names 3", missed)


class Script(unittest.TestCase):
    def test_a_dry_run_names_every_command_and_runs_none(self):
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run([sys.executable, os.path.join(HERE, "collector.py"), "--bundle", "absent", "--out", out,
                                   "--dry-run"], capture_output=True, text=True, timeout=60, check=True)
        for name in ("kinds.graphs", "step.gpt2_bf16.torch_memory", "range", "million", "long", "iterations", "keep_last", "names", "access.layers", "access.gpt2",
                     "pages.layers", "pages.gpt2.plain", "pages.gpt2", "ranks"):
            self.assertIn(f"{name}: ", done.stdout)
        self.assertNotIn("Error", done.stdout)

    def test_the_traces_size_is_read_from_the_last_line(self):
        self.assertEqual(collector.told_by_torch({"stderr": 'x\n{"events": 3, "bytes": 90}\n'}), {"events": 3, "bytes": 90})
        self.assertIsNone(collector.told_by_torch({"stderr": "Traceback\n"}))
        self.assertIsNone(collector.told_by_torch({"stderr": "{broken"}))


if __name__ == "__main__":
    unittest.main()
