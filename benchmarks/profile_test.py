"""Runs benchmarks/profile.py against stand-ins that print what the real programs print, and its parts by themselves."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from lib import profile_checks, wire_cost  # noqa: E402

GPT2 = """
import sys
value = lambda name, other: int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else other
pause = value("--pause-every", 0)
for step in range(value("--warmup", 2) + value("--steps", 10)):
    if pause and step % pause == 0:
        print(f"paused before step {step}", flush=True)
        if not sys.stdin.readline():
            break
    print(f"step {step} loss {float(9 - step).hex()} (9.0) time_ms {100 + step % 2}.000", flush=True)
    if value("--steps", 10) == 1000 and step == 3:
        sys.stdin.readline()
        __import__("signal").pause()
print(f"losses sha256 abc over 1 steps")
"""
LAYERS = """#!/bin/sh
case "$*" in *--plan-only*)
  echo "footprint 1 bytes"
  echo "known kernel 7"
  echo "known memcpy host_to_device 1 of 4096 bytes"
  echo "known memcpy device_to_host 0 of 0 bytes"
  echo "known allocation 2 of 128 bytes"
  echo "known free 1 of 64 bytes";;
esac
"""


class Script(unittest.TestCase):
    def run_script(self, cells, variables=None):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(HERE, "testing", "fake_tferry.py"), encoding="utf-8") as file:
                tferry = file.read().replace("#!/usr/bin/env python3", "#!" + sys.executable)
            wire = json.dumps({"h2d_gbps": 55.0, "d2h_gbps": 55.0, "duplex_gbps": 92.0, "bytes_in": 2**26 * 170,
                               "bytes_out": 2**26 * 170})
            for name, text in (("tferry", tferry), ("gpt2.py", GPT2), ("tferry-sample-layers-cuda", LAYERS),
                               ("python", f"#!/bin/sh\ncase $1 in *wire.py) echo '{wire}';; "
                                          f"*) exec {sys.executable} \"$@\";; esac\n")):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
            subprocess.run([sys.executable, os.path.join(HERE, "profile.py"), "--bundle", folder, "--out", folder,
                            "--python", os.path.join(folder, "python"), "--cells", cells, "--alternations", "4",
                            "--fresh", "1"], check=True, capture_output=True, timeout=120,
                           env={**os.environ, **(variables or {})})
            results = []
            for name in ("profile_raw.json", "profile_checks.json"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    results.append(json.load(file))
        raw, checks = results
        self.assertEqual([cell for cell in raw["cells"] if "error" in cell and cell["error"]], [])
        return {m["claim"]: m for m in raw["measurements"]}, {check["name"]: check for check in checks["checks"]}, raw

    def test_overhead_is_measured_by_turns_and_checked_by_fresh_jobs(self):
        measured, _, raw = self.run_script("overhead.gpt2_fp32,fresh.gpt2_fp32")
        overhead = measured["profile.overhead/gpt2_fp32"]
        self.assertEqual(overhead["metric"], "slowdown")
        self.assertEqual(overhead["subject"]["samples_ns"], [100_500_000] * 4)
        self.assertEqual(overhead["baseline"]["samples_ns"], [100_500_000] * 4)
        self.assertEqual(overhead["checks"]["fresh_slowdown"], 1.0)
        self.assertTrue(overhead["checks"]["losses_same"])
        self.assertEqual(measured["profile.join_mismatches"]["subject"]["samples"], [0.0])
        ended = {cell["cell"]: cell for cell in raw["cells"]}
        self.assertEqual(ended["overhead.gpt2_fp32"]["rc"], 0)
        self.assertEqual(len(ended["overhead.gpt2_fp32.native"]["losses"]), 60)

    def test_ingest_leaves_the_samplers_spool_out(self):
        measured, _, raw = self.run_script("overhead,ingest")
        self.assertEqual(len(measured["profile.ingest_rows_per_second"]["subject"]["samples"]), 4)
        per_event = measured["profile.bytes_per_event"]
        self.assertEqual(len(per_event["subject"]["samples"]), 2)
        self.assertEqual(list(per_event["checks"]["sessions"][0]["spool_bytes"]), ["spool.1.collector.0", "spool.1.runtime.0"])
        self.assertEqual(per_event["checks"]["sessions"][0]["events"], 21)

    def test_copies_are_compared_with_the_counters_by_what_known_copies_cost(self):
        measured, checks, _ = self.run_script("wire,layers.copies")
        self.assertEqual(checks["counters"]["result"], "pass")
        self.assertEqual(checks["known_copies"]["result"], "pass", checks["known_copies"])
        self.assertLess(max(measured["profile.copies_vs_pcie/layers"]["subject"]["samples"]), 0.001)
        measured, checks, _ = self.run_script("wire,layers.copies", {"FAKE_WASTE": "1.05"})
        self.assertAlmostEqual(measured["profile.copies_vs_pcie/layers"]["subject"]["samples"][0], 0.05, places=3)
        self.assertEqual(checks["copies_vs_pcie"]["result"], "fail")

    def test_recorded_counts_are_compared_with_the_samples_known_answers(self):
        measured, checks, _ = self.run_script("layers.exact")
        self.assertEqual(measured["profile.layers_exact"]["subject"]["samples"], [1.0], checks["layers_exact"])
        measured, checks, _ = self.run_script("layers.exact", {"FAKE_COPY": "4095"})
        self.assertEqual(measured["profile.layers_exact"]["subject"]["samples"], [0.0])
        self.assertIn("memcpy host_to_device: hooks recorded [1, 4095], the sample makes [1, 4096]",
                      checks["layers_exact"]["says"])

    def test_cases_end_as_pass_or_fail_with_the_quality_report(self):
        _, checks, raw = self.run_script("no_preload,killed,budget,xl")
        for name in ("no_preload", "killed", "budget", "xl"):
            self.assertEqual(checks[name]["result"], "pass", checks[name])
            self.assertIn("missing", checks[name]["quality"])
        self.assertAlmostEqual(checks["budget"]["figures"]["kernel_time_ratio"], 1.1)
        self.assertEqual(next(c for c in raw["cells"] if c["cell"] == "killed")["rc"], -9)

    def test_without_a_calibration_the_comparison_is_unknown(self):
        measured, checks, _ = self.run_script("layers.copies")
        self.assertEqual(checks["copies_vs_pcie"]["result"], "unknown")
        self.assertNotIn("profile.copies_vs_pcie/layers", measured)


class Checks(unittest.TestCase):
    BUDGET = {"rc": 0, "same_losses": True, "own_out": 1000, "parked": 1001, "own_in": 900, "fetched": 900, "gates": 3,
              "kernel_time_ratio": 1.02}
    SECOND = {"rc": 0, "right": True, "timed_kernels": 0, "seen_by_torch": 5, "torch_error": "", "losses": []}

    def test_a_budget_recording_fails_for_each_thing_that_is_wrong(self):
        self.assertEqual(profile_checks.budget(self.BUDGET)[0], "pass")
        for key, value, part in (("rc", 1, "ended with 1"), ("same_losses", False, "losses"), ("own_out", 900, "parked"),
                                 ("own_in", 0, "fetched"), ("gates", 0, "no wait"), ("kernel_time_ratio", 1.4, "1.400")):
            result, says = profile_checks.budget({**self.BUDGET, key: value})
            self.assertEqual(result, "fail", key)
            self.assertIn(part, says)

    def test_a_second_client_may_cost_the_recording_if_the_session_says_so(self):
        self.assertEqual(profile_checks.second_client(self.SECOND)[0], "fail")
        told = {**self.SECOND, "losses": [{"what": "kernel", "detail": "another CUPTI client"}]}
        self.assertEqual(profile_checks.second_client(told)[0], "pass")
        self.assertEqual(profile_checks.second_client({**told, "right": False})[0], "fail")

    def test_counters_that_could_not_be_had_are_unknown_with_the_reason(self):
        facts = {"counters": ["nvml.rx"], "losses": [{"what": "counter", "detail": "insufficient privileges"}]}
        self.assertEqual(profile_checks.counters(facts), ("unknown", "no PM counters, because: insufficient privileges"))
        self.assertEqual(profile_checks.counters({"counters": [], "losses": []})[0], "fail")


class WireCost(unittest.TestCase):
    def test_windows_that_were_not_sampled_are_unknown(self):
        with self.assertRaisesRegex(wire_cost.Unknown, "90.0 %"):
            wire_cost.read_window(lambda *_: (1.0, 0.9), 0, 10)

    def test_copies_that_are_not_the_calibrations_are_refused(self):
        copy = {"start_ns": 0, "end_ns": 10, "bytes": 5, "kind": 1}
        with self.assertRaisesRegex(wire_cost.Unknown, "not found, but 1"):
            wire_cost.calibrate([copy], lambda *_: (0.0, 1.0))


if __name__ == "__main__":
    unittest.main()
