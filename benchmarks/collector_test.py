#!/usr/bin/env python3
"""Tests of collector.py and what it compares with: no GPU, no torch."""

import json
import os
import re
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
INSERT INTO enumeration VALUES('copy_kind', 1, 'host_to_device'), ('um_event_kind', 1, 'gpu_fault'),
  ('um_event_kind', 3, 'migration_to_device'), ('allocation_api', 3, 'pool'), ('allocation_api', 5, 'virtual'),
  ('memory_kind', 1, 'pageable'), ('memory_kind', 2, 'pinned'), ('sync_kind', 3, 'stream'), ('marker_kind', 1, 'range'),
  ('known_by', 1, 'argument'), ('known_by', 5, 'graph'), ('pool_operation_kind', 3, 'trim');
CREATE TABLE string(id, value);
INSERT INTO string VALUES(1, 'inner'), (2, 'tferry.kinds'), (3, 'cuMemHostUnregister');
CREATE TABLE memcpy(process_id, correlation_id, kind, bytes, owner, start_ns, source_kind, source_address, source_device_id);
INSERT INTO memcpy VALUES(1, 1, 1, 100, 1, 5, 2, 4096, 1), (1, 7, 1, 100, 1, 6, 1, 8192, 2), (1, 3, 1, 999, 2, 7, 2, 4096, 1),
  (1, 4, 1, 50, 1, NULL, 2, 4096, 1), (1, 5, 2, 100, 1, 8, 3, 4096, 1);
