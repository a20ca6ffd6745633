"""Runs benchmarks/plan.py against stand-ins, and its results by themselves."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from lib import cells, plan_results, wire_cost  # noqa: E402

GPT2 = """
import json, os, sys
value = lambda name, other: sys.argv[sys.argv.index(name) + 1] if name in sys.argv else other
policy = os.environ.get("FAKE_POLICY", value("--memory", "native"))
ms = {"native": 100, "plan": 140, "live": 147, "lms": 200, "lms-early": 200, "naive-um": 900, "checkpoint": 130, "save-on-cpu": 400}[policy]
warmup, steps, pause = int(value("--warmup", 2)), int(value("--steps", 10)), int(value("--pause-every", 0))
for step in range(warmup + steps):
    if pause and step % pause == 0:
        print(f"paused before step {step}", flush=True)
        if not sys.stdin.readline(): break
    loss = float(9 - step + (1 if policy == os.environ.get("FAKE_WRONG") and step == 1 else 0))
    if policy == "live" and step < 5: ms = 200
    elif policy == "live": ms = 147
    print(f"step {step} loss {loss.hex()} (9.0) time_ms {ms}.000" + (" warmup" if step < warmup else ""), flush=True)
print("losses sha256 abc over 1 steps")
if "--json" in sys.argv:
    json.dump({"torch_peak_reserved_bytes": 5000, "step_end_ns": [100_000_000 * step for step in range(warmup + steps)]},
              open(value("--json", ""), "w"))
"""
WIRE = ('{"h2d_gbps": 55, "d2h_gbps": 55, "duplex_gbps": 92, "bytes_in": 1, "bytes_out": 1}')
HELPER = """#!/bin/sh
echo "%s ready 1000"
cat > /dev/null
%s
"""


class Script(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.bundle = self.directory.name
        with open(os.path.join(HERE, "testing", "fake_tferry.py"), encoding="utf-8") as file:
            self.write("tferry", file.read().replace("#!/usr/bin/env python3", "#!" + sys.executable))
        sampled = """echo '{"source":"stand-in","first_used_bytes":1000,"peak_used_bytes":8000}'"""
        for name, text in (("gpt2.py", GPT2), ("tferry-ballast", HELPER % ("ballast", "")),
                           ("tferry-memory-sampler", HELPER % ("sampler", sampled)),
                           ("python", f"#!/bin/sh\ncase $1 in *wire.py) echo '{WIRE}';; "
                                      f"*) exec {sys.executable} \"$@\";; esac\n")):
            self.write(name, text)

    def write(self, name, text):
        path = os.path.join(self.bundle, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def run_script(self, out, *options, recorded=True, **variables):
        out = os.path.join(self.bundle, out)
        subprocess.run([sys.executable, os.path.join(HERE, "plan.py"), "--bundle", self.bundle, "--out", out, "--python",
                        os.path.join(self.bundle, "python"), "--jobs", "gpt2_fp32", "--factors", "1.5", "--alternations",
                        "2", *options], check=True, capture_output=True, timeout=120, env={**os.environ, **variables})
        with open(os.path.join(out, "plan_raw.json"), encoding="utf-8") as file:
            raw = json.load(file)
        self.assertEqual([cell for cell in raw["cells"] if cell.get("error")], [])
        self.assertEqual(os.path.exists(os.path.join(out, "gpt2_fp32.1.5.tferry")), recorded)
        return raw, {m["claim"].removesuffix("/gpt2_fp32/1.5"): m for m in raw["measurements"]}

    def test_every_claim_of_a_case_has_its_samples(self):
        raw, measured = self.run_script("out")
        plan = measured["plan.vs_lms_early"]
        self.assertEqual((plan["subject"]["samples_ns"], plan["baseline"]["samples_ns"]), ([140_000_000] * 2,
                                                                                          [200_000_000] * 2))
        self.assertEqual(plan["bound_ns"], 120_000_000)
        self.assertEqual(measured["plan.vs_bound"]["baseline"]["samples_ns"], [120_000_000] * 2)
        self.assertAlmostEqual(measured["plan.not_below_bound"]["subject"]["samples"][0], 142 / 120)
        self.assertAlmostEqual(measured["plan.share_of_the_way"]["subject"]["samples"][0], 60 / 80)
        self.assertAlmostEqual(measured["plan.prediction"]["subject"]["samples"][0], 140 / 130 - 1)
        self.assertEqual(measured["plan.prediction"]["checks"]["sha256"], "abc")
        self.assertEqual(measured["plan.vs_naive_um"]["kind"], "emulated")
        self.assertEqual(measured["plan.vs_checkpoint"]["baseline"]["samples_ns"], [130_000_000] * 2)
        # Plan, live, lms-early and naive-um in two alternations.
        self.assertEqual(measured["plan.same_results"]["subject"]["samples"], [1.0] * 8)
        room = 3 * (4000 + 2000 + 256 * 2**20) + 5000 + 2000 + 256 * 2**20  # three budgets with C, and in memory
        self.assertEqual(measured["plan.budget_kept"]["subject"]["samples"], [7000 / room])
        self.assertEqual(measured["plan.mappings_per_step"]["subject"]["samples"], [0.0, 0.0])
        # 600 bytes in and 500 out each ms, steps of 100 ms, 100,000 bytes forced.
        self.assertAlmostEqual(measured["plan.bytes_over_forced"]["subject"]["samples"][0], 1.1, places=3)
        skipped = [cell for cell in raw["cells"] if "skipped" in cell]
        self.assertEqual({cell["skipped"] for cell in skipped}, {"this tferry run has no --memory"})
        self.assertNotIn("plan.pump_vs_naive_um", measured)

    def test_live_plans_are_compared_with_none_and_with_that_of_a_recording(self):
        _, measured = self.run_script("out", "--no-bytes", "--policies", "plan,live,lms")
        live = measured["plan.live_vs_recorded"]
        self.assertEqual((live["subject"]["samples_ns"], live["baseline"]["samples_ns"]), ([147_000_000] * 2,
                                                                                          [140_000_000] * 2))
        self.assertEqual(measured["plan.live_vs_none"]["baseline"]["samples_ns"], [200_000_000] * 2)
        first = measured["plan.live_first_steps"]
        self.assertEqual((first["subject"]["samples_ns"], first["baseline"]["samples_ns"]),
                         ([5 * 200_000_000 + 3 * 147_000_000], [8 * 200_000_000]))

    def test_jobs_that_no_card_holds_are_compared_with_themselves(self):
        self.write("tferry-sample-layers-cuda", f"#!{sys.executable}\n" + """
