"""Runs benchmarks/coordination.py against stand-ins, and its results by themselves."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from lib import cells  # noqa: E402

# Stands for python -m torch.distributed.run ... gpt2.py: both ranks' reports, times by how tferry run was asked.
PYTHON = """#!%s
import json, os, sys
value = lambda name: sys.argv[sys.argv.index(name) + 1]
row = os.environ.get("FAKE_ROW", "")
ms = {"": 100, "lms off": 400, "lms interleave": 380, "lms orchestrate": 300, "plan off": 250, "plan orchestrate": 200}[row]
count = int(value("--warmup")) + int(value("--steps"))
for rank in (0, 1):
    wrong = row == os.environ.get("FAKE_WRONG") and rank == 1
    report = {"step_ms": [1000.0] * int(value("--warmup")) + [ms - 10.0 * (rank == 0)] * int(value("--steps")),
              "loss_sha256": "wrong" if wrong else f"{rank} every {value('--synchronise')}", "error": None}
    if row == os.environ.get("FAKE_DEAD") and rank == 1:
        sys.exit(1)
    with open(value("--json") + (".1" if rank else ""), "w", encoding="utf-8") as file:
        json.dump(report, file)
"""
TFERRY = """#!%s
import json, os, subprocess, sys
words = sys.argv[1:]
value = lambda name: words[words.index(name) + 1]
job = words[words.index("--") + 1:] if "--" in words else []
if words[0] == "profile":
    open(value("-o"), "w").close()
    sys.exit(subprocess.run(job).returncode)
if words[0] == "analyze":
    open(value("-o"), "w").close()
elif words[0] == "query":
    print(json.dumps({"tables": [{"rows": [{"budget_bytes": 4000, "predicted_ns": 1, "bound_ns": 1}]}]}))
else:
    assert value("--budget") == "4000" and ("--plan" in words) == ("--output" in words)
    row = ("plan" if "--plan" in words else value("--policy")) + " " + value("--coordinate")
    device = {"bytes_out": 5, "bytes_in": 5, "slots_asked": 7, "slot_members": 2}
    with open(value("--json"), "w") as file:
        json.dump({"processes": [{"devices": [device]}, {"devices": [device]}, {"devices": []}]}, file)
    sys.exit(subprocess.run(job, env={**os.environ, "FAKE_ROW": row}).returncode)
"""


class Script(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.bundle = self.directory.name
        for name, text in (("python", PYTHON % sys.executable), ("tferry", TFERRY % sys.executable), ("gpt2.py", "")):
            path = os.path.join(self.bundle, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def command(self, out, *options):
        return [sys.executable, os.path.join(HERE, "coordination.py"), "--bundle", self.bundle, "--out", out, "--python",
                os.path.join(self.bundle, "python"), "--alternations", "2", *options]

    def run_script(self, out, *options, **variables):
        out = os.path.join(self.bundle, out)
        subprocess.run(self.command(out, *options), check=True, capture_output=True, timeout=120,
                       env={**os.environ, **variables})
        with open(os.path.join(out, "coordination_raw.json"), encoding="utf-8") as file:
            raw = json.load(file)
        return raw, {m["claim"].removeprefix("coordination."): m for m in raw["measurements"]}

    def test_every_claim_of_a_case_has_its_samples(self):
        raw, measured = self.run_script("out")
        self.assertEqual([cell for cell in raw["cells"] if cell.get("error")], [])
        for setup in ("one_gpu", "two_gpus"):
            for every in (1, 16):
                ours = measured[f"ours_vs_fair/gpt2_fp32/1.5/{setup}/{every}"]
                self.assertEqual(ours["subject"]["samples_ns"], [200_000_000] * 2)
                self.assertEqual(ours["baseline"]["samples_ns"], [250_000_000] * 2)
                lms = measured[f"lms_interleave_vs_fair/gpt2_fp32/1.5/{setup}/{every}"]
                self.assertEqual((lms["subject"]["samples_ns"][0], lms["baseline"]["samples_ns"][0]),
                                 (380_000_000, 400_000_000))
                self.assertEqual(measured[f"same_results/gpt2_fp32/1.5/{setup}/{every}"]["subject"]["samples"], [1.0] * 8)
        run = raw["series"]["one_gpu"]["16"]["ours_coordinated"][0]
        self.assertEqual((len(run["steps_ms"][0]), len(run["turns"]), run["turns"][0]["asked"]), (32, 2, 7))

    def test_another_loss_and_a_rank_that_died_are_seen(self):
        only = ("--setups", "one_gpu", "--every", "1")
        _, measured = self.run_script("wrong", *only, FAKE_WRONG="plan orchestrate")
        self.assertEqual(sorted(measured["same_results/gpt2_fp32/1.5/one_gpu/1"]["subject"]["samples"]),
                         [0.0] * 2 + [1.0] * 6)
        raw, measured = self.run_script("dead", *only, FAKE_DEAD="plan orchestrate")
        self.assertNotIn("ours_vs_fair/gpt2_fp32/1.5/one_gpu/1", measured)
        self.assertIsNone(raw["series"]["one_gpu"]["1"]["ours_coordinated"][0]["step_ns"])

    def test_runs_are_continued_and_not_put_beside_those_of_another_gpu(self):
        only = ("--setups", "one_gpu", "--every", "1", "--rows", "ours_fair,ours_coordinated")
        self.run_script("first", *only)
        first = os.path.join(self.bundle, "first", "coordination_raw.json")
        _, measured = self.run_script("more", *only, "--append", first)
        self.assertEqual(len(measured["ours_vs_fair/gpt2_fp32/1.5/one_gpu/1"]["subject"]["samples_ns"]), 4)
        data = {"schema": "tferry.raw/1", "script": "coordination", "machine": {"gpu": "another"}}
        with self.assertRaises(SystemExit):
            cells.earlier_series(first, data)

    def test_a_dry_run_tells_the_commands(self):
        done = subprocess.run(self.command(os.path.join(self.bundle, "dry"), "--dry-run", "--orchestrate",
                                           "--slot-order deadline"), check=True, capture_output=True, text=True, timeout=60)
        line = next(line for line in done.stdout.splitlines() if line.startswith("one_gpu.16.0.ours_coordinated"))
        for words in ("CUDA_VISIBLE_DEVICES=0 ", "--coordinate orchestrate", "--slot-order deadline", "--nproc-per-node 2",
                      "--synchronise 16", "--backend gloo", "--warmup 16 --steps 32"):
            self.assertIn(words, line)
        self.assertFalse(os.path.exists(os.path.join(self.bundle, "dry", "coordination_raw.json")))


if __name__ == "__main__":
    unittest.main()
