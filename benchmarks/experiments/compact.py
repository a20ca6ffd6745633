"""compact.py EXPERIMENTS.json OUT.json: what run_all.sh found, small enough for benchmarks/results/.

Numbers are rounded to five digits, the p99 of fewer than 100 samples (which is their greatest) and the driver's long
error texts are cut, and comparisons of nothing with nothing are dropped. Everything else stays as it was measured.
"""

import json
import sys

NOTE = ("Raw findings of benchmarks/experiments/run_all.sh, quoted in docs/results/experiments.md. They decide a design "
        "and claim nothing: this is no tferry.result/1, and tferry-bench leaves it alone. Times in the unit of their "
        "name; a set of samples is count, mean, min, p50, p90, p99 (100 samples and more), max.")


def compact(value):
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, str):
        return value.split("\n")[0]
    if isinstance(value, list):
        return [compact(item) for item in value]
    if isinstance(value, dict):
        few = "p99" in value and value.get("count", 0) < 100
        return {key: compact(item) for key, item in value.items()
                if not (few and key == "p99") and not (isinstance(item, dict) and item.get("hooks") == 0 == item["records"])}
    return value


def main():
    source, target = sys.argv[1:]
    with open(source) as file:
        found = json.load(file)
    result = {"schema": "tferry.experiments/1", "note": NOTE, "command": "benchmarks/experiments/run_all.sh OUT BINARIES"}
    result.update(compact(found))
    with open(target, "w") as file:
        # One line an experiment's section, so that a renewed file can be compared.
        lines = [f'  "{name}": {{\n' + ",\n".join(f'    "{section}": {json.dumps(body, separators=(",", ":"))}'
                                                  for section, body in sections.items()) + "\n  }"
                 for name, sections in result.pop("experiments").items()]
        head = json.dumps(result, indent=1)[:-2]
        file.write(head + ',\n "experiments": {\n' + ",\n".join(lines) + "\n }\n}\n")


if __name__ == "__main__":
    main()
