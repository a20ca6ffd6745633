#!/usr/bin/env python3
"""Measures the claims that begin with "beyond.": a job that does not fit runs, with the same results.

    benchmarks/beyond.py --bundle build/bundle --out "$OUT" --time-limit 540

Cells, in the order in which they run (--cells takes a comma-separated list of beginnings):
    link                     bandwidth of the link, for the record
    xl.plain, xl.ferried     GPT-2 XL at batch 15, about 150 GiB: alone (must run out of memory), under `tferry run`
    gpt2.native              GPT-2 124M fp32, batch 8 x 1024; C is measured here
    gpt2.auto                the same under `tferry run` with the whole card: what it costs where nothing has to move
    gpt2.11.0, .9.8, .7.3    under a budget of so many GiB, the ballast holding all but budget + C + 256 MiB
    layers.native, layers.12.0, layers.8.0        the C++ sample of 16 GiB likewise
    layers.plain150, layers.ferried150            the same with a footprint above the card's memory
    round.1 .. round.5       gpt2.native and the three budgets again, alternating, as long as there is time

A cell that fails is recorded and the script goes on. Files in --out: beyond_raw.json, beyond_log.txt.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import cells  # noqa: E402

SLACK = 256 * cells.MIB
GPT2_BUDGETS = ("11.0", "9.8", "7.3")
LAYERS_BUDGETS = ("12.0", "8.0")
GPT2 = ["--layers", "12", "--width", "768", "--heads", "12", "--batch", "8", "--context", "1024", "--precision", "fp32"]
XL = ["--layers", "48", "--width", "1600", "--heads", "25", "--batch", "15", "--context", "1024", "--precision", "fp32"]
LAYERS = ["--buffers", "64", "--mib", "256", "--iterations", "7"]
LAYERS_150 = ["--buffers", "150", "--mib", "1024", "--iterations", "4"]


class Beyond:
    def __init__(self, arguments, folder):
        repository = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.arguments = arguments
        self.folder = folder
        self.programs = cells.Programs(arguments.bundle, repository, must_exist=not arguments.dry_run)
        self.deadline = time.monotonic() + arguments.time_limit
        self.raw = cells.Raw(os.path.join(arguments.out, "beyond_raw.json"), "beyond", repository)
        self.log = os.path.join(arguments.out, "beyond_log.txt")
        self.done = {}
        self.rounds = []
        self.own_use_gpt2 = None
        self.own_use_layers = None
        self.count = 0

    def left(self):
        return self.deadline - time.monotonic()

    def wanted(self, name):
        chosen = self.arguments.cells
        return not chosen or any(name.startswith(prefix) for prefix in chosen.split(","))

    def measure(self, name, limit_s, command, parse, budget_gib=None, room=None):
        """One job, alone or ferried, with the sampler beside it and, given `room` in bytes, the ballast too."""
        if not self.wanted(name) and not (name == "gpt2.native" and self.wanted("round.1.")):
            return None
        if self.left() < 15:
            self.raw.add({"cell": name, "skipped": "no time left"})
            return None
        self.count += 1
        label = f"{self.count:02d}_{name}"
        report_path = os.path.join(self.folder, label + ".run.json")
        if budget_gib is not None:
            budget = "auto" if budget_gib == "auto" else budget_gib + "GiB"
            command = [self.programs.find("tferry"), "run", "--json", report_path, "--budget", budget,
                       *self.arguments.tferry, "--", *command]
        if self.arguments.dry_run:
            print(f"{name}: {' '.join(command)}" + (f"   [ballast leaves {room}]" if room else ""))
            return None
        cell = {"cell": name, "budget_gib": budget_gib,
                **cells.run_watched(self.programs, command, min(limit_s, max(self.left() - 5, 5)), self.folder, label,
                                    parse, room)}
        cell["run"] = cells.read_json(report_path)
        self.raw.add(cell)
        cells.append_log(self.log, cell)
        self.done[name] = cell
        print(f"{name}: rc {cell.get('rc')} {cell.get('error', '')} wall {cell.get('wall_s')} s, "
              f"median step {cells.median_ms(cell)} ms, peak {cell.get('device_peak_bytes')}, {self.left():.0f} s left",
              flush=True)
        return cell

    def python(self, script, *options):
        return [self.arguments.python, self.programs.find(script), *options]

    def run(self):
        for phase in (self.measure_link, self.run_xl, self.run_gpt2, self.run_layers, self.run_rounds, self.conclude):
            try:
                phase()
            except Exception as error:  # noqa: BLE001: whatever it is, the other cells shall still run
                self.raw.data["cells"].append({"cell": phase.__name__, "error": repr(error)})
                print(f"{phase.__name__}: {error!r}", flush=True)
        if not self.arguments.dry_run:
            self.raw.write()

    def run_gpt2(self):
        native = self.run_gpt2_native("gpt2.native", steps=8)
        self.own_use_gpt2 = cells.own_use(native, "torch_peak_reserved_bytes")
        self.raw.data["own_use_gpt2_bytes"] = self.own_use_gpt2
        self.rounds.append(("gpt2.", native))
        self.measure("gpt2.auto", 90, self.python("gpt2.py", *GPT2, "--steps", "8", "--warmup", "2"), cells.parse_gpt2,
                     budget_gib="auto")
        for budget in GPT2_BUDGETS:
            self.run_gpt2_budget("gpt2." + budget, budget, steps=8)

    def run_rounds(self):
        for number in range(1, 6):
            prefix = f"round.{number}."
            if self.left() < 40 or not self.wanted(prefix):
                break
            self.rounds.append((prefix, self.run_gpt2_native(prefix + "native", steps=5)))
            for budget in GPT2_BUDGETS:
                self.run_gpt2_budget(prefix + budget, budget, steps=5)

    def measure_link(self):
        if not self.wanted("link") or self.arguments.dry_run:
            return
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "link.py")
        cell = {"cell": "link"}
        cell.update(cells.run_job([self.arguments.python, script], min(60, self.left()), self.folder, "link"))
        try:
            self.raw.data["machine"].update(json.loads(cell["stdout"]))
        except ValueError:
            cell["error"] = "the link was not measured"
        self.raw.add(cell)
        cells.append_log(self.log, cell)

    def run_xl(self):
        self.measure("xl.plain", 90, self.python("gpt2.py", *XL, "--steps", "2", "--warmup", "0"), cells.parse_gpt2)
        self.measure("xl.ferried", 200, self.python("gpt2.py", *XL, "--steps", "5", "--warmup", "1"), cells.parse_gpt2,
                     budget_gib="auto")

    def run_gpt2_native(self, name, steps):
        report = os.path.join(self.folder, name + ".json")
        command = self.python("gpt2.py", *GPT2, "--steps", str(steps), "--warmup", "2", "--json", report)
        cell = self.measure(name, 90, command, cells.parse_gpt2)
        if cell is not None:
            details = cells.read_json(report) or {}
            for key in ("torch_peak_allocated_bytes", "torch_peak_reserved_bytes", "torch"):
                cell[key] = details.get(key, 0)
            self.raw.data["cells"][-1].update({key: cell[key] for key in ("torch_peak_allocated_bytes",
                                                                          "torch_peak_reserved_bytes", "torch")})
            self.raw.write()
        return cell

    def run_gpt2_budget(self, name, budget, steps):
        own_use = self.own_use_gpt2
        if own_use is None and not self.arguments.dry_run:
            if self.wanted(name):
                self.raw.add({"cell": name, "skipped": "C is unknown: gpt2.native did not finish or was not chosen"})
            return
        room = round(float(budget) * cells.GIB) + (own_use or 0) + SLACK
        command = self.python("gpt2.py", *GPT2, "--steps", str(steps), "--warmup", "2")
        self.measure(name, 120, command, cells.parse_gpt2, budget_gib=budget, room=room)

    def run_layers(self):
        program = self.programs.find("tferry-sample-layers-cuda")
        native = self.measure("layers.native", 60, [program, *LAYERS], cells.parse_layers)
        own_use = self.own_use_layers = cells.own_use(native, "footprint_bytes")
        self.raw.data["own_use_layers_bytes"] = own_use
        for budget in LAYERS_BUDGETS:
            if own_use is None and not self.arguments.dry_run:
                continue
            room = round(float(budget) * cells.GIB) + (own_use or 0) + SLACK
            self.measure("layers." + budget, 60, [program, *LAYERS], cells.parse_layers, budget_gib=budget, room=room)
        self.measure("layers.plain150", 60, [program, *LAYERS_150], cells.parse_layers)
        self.measure("layers.ferried150", 120, [program, *LAYERS_150], cells.parse_layers, budget_gib="auto")

    def conclude(self):
        """Puts the measurements together: samples only, `tferry-bench record` computes intervals and verdicts."""
        self.conclude_beyond_the_card("gpt2_xl_fp32", "xl.plain", "xl.ferried")
        self.conclude_beyond_the_card("layers_cuda_150GiB", "layers.plain150", "layers.ferried150")
        self.conclude_budget("gpt2_fp32", "auto", [(self.done.get("gpt2.native"), self.done.get("gpt2.auto"))], None)
        for budget in GPT2_BUDGETS:
            pairs = [(native, self.done.get(prefix + budget)) for prefix, native in self.rounds]
            self.conclude_budget("gpt2_fp32", budget, pairs, self.own_use_gpt2)
        for budget in LAYERS_BUDGETS:
            pairs = [(self.done.get("layers.native"), self.done.get("layers." + budget))]
            self.conclude_budget("layers_cuda_16GiB", budget, pairs, self.own_use_layers)

    def conclude_beyond_the_card(self, job, plain_name, ferried_name):
        plain, ferried = self.done.get(plain_name), self.done.get(ferried_name)
        if plain is None or ferried is None:
            return
        said = (plain.get("stderr", "") + plain.get("stdout", "")).lower()
        out_of_memory = plain.get("rc") not in (0, None) and "out of memory" in said
        finished = ferried.get("rc") == 0 and ferried.get("loss_sha256") is not None
        self.add("beyond.runs/" + job, ferried, "value", [float(out_of_memory and finished)], [], own_use=None,
                 note=f"1 is: out of memory alone (rc {plain.get('rc')}, out of memory: {out_of_memory}) and finished "
                      f"under tferry run (rc {ferried.get('rc')}, median step {cells.median_ms(ferried)} ms)")

    def conclude_budget(self, job, budget, pairs, own_use):
        pairs = [(a, b) for a, b in pairs if a and b and a.get("rc") == 0]
        if not pairs:
            return
        suffix = f"{job}/auto" if budget == "auto" else f"{job}/{budget}GiB"
        same = [float(b.get("rc") == 0 and bool(b["losses"]) and
                      (b["losses"], b["loss_sha256"]) == (a["losses"], a["loss_sha256"])) for a, b in pairs]
        self.add("beyond.same_results/" + suffix, pairs[0][1], "value", same, [], own_use,
                 note="1 a run whose losses or answers are those of the native run beside it, bit for bit")
        finished = [(a, b) for a, b in pairs if b.get("rc") == 0 and b["step_ns"]]
        if not finished:
            return
        if budget != "auto":
            allowed = float(budget) * cells.GIB + (own_use or 0) + SLACK
            self.add("beyond.budget_kept/" + suffix, finished[0][1], "value",
                     [b["device_peak_bytes"] / allowed for _, b in finished if "device_peak_bytes" in b], [], own_use,
                     note="peak of the job on the card, sampled from outside, over budget + C + 256 MiB")
        self.add("beyond.step/" + suffix, finished[0][1], "ratio",
                 [round(statistics.median(b["step_ns"])) for _, b in finished],
                 [round(statistics.median(a["step_ns"])) for a, _ in finished], own_use,
                 note="median step of each run; native over ferried, run by run in alternation")

    def add(self, claim, cell, metric, subject, baseline, own_use, note):
        samples = "samples_ns" if metric == "ratio" else "samples"
        measurement = {"claim": claim, "kind": "measured", "metric": metric,
                       "command": "benchmarks/beyond.py --bundle build/bundle --out OUT",
                       "job": cells.job_of(cell),
                       "subject": {"label": "tferry run", samples: subject},
                       "checks": {"loss_sha256": [cell.get("loss_sha256")], "overhead_bytes": own_use or 0,
                                  "budget_bytes": 0 if cell["budget_gib"] == "auto"
                                  else round(float(cell["budget_gib"]) * cells.GIB),
                                  "device_peak_bytes": cell.get("device_peak_bytes", 0),
                                  "device_peak_source": cell.get("memory", {}).get("source", ""),
                                  "moved_bytes": sum(cells.runtime_counter(cell, name) for name in ("bytes_out", "bytes_in")),
                                  "footprint_bytes": cells.runtime_counter(cell, "allocated_peak"),
                                  "parked_peak_bytes": cells.runtime_counter(cell, "parked_peak")},
                       "note": note}
        if metric == "ratio":
            measurement["baseline"] = {"label": "native", "samples_ns": baseline}
        self.raw.data["measurements"].append(measurement)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bundle", required=True, help="folder with bin/tferry and lib/libtferry_runtime.so")
    parser.add_argument("--out", default=".", help="folder for beyond_raw.json and beyond_log.txt")
    parser.add_argument("--cells", default="", help="beginnings of cell names, comma-separated; all when empty")
    parser.add_argument("--time-limit", type=float, default=540, help="seconds for everything")
    parser.add_argument("--python", default="python3", help="the interpreter that has torch")
    parser.add_argument("--tferry", default=[], action="append",
                        help="another option for tferry run, as --tferry=--verify")
    parser.add_argument("--dry-run", action="store_true", help="print the commands and stop")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tferry-beyond-") as folder:
        Beyond(arguments, folder).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