import os
for i in range(24):
    print(f"iteration {i} sum a time_ms {50 if os.environ['FAKE_POLICY'] == 'live' and i > 5 else 80}.000")
print("answer ok a, footprint 100 bytes")
""")
        raw, _ = self.run_script("out", "--no-bytes", "--policies", "live,lms", "--beyond")
        measured = {m["claim"]: m for m in raw["measurements"]}
        for job, ns in (("gpt2_xl_fp32", (147, 200)), ("layers_cuda_150GiB", (50, 80))):
            found = measured[f"plan.live_vs_none/{job}/auto"]
            self.assertEqual(found["subject"]["samples_ns"], [ns[0] * 1_000_000] * 2)
            self.assertEqual(found["baseline"]["samples_ns"], [ns[1] * 1_000_000] * 2)
            self.assertIn(f"plan.live_first_steps/{job}/auto", measured)

    def test_managed_memory_stands_beside_no_ballast(self):
        raw, _ = self.run_script("out", "--no-bytes")
        room = {cell["cell"]: cell.get("ballast_leaves_bytes") for cell in raw["cells"]}
        self.assertIsNone(room.get("gpt2_fp32.managed.1.5.naive_um"))
        command = next(cell["command"] for cell in raw["cells"] if cell["cell"] == "gpt2_fp32.managed.1.5.naive_um")
        # A third more than the job took, so that jobs that stand side by side never ask for more than there is.
        self.assertEqual(command[command.index("--managed-limit") + 1], str(round(1.3 * 5000) + 2**30))

    def test_managed_memory_needs_no_recording_of_its_own(self):
        self.run_script("first", "--no-bytes")
        raw, measured = self.run_script("second", "--policies", "pump,naive_um", "--words", "pump=--policy naive-um", "--facts",
                                        os.path.join(self.bundle, "first", "plan_raw.json"), recorded=False)
        self.assertEqual([cell["cell"] for cell in raw["cells"] if "analyze" in cell["cell"]], [])
        self.assertEqual(measured["plan.pump_vs_naive_um"]["subject"]["samples_ns"], [900_000_000] * 2)
        self.assertEqual(measured["plan.pump_vs_naive_um"]["bound_ns"], 120_000_000)
        # Two bursts to warm up and one for each alternation: of two steps for pump, of one for the other.
        steps = {cell["cell"]: len(cell["every_step_ns"]) for cell in raw["cells"] if "every_step_ns" in cell}
        self.assertEqual((steps["gpt2_fp32.managed.1.5.pump"], steps["gpt2_fp32.managed.1.5.naive_um"]), (8, 4))

    def test_jobs_that_take_turns_leave_out_the_first_steps_of_each(self):
        raw, _ = self.run_script("out", "--no-bytes", "--policies", "plan,lms_early")
        steps = {cell["cell"]: len(cell["every_step_ns"]) for cell in raw["cells"] if "every_step_ns" in cell}
        # Bursts of five: one or two to warm up, one for each of two alternations.
        self.assertEqual((steps["gpt2_fp32.1.5.native"], steps["gpt2_fp32.1.5.plan"]), (15, 20))
        self.assertEqual([len(policies["plan"]) for policies in raw["series"]["gpt2_fp32"].values() if "plan" in policies], [2])

    def test_an_earlier_session_is_continued(self):
        self.run_script("first", "--no-bytes")
        raw, measured = self.run_script("second", "--no-bytes", "--append",
                                        os.path.join(self.bundle, "first", "plan_raw.json"))
        self.assertEqual(len(measured["plan.vs_lms_early"]["subject"]["samples_ns"]), 4)
        self.assertEqual(len(raw["continues"]), 1)

    def test_another_loss_is_not_the_same_result(self):
        _, measured = self.run_script("out", "--no-bytes", FAKE_WRONG="plan")
        self.assertEqual(sorted(measured["plan.same_results"]["subject"]["samples"]), [0.0] * 2 + [1.0] * 6)

    def test_other_words_for_a_policy(self):
        raw, _ = self.run_script("out", "--no-bytes", "--policies", "pump", "--words", "pump=--policy naive-um")
        command = next(c["command"] for c in raw["cells"] if c["cell"] == "gpt2_fp32.managed.1.5.pump")
        self.assertIn("naive-um", command)


class Results(unittest.TestCase):
    def test_runs_are_paired_by_alternation(self):
        run = lambda alternation, ns: {"rc": 0, "alternation": alternation, "step_ns": ns}  # noqa: E731
        found = plan_results.pairs([run(0, 1), run(1, 2), run(0, 3)], [run(1, 20), run(0, 10), run(0, 30)])
        self.assertEqual([(a["step_ns"], b["step_ns"]) for a, b in found], [(1, 10), (2, 20), (3, 30)])

    def test_losses_are_compared_over_the_steps_that_both_made(self):
        native = {"losses": ["a", "b", "c"]}
        self.assertTrue(plan_results.same_losses({"rc": 0, "losses": ["a", "b"]}, native))
        self.assertFalse(plan_results.same_losses({"rc": 0, "losses": ["a", "x"]}, native))
        self.assertFalse(plan_results.same_losses({"rc": 1, "losses": ["a"]}, native))
        self.assertFalse(plan_results.same_losses({"rc": 0, "losses": []}, native))

    def test_raw_files_of_another_gpu_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "raw.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"schema": "tferry.raw/1", "script": "plan", "machine": {"gpu": "other"}, "series": {}}, file)
            with self.assertRaisesRegex(SystemExit, "is of other"):
                cells.earlier_series(path, {"schema": "tferry.raw/1", "script": "plan", "machine": {"gpu": "mine"}})

    def test_payload_is_what_the_wire_shows_less_headers_and_idle_traffic(self):
        cost = {"in": [1.05, 0.06], "out": [0.01, 1.04], "idle_per_s": [10.0, 20.0]}
        shown = {wire_cost.READ: 1.05 * 100 + 0.01 * 200 + 10, wire_cost.WRITE: 0.06 * 100 + 1.04 * 200 + 20}
        moved = wire_cost.payload(cost, (0, 10**9), lambda counter, *_: (shown[counter], 1.0))
        self.assertAlmostEqual(moved[0], 100)
        self.assertAlmostEqual(moved[1], 200)


if __name__ == "__main__":
    unittest.main()
