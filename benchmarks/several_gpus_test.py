"""Runs benchmarks/several_gpus.py against stand-ins for tferry, PyTorch and GPUs, and its parts by themselves."""

import gzip
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from lib import contention_check, ranked  # noqa: E402

# Stands for an interpreter with PyTorch: runs scripts, but torchrun's as one process.
PYTHON = """#!/bin/sh
if [ "$1" = -m ]; then exit 0; fi
case "$1" in
  *both_ways.py) cat "$FAKE_COPIES"; exit 0;;
  *all_reduce.py)
    printf '{"rank": %%s, "gpu": %%s, "ranks": %%s, "bytes": 1000, "count": 10, "begin_ns": 0, "end_ns": 100}\n' \
      "$RANK" "$LOCAL_RANK" "$WORLD_SIZE"
    echo "$NCCL_P2P_DISABLE" >> "$FAKE_COPIES.variables"; exit 0;;
esac
exec %s "$@"
"""
# Stands for samples/python/gpt2.py: steps of a length that depends on how tferry run was asked.
GPT2 = """
import os, sys
value = lambda name: sys.argv[sys.argv.index(name) + 1]
if "--pause-every" not in sys.argv:
    sys.exit(0)
row, rank, step = os.environ["FAKE_ROW"], int(os.environ.get("RANK", "0")), 0
ms = {"lms off": 400, "lms interleave": 380, "lms orchestrate": 300, "plan off": 250, "plan orchestrate": 200}[row]
while True:
    print(f"paused before step {step}", flush=True)
    if not sys.stdin.readline():
        break
    if os.environ.get("FAKE_DEAD") == row and rank == 1 and step:
        sys.exit("a rank died")
    for _ in range(int(value("--pause-every"))):
        wrong = os.environ.get("FAKE_WRONG") == row and rank == 1
        name = f"rank {rank} " if "RANK" in os.environ else ""
        late = 1000 if step % int(value("--pause-every")) == 0 else ms - 10 * (rank == 0)
        print(f"{name}step {step} loss {'wrong' if wrong else hex(step)} (1.0) time_ms {late:.3f}", flush=True)
        step += 1
"""
TFERRY = """#!%s
import json, os, subprocess, sys
words = sys.argv[1:]
value = lambda name: words[words.index(name) + 1]
job = words[words.index("--") + 1:] if "--" in words else []
if words[0] == "calibrate":
    if "--run" not in words and os.environ.get("FAKE_SLOW_CALIBRATION"):
        sys.exit(1)
    with open(value("--json"), "w") as file:
        json.dump({"figures": [{"what": "stretch", "gpus": [0, 1], "direction": "both", "median": 1.4, "low": 1.3, "high": 1.5},
                               {"what": "relay", "gpus": [0, 1], "direction": "h2d", "beside": "direct", "median": 110e9},
                               {"what": "copy", "gpus": [0], "gpu": 0, "direction": "h2d", "memory": "pinned", "median": 55e9}]},
                  file)
    print("GPUs 0+1 share something")
elif words[0] == "profile":
    with open(value("-o"), "w") as file:
        file.write("session")
    sys.exit(subprocess.run(job).returncode)
elif words[0] == "analyze":
    if "-o" in words:
        open(value("-o"), "w").close()
elif words[0] == "query":
    if words[1] == "SELECT id FROM device":
        print(json.dumps({"tables": [{"rows": [{"id": 1}, {"id": 2}]}]}))
        sys.exit()
    if "FROM counter" in words[1]:
        by_host = "no_p2p" in words[2] and not os.environ.get("FAKE_PEERS")
        covered = 50 if os.environ.get("FAKE_NO_COUNTERS") else 100
        print(json.dumps({"tables": [{"rows": [{"total": 11000 if by_host else 100, "covered": covered}]}]}))
        sys.exit()
    row = ({"n": 4, "known": 4, "took": 280, "solo": 200, "lost": 80, "by_": "measured"} if "transfer" in words[1]
           else {"budget_bytes": 4000, "predicted_ns": 1, "bound_ns": 1, "in_memory_ns": 1})
    print(json.dumps({"tables": [{"rows": [row]}]}))
elif words[0] == "report":
    print(json.dumps({"tables": []}))
elif words[1] == "--help":
    print("--route" if os.environ.get("FAKE_ROUTES") else "")
else:
    assert value("--budget") == "4000" and ("--plan" in words) == ("--output" in words)
    coordinate = value("--coordinate") if "--coordinate" in words else "off"
    row = (value("--policy") if "--policy" in words else "plan") + " " + coordinate
    device = {"bytes_out": 5, "bytes_in": 5, "slots_asked": 7, "slot_members": 2}
    done = subprocess.run(job, env={**os.environ, "FAKE_ROW": row})
    with open(value("--json"), "w") as file:
        json.dump({"processes": [{"devices": [device]}, {"devices": [device]}]}, file)
    sys.exit(done.returncode)
"""
HELPER = """#!/bin/sh
echo "helper ready $*"
cat > /dev/null
"""


