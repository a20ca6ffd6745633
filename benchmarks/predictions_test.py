"""Runs benchmarks/predictions.py against stand-ins."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

GPT2 = """
import os, sys
steps = int(sys.argv[sys.argv.index("--steps") + 1])
for step in range(steps):
    ms = {"native": 100, "plan": 150 if step < 8 else 143}[os.environ.get("FAKE_POLICY", "native")]
    print(f"step {step} loss {float(9 - step).hex()} (9.0) time_ms {ms}.000")
"""


class Script(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.bundle = directory.name
        with open(os.path.join(HERE, "testing", "fake_tferry.py"), encoding="utf-8") as file:
            self.write("tferry", file.read().replace("#!/usr/bin/env python3", "#!" + sys.executable))
        self.write("gpt2.py", GPT2)

    def write(self, name, text):
        path = os.path.join(self.bundle, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def run_script(self, *options):
        out = os.path.join(self.bundle, "out")
        subprocess.run([sys.executable, os.path.join(HERE, "predictions.py"), "--bundle", self.bundle, "--out", out, "--python",
                        sys.executable, *options], check=True, capture_output=True, timeout=60)
        with open(os.path.join(out, "predictions_raw.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_the_settled_steps_are_held_against_the_stored_prediction(self):
        raw = self.run_script("--jobs", "gpt2_batch_4")
        (found,) = raw["measurements"]
        self.assertEqual(found["claim"], "analyzer.prediction/gpt2_batch_4/1.5")
        self.assertAlmostEqual(found["subject"]["samples"][0], 143 / 130 - 1)
        self.assertEqual(found["checks"]["sha256"], "abc")
        self.assertEqual(found["checks"]["same_losses"], 1.0)
        self.assertEqual(found["checks"]["recorded_ns"], 100_000_000)
        self.assertTrue(os.path.exists(os.path.join(self.bundle, "out", "gpt2_batch_4.tferry")))

    def test_a_job_that_fails_does_not_end_the_others(self):
        raw = self.run_script("--jobs", "resnet50,gpt2_batch_12")
        self.assertIn("resnet.py", next(cell for cell in raw["cells"] if cell["cell"] == "resnet50")["error"])
        self.assertEqual([m["claim"] for m in raw["measurements"]], ["analyzer.prediction/gpt2_batch_12/1.5"])


if __name__ == "__main__":
    unittest.main()