CREATE TABLE memset(bytes, owner, start_ns);
INSERT INTO memset VALUES(10, 1, 5);
CREATE TABLE kernel(process_id, correlation_id, owner, start_ns, stream_id);
INSERT INTO kernel VALUES(1, 7, 1, 5, 1), (1, 7, 1, 6, 1), (1, 8, 1, 7, 2), (2, 7, 1, 9, 1);
CREATE TABLE graph_launch(process_id, correlation_id);
INSERT INTO graph_launch VALUES(1, 7);
CREATE TABLE um_event(kind, bytes, address, cause);
INSERT INTO um_event VALUES(3, 4096, 65536, 2), (3, 8192, 69632, 1), (3, 512, 131072, 1), (1, NULL, 65536, 1), (1, NULL, 65540, 2);
CREATE TABLE allocation(id, api, bytes, free_ns);
INSERT INTO allocation VALUES(1, 3, 64, 9), (2, 3, 64, NULL), (3, 5, 64, 9);
CREATE TABLE access(allocation_id, known_by);
INSERT INTO access VALUES(3, 1), (3, 1), (1, 1), (1, 5);
CREATE TABLE stream(id, owner, priority);
INSERT INTO stream VALUES(1, 1, 0), (2, 1, -5), (3, 2, -3);
CREATE TABLE process_device(ordinal, device_id);
INSERT INTO process_device VALUES(0, 1), (1, 2);
CREATE TABLE sync(kind, stream_id, start_ns, end_ns);
INSERT INTO sync VALUES(3, 2, 5, 5), (3, 2, 6, 4), (3, 1, 5, 9);
CREATE TABLE marker(kind, name_id, domain_id, start_ns, end_ns);
INSERT INTO marker VALUES(1, 1, 2, 5, 9), (1, 1, NULL, 5, 9);
CREATE TABLE api_call(name_id, thread, result, start_ns, end_ns);
INSERT INTO api_call VALUES(3, 44, 0, 5, 9), (3, 44, 713, 5, 9), (3, 45, 0, 5, 9);
CREATE TABLE pool_operation(kind, value);
INSERT INTO pool_operation VALUES(3, 8), (3, 8), (4, NULL);
"""


class Kinds(unittest.TestCase):
    def setUp(self):
        self.database = sqlite3.connect(":memory:")
        self.addCleanup(self.database.close)
        self.database.row_factory = sqlite3.Row
        self.database.executescript(SESSION)

    def compare(self, *lines):
        text = "".join(f"known {line}\n" for line in lines) + "answer ok\n"
        return kind_checks.compare(text, lambda sql: dict(self.database.execute(sql).fetchone()))

    def test_what_agrees_is_counted(self):
        lines = ("memcpy host_to_device 2 of 200 bytes", "memset 1 of 10 bytes", "kernel of_graphs 2", "kernel 4",
                 "memcpy of_graphs 1 of 100 bytes", "graph_launch 1", "um_event migration_to_device 3 of 12800 bytes",
                 "allocation pool 1 of 64 bytes", "stream priorities 2", "access graph 1", "pool_operation trim 2 with value=8",
                 "pool_operation trim 0 with value=9")
        self.assertEqual(self.compare(*lines), ([], len(lines), []))

    def test_fields_narrow_down_which_rows_are_meant(self):
        lines = ("memcpy host_to_device 1 of 100 bytes with source_address=4096",
                 "memcpy host_to_device 1 with source_kind=pinned source_device=0",
                 "memcpy host_to_device 1 with source_kind=pageable source_device=1",
                 "um_event gpu_fault 1 with cause=read address=65536+4096",
                 "um_event gpu_fault 2 with address=65536+4096", "um_event gpu_fault 0 with address=65541+4096",
                 "um_event migration_to_device 1 with cause=user address=65536+8192",
                 "sync stream 1 with priority=-5", "marker range 1 with domain=tferry.kinds name=inner",
                 "marker range 2 with name=inner", "marker range 0 with name=absent",
                 "api_call cuMemHostUnregister 1 with result=0 thread=44",
                 "api_call cuMemHostUnregister 1 with result=713 thread=44", "access argument 2 with api=virtual")
        self.assertEqual(self.compare(*lines), ([], len(lines), []))

    def test_the_count_may_be_the_drivers_and_is_told_but_not_the_bytes(self):
        differences, agreeing, recorded = self.compare(
            "um_event migration_to_device 1 or more of 12288 bytes with address=65536+8192",
            "um_event migration_to_device 1 or more of 12288 bytes", "um_event gpu_fault 3 or more")
        self.assertEqual(agreeing, 1)
        self.assertEqual(differences[0], "um_event migration_to_device: recorded 3 of 12800 bytes, made were 1 or more of 12288 "
                                         "bytes")
        self.assertEqual(differences[1], "um_event gpu_fault: recorded 2, made were 3 or more")
        self.assertEqual(recorded[0], "um_event migration_to_device with address=65536+8192: recorded 2 of 12288 bytes")

    def test_what_differs_is_told_with_both_figures(self):
        differences, agreeing, _ = self.compare("memcpy host_to_device 2 of 300 bytes", "kernel of_graphs 3",
                                                "um_event migration_to_device 3 of 99999 bytes")
        self.assertEqual(agreeing, 0)
        self.assertEqual(differences[0], "memcpy host_to_device: recorded 2 of 200 bytes, made were 2 of 300 bytes")
        self.assertEqual(differences[1], "kernel of_graphs: recorded 2, made were 3")
        self.assertEqual(len(differences), 3)

    def test_a_question_that_cannot_be_asked_hides_no_other(self):
        differences, agreeing, _ = self.compare("absent_table 1", "memset 1", "memset 1 with colour=red")
        self.assertEqual(agreeing, 1)
        self.assertEqual(len(differences), 2)
        self.assertIn("absent_table", differences[0])


class Sample(unittest.TestCase):
    """tferry-sample-kinds itself needs a GPU; its text has to fit what is asked of it."""

    def source(self):
        folder = os.path.join(os.path.dirname(HERE), "samples", "cuda")
        text = ""
        for name in ("kinds.cu", "kinds_calls.cu", "kinds_managed.cu"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text += file.read()
        return text

    def test_every_kind_is_one_of_the_samples_and_has_a_target(self):
        with open(os.path.join(HERE, "targets.json"), encoding="utf-8") as file:
            claims = {target["claim"] for target in json.load(file)["targets"]}
        source = self.source()
        for kind in collector.KINDS:
            self.assertIn('{"' + kind + '", ', source)
            self.assertIn(f"collector.kind/{kind}", claims)

    def test_its_known_lines_name_tables_and_fields_that_can_be_asked_for(self):
        source = self.source()
        for what in set(re.findall(r'known(?:_at_least)?\("(\w+(?: \w+)?)"', source)):
            table, _, kind = what.partition(" ")
            self.assertIn(f"FROM {table}", kind_checks.question(table, kind))
        for field in set(re.findall(r"\b(\w+)=(?=[\w\"])", " ".join(re.findall(r'"[^"\n]*"', source)))):
            self.assertIn(field, kind_checks.FIELDS)


GPT2 = """
import sys
value = lambda name: int(sys.argv[sys.argv.index(name) + 1])
for step in range(value("--steps")):
    if step % value("--pause-every") == 0:
        print(f"paused before step {step}", flush=True)
        if not sys.stdin.readline():
            break
    print(f"step {step} loss 0x1p+3 (8.0) time_ms {100 + step % 2}.000", flush=True)