def copies():
    """What both_ways.py prints: alone 50 in a direction and 90 both ways, together 64."""
    lines, at = [], 0
    for phase in ("alone", "together"):
        for way in ("in", "out", "both"):
            for gpu in (0, 1):
                rate = (64 if phase == "together" else 90) if way == "both" else 50
                lines.append({"phase": phase, "way": way, "gpu": gpu, "begin_ns": at, "end_ns": at + 100_000_000, "gbps": rate})
                at += 100_000_000 if phase == "alone" else 0
            at += 100_000_000
    return "not a line of it\n" + "".join(json.dumps(line) + "\n" for line in lines)


class Script(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.bundle = self.directory.name
        for name, text in (("python", PYTHON % sys.executable), ("tferry", TFERRY % sys.executable), ("gpt2.py", GPT2),
                           ("tferry-ballast", HELPER), ("tferry-memory-sampler", HELPER), ("copies", copies())):
            path = os.path.join(self.bundle, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def run_script(self, out, *options, **variables):
        out = os.path.join(self.bundle, out)
        done = subprocess.run([sys.executable, os.path.join(HERE, "several_gpus.py"), "--bundle", self.bundle, "--out", out,
                               "--python", os.path.join(self.bundle, "python"), "--gpus", "2", "--alternations", "2",
                               *options], check=True, capture_output=True, text=True, timeout=240,
                              env={**os.environ, "FAKE_COPIES": os.path.join(self.bundle, "copies"), **variables})
        if "--dry-run" in options:
            return done.stdout, {}
        with open(os.path.join(out, "several_gpus_raw.json"), encoding="utf-8") as file:
            raw = json.load(file)
        return raw, {m["claim"].removeprefix("coordination."): m for m in raw["measurements"]}

    def test_all_parts_leave_what_they_measured(self):
        raw, measured = self.run_script("out", "--every", "1", FAKE_ROUTES="1")
        self.assertEqual([cell for cell in raw["cells"] if cell.get("error")], [])
        for setup in ("two_gpus", "two_gpus_one_link"):
            ours = measured[f"ours_vs_fair/gpt2_fp32/1.5/{setup}/1"]
            # The slower rank's, without a burst's first two steps.
            self.assertEqual(ours["subject"]["samples_ns"], [200_000_000] * 2)
            self.assertEqual(ours["baseline"]["samples_ns"], [250_000_000] * 2)
            self.assertEqual(measured[f"same_results/gpt2_fp32/1.5/{setup}/1"]["subject"]["samples"], [1.0] * 8)
        self.assertEqual(raw["routes"]["ours.both"]["runs"][0]["step_ns"], 240_000_000)
        self.assertEqual(measured["route_both/gpt2_fp32/1.5/lms"]["subject"]["samples_ns"], [390_000_000] * 2)
        self.assertEqual(measured["same_results/gpt2_fp32/1.5/routes"]["subject"]["samples"], [1.0] * 10)
        self.assertEqual(measured["both_links_rate/h2d"]["subject"]["samples"], [2.0])
        self.assertEqual(raw["series"]["two_gpus"]["1"]["ours_coordinated"][0]["turns"][0]["asked"], 7)
        self.assertEqual(raw["contention"]["calibrated"], {"both": {"median": 1.4, "low": 1.3, "high": 1.5}})
        self.assertEqual(raw["contention"]["stretch"]["both"]["by_clocks"], 1.4062)
        for name in ("ranks.tferry.gz", "copies.tferry.gz"):
            with gzip.open(os.path.join(self.bundle, "out", name), "rb") as session:
                self.assertEqual(session.read(), b"session")
        self.assertLessEqual(len(os.listdir(os.path.join(self.bundle, "out"))), 8)

    def test_a_row_that_dies_or_is_wrong_leaves_the_others_alone(self):
        only = ("--parts", "table", "--every", "1", "--setups", "natural")
        raw, measured = self.run_script("dead", *only, FAKE_DEAD="lms interleave", FAKE_WRONG="plan orchestrate")
        self.assertNotIn("lms_interleave_vs_fair/gpt2_fp32/1.5/two_gpus/1", measured)
        self.assertIn("lms_orchestrate_vs_fair/gpt2_fp32/1.5/two_gpus/1", measured)
        self.assertEqual(sorted(measured["same_results/gpt2_fp32/1.5/two_gpus/1"]["subject"]["samples"]),
                         [0.0] * 2 + [1.0] * 4)
        dead = next(cell for cell in raw["cells"] if cell["cell"] == "two_gpus.1.lms_interleave")
        self.assertIn("a rank died", dead["stderr"])

    def test_a_calibration_that_fails_is_made_shorter(self):
        raw, _ = self.run_script("short", "--parts", "calibrate", FAKE_SLOW_CALIBRATION="1")
        self.assertEqual([(cell["cell"], cell["rc"]) for cell in raw["cells"]], [("calibrate", 1), ("calibrate.short", 0)])

    def test_without_routes_their_set_ups_are_skipped_and_said(self):
        raw, measured = self.run_script("plain", "--parts", "table,route", "--every", "16")
        self.assertIn("ours_vs_fair/gpt2_fp32/1.5/two_gpus/16", measured)
        self.assertEqual({cell["cell"] for cell in raw["cells"] if "skipped" in cell}, {"one_link", "route"})

    def test_gradients_through_host_memory_are_shown_to_go_there_before_they_are_measured(self):
        only = ("--parts", "table", "--setups", "no_p2p", "--every", "1", "--rows", "ours_fair,ours_coordinated")
        raw, measured = self.run_script("host", *only)
        self.assertEqual([cell for cell in raw["cells"] if cell.get("error")], [])
        self.assertEqual(measured["gradients_over_pcie/two_gpus"]["subject"]["samples"], [0.01])
        self.assertEqual(measured["gradients_over_pcie/two_gpus_no_p2p"]["subject"]["samples"], [1.1])
        self.assertIn("NCCL through host memory", measured["ours_vs_fair/gpt2_fp32/1.5/two_gpus_no_p2p/1"]["note"])
        self.assertTrue(os.path.exists(os.path.join(self.bundle, "host", "sums.tferry.gz")))
        with open(os.path.join(self.bundle, "copies.variables"), encoding="utf-8") as file:
            self.assertEqual(file.read().split("\n")[:4], ["", "", "1", "1"])

    def test_gradients_that_go_another_way_are_not_measured(self):
        only = ("--parts", "table", "--setups", "no_p2p", "--every", "16", "--rows", "ours_fair,ours_coordinated")
        raw, measured = self.run_script("peers", *only, FAKE_PEERS="1")
        self.assertEqual(measured["gradients_over_pcie/two_gpus_no_p2p"]["subject"]["samples"], [0.01])
        self.assertNotIn("ours_vs_fair/gpt2_fp32/1.5/two_gpus_no_p2p/16", measured)
        self.assertIn("skipped", raw["cells"][-1])

    def test_where_the_counters_do_not_tell_the_way_is_unknown_and_said(self):
        only = ("--parts", "table", "--setups", "no_p2p", "--every", "16", "--rows", "ours_fair,ours_coordinated")
        raw, measured = self.run_script("unknown", *only, FAKE_NO_COUNTERS="1")
        self.assertNotIn("gradients_over_pcie/two_gpus_no_p2p", measured)
        self.assertEqual(raw["gradient_ways"]["no_p2p"]["way"], "unknown")
        self.assertIn("sampled for 50 %", raw["gradient_ways"]["no_p2p"]["unknown"])
        self.assertIn("ours_vs_fair/gpt2_fp32/1.5/two_gpus_no_p2p/16", measured)

    def test_a_dry_run_tells_the_variables(self):
        text, _ = self.run_script("dry_host", "--dry-run", "--parts", "table", "--setups", "no_p2p")
        for line in ("sums.natural: ", "sums.no_p2p: NCCL_P2P_DISABLE=1 ", "profile.no_p2p: NCCL_P2P_DISABLE=1 ",
                     "two_gpus_no_p2p.1.ours_fair: NCCL_P2P_DISABLE=1 ", "two_gpus_no_p2p.16.lms_fair: NCCL_P2P_DISABLE=1 "):
            self.assertIn("\n" + line, "\n" + text)
        self.assertIn("--exchange gradients --backend nccl", text)
        self.assertNotIn("--route", text)

    def test_a_dry_run_tells_the_commands(self):
        text, _ = self.run_script("dry", "--dry-run", "--gpus", "4", "--orchestrate", "--slot-order deadline")
        line = next(line for line in text.splitlines() if line.startswith("four_gpus_two_links.16.ours_coordinated"))
        for words in ("--coordinate orchestrate", "--slot-order deadline", "--route direct,neighbour:0,direct,neighbour:2",
                      "launch_ranks.py 4 ", "--synchronise 16", "--backend nccl"):
            self.assertIn(words, line)
        self.assertFalse(os.path.exists(os.path.join(self.bundle, "dry", "several_gpus_raw.json")))


class Parts(unittest.TestCase):
    def test_ranks_are_ended_when_one_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "job.py")
            with open(script, "w", encoding="utf-8") as file:
                file.write("import os, sys, time\nsys.exit(3) if os.environ['RANK'] == '1' else time.sleep(60)\n")
            done = subprocess.run([sys.executable, os.path.join(HERE, "lib", "launch_ranks.py"), "2", "1", sys.executable, script],
                                  stdin=subprocess.DEVNULL, timeout=30, check=False)
        self.assertEqual(done.returncode, 3)

    def test_the_slower_rank_counts(self):
        self.assertEqual(ranked.slower_rank_ns([[9.0, 1.0, 3.0], [9.0, 2.0, 4.0]], 1), 3_000_000)

    def test_a_stretch_without_a_baseline_is_unknown(self):
        class Sessions:
            def rows(self, _session, _sql):
                return [{"n": 4, "known": 3, "took": 280, "solo": 200, "lost": 80, "by_": "learned"}]
        phases = contention_check.phases_of(copies())
        self.assertIsNone(contention_check.by_analysis(Sessions(), "s", phases, "together", "both")["stretch"])


if __name__ == "__main__":
    unittest.main()
