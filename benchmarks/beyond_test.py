"""Runs benchmarks/beyond.py against a bundle of stand-ins: scripts that print what the real programs print."""

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

TFERRY = """#!/bin/sh
report='{"processes":[{"devices":[{"bytes_out":30,"bytes_in":20}]}]}'
while [ "$1" != "--" ]; do [ "$1" = "--json" ] && echo "$report" > "$2"; shift; done
shift
FERRIED=1 exec "$@"
"""
HELPER = """#!/bin/sh
echo "%s ready 1000"
cat > /dev/null
%s
"""
GPT2 = """
import json, os, sys
ferried = "FERRIED" in os.environ
if "15" in sys.argv and not ferried:
    sys.exit("gpt2.py: step 0: out of memory: CUDA out of memory.")
steps = int(sys.argv[sys.argv.index("--steps") + 1]) + int(sys.argv[sys.argv.index("--warmup") + 1])
for step in range(steps):
    loss = 9.0 - step + (LOSS_CHANGE if ferried else 0)
    time_ms = f"time_ms {200 if ferried else 100}.000" + (" warmup" if step < 2 else "")
    print(f"step {step} loss {loss.hex()} ({loss:.6f}) {time_ms}")
print(f"losses sha256 abc over {steps} steps")
if "--json" in sys.argv:
    json.dump({"torch_peak_reserved_bytes": 5000, "torch_peak_allocated_bytes": 4000, "torch": "stand-in"},
              open(sys.argv[sys.argv.index("--json") + 1], "w"))
"""
LAYERS = """#!/bin/sh
if [ "$2" = 150 ] && [ -z "$FERRIED" ]; then echo "layers: cudaErrorMemoryAllocation: out of memory" >&2; exit 1; fi
echo "iteration 0 sum 0x01 time_ms 9.000"
echo "iteration 1 sum 0x02 time_ms 4.000"
echo "answer ok 77, 2 iterations, median 4.000 ms, footprint 6000 bytes"
"""


class Beyond(unittest.TestCase):
    def run_script(self, loss_change=0.0, cells="xl,gpt2,layers,round.1"):
        with tempfile.TemporaryDirectory() as folder:
            sampled = """echo '{"source":"stand-in","first_used_bytes":1000,"peak_used_bytes":8000}'"""
            for name, text in (("tferry", TFERRY), ("tferry-ballast", HELPER % ("ballast", "")),
                               ("tferry-memory-sampler", HELPER % ("sampler", sampled)),
                               ("gpt2.py", GPT2.replace("LOSS_CHANGE", str(loss_change))),
                               ("tferry-sample-layers-cuda", LAYERS)):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
            subprocess.run([sys.executable, os.path.join(HERE, "beyond.py"), "--bundle", folder, "--out", folder,
                            "--python", sys.executable, "--cells", cells], check=True, capture_output=True, timeout=120)
            with open(os.path.join(folder, "beyond_raw.json"), encoding="utf-8") as file:
                return json.load(file)

    def test_measurements_hold_samples_of_all_rounds(self):
        raw = self.run_script()
        measured = {m["claim"]: m for m in raw["measurements"]}
        self.assertEqual(measured["beyond.runs/gpt2_xl_fp32"]["subject"]["samples"], [1.0])
        self.assertEqual(measured["beyond.runs/layers_cuda_150GiB"]["subject"]["samples"], [1.0])
        self.assertEqual(measured["beyond.same_results/gpt2_fp32/9.8GiB"]["subject"]["samples"], [1.0, 1.0])
        step = measured["beyond.step/gpt2_fp32/7.3GiB"]
        self.assertEqual(step["subject"]["samples_ns"], [200_000_000] * 2)
        self.assertEqual(step["baseline"]["samples_ns"], [100_000_000] * 2)
        self.assertEqual(step["checks"]["overhead_bytes"], 2000)  # 8000 - 1000 seen, less the 5000 reserved
        self.assertEqual(measured["beyond.same_results/gpt2_fp32/auto"]["subject"]["samples"], [1.0])
        self.assertNotIn("beyond.budget_kept/gpt2_fp32/auto", measured)
        ballast = next(c for c in raw["cells"] if c["cell"] == "gpt2.9.8")
        self.assertEqual(ballast["ballast_leaves_bytes"], round(9.8 * 2**30) + 2000 + 256 * 2**20)
        self.assertEqual(step["checks"]["moved_bytes"], 50)
        self.assertNotIn("/", step["job"])

    def test_another_loss_is_not_the_same_result(self):
        raw = self.run_script(loss_change=2**-40, cells="gpt2")
        same = next(m for m in raw["measurements"] if m["claim"] == "beyond.same_results/gpt2_fp32/9.8GiB")
        self.assertEqual(same["subject"]["samples"], [0.0])

    def test_a_job_beyond_its_limit_is_ended_with_all_that_it_started(self):
        with tempfile.TemporaryDirectory() as folder:
            # A launcher whose job has a process group of its own and takes no notice of SIGTERM.
            job = ("import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
                   "print('on', flush=True); time.sleep(600)")
            launcher = ("import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]], "
                        "preexec_fn=lambda: __import__('os').setpgid(0, 0)).wait()")
            process = subprocess.Popen([sys.executable, "-c", launcher, job], stdout=subprocess.PIPE, text=True,
                                       start_new_session=True)
            self.assertEqual(process.stdout.readline(), "on\n")
            self.assertEqual(len(cells.session_members(process.pid)), 2)
            cells.stop(process, grace_s=0.1)
            process.stdout.read()  # ends only when the last process that holds the pipe has ended
            process.stdout.close()
            cell = cells.run_job([sys.executable, "-c", "import time; time.sleep(600)"], 0.2, folder, "sleeper")
            self.assertTrue(cell["timed_out"])

    def test_budgets_are_skipped_when_the_own_use_is_unknown(self):
        raw = self.run_script(cells="gpt2.9.8")
        self.assertEqual([m["claim"] for m in raw["measurements"]], [])
        self.assertIn("C is unknown", next(c for c in raw["cells"] if c["cell"] == "gpt2.9.8")["skipped"])


if __name__ == "__main__":
    unittest.main()