"""
SAMPLE = """#!/bin/sh
case $1 in
  peers) echo "skipped: there is one GPU"; exit 77;;
  api) exit 3;;
  sync) echo "known absent_table 1";;
  pools) echo "known kernel 19";;
  *) echo "known kernel 20"; echo "known kernel 5 or more";;
esac
echo "answer ok"
"""


class Stand(unittest.TestCase):
    """The script over stand-ins for tferry and its jobs."""

    def run_script(self, cells, *options):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(HERE, "testing", "fake_tferry.py"), encoding="utf-8") as file:
                tferry = file.read().replace("#!/usr/bin/env python3", "#!" + sys.executable)
            for name, text in (("tferry", tferry), ("gpt2.py", GPT2), ("tferry-sample-kinds", SAMPLE)):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, 0o755)
            subprocess.run([sys.executable, os.path.join(HERE, "collector.py"), "--bundle", folder, "--out", folder, "--python",
                            sys.executable, "--cells", cells, *options], check=True, capture_output=True, timeout=120)
            with open(os.path.join(folder, "collector_raw.json"), encoding="utf-8") as file:
                raw = json.load(file)
        return {m["claim"]: m for m in raw["measurements"]}, raw["cells"]

    def test_one_kind_that_fails_hides_no_other(self):
        measured, cells = self.run_script("kinds")
        value = {claim: m["subject"]["samples"] for claim, m in measured.items()}
        wrong = {"collector.kind/api", "collector.kind/sync", "collector.kind/pools"}
        for kind in set(collector.KINDS) - {"peers"}:
            claim = f"collector.kind/{kind}"
            self.assertEqual(value[claim], [0.0 if claim in wrong else 1.0], claim)
        self.assertNotIn("collector.kind/peers", value)
        self.assertEqual(value["collector.kinds"], [0.0])
        told = measured["collector.kinds"]["checks"]["kinds"]
        self.assertEqual(told["pools"], ["kernel: recorded 20, made were 19"])
        self.assertIn("there is one GPU", told["peers"])
        self.assertEqual(measured["collector.kind/nvtx"]["checks"]["recorded"], ["kernel: recorded 20"])
        self.assertEqual(len([cell for cell in cells if cell["cell"].startswith("kinds.")]), len(collector.KINDS))

    def test_what_is_asked_for_is_measured_apart_and_together(self):
        measured, cells = self.run_script("step_all", "--few-alternations", "2")
        for label in ("usual", "unified_memory", "api", "all"):
            result = measured[f"collector.step_{label}/gpt2_fp32"]
            self.assertEqual(result["metric"], "slowdown")
            self.assertEqual(result["subject"]["samples_ns"], [101_000_000] * 2)
            self.assertEqual(result["baseline"]["samples_ns"], [101_000_000] * 2)
        self.assertEqual([cell["error"] for cell in cells], [None] * 5)


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
        for name in ("kinds.graphs", "kinds.faults", "step_all.gpt2_fp32.all", "step.gpt2_bf16.torch_memory", "range", "million", "long", "iterations", "keep_last", "names", "access.layers", "access.gpt2",
                     "pages.layers", "pages.gpt2.plain", "pages.gpt2", "ranks"):
            self.assertIn(f"{name}: ", done.stdout)
        self.assertNotIn("Error", done.stdout)

    def test_the_traces_size_is_read_from_the_last_line(self):
        self.assertEqual(collector.told_by_torch({"stderr": 'x\n{"events": 3, "bytes": 90}\n'}), {"events": 3, "bytes": 90})
        self.assertIsNone(collector.told_by_torch({"stderr": "Traceback\n"}))
        self.assertIsNone(collector.told_by_torch({"stderr": "{broken"}))


if __name__ == "__main__":
    unittest.main()
