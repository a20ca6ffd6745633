"""Makes the bundle: programs, libraries, samples, GPU tests and benchmark scripts in one folder that runs on another
Linux machine with an NVIDIA driver, without network and without anything installed but glibc (and Python for scripts).

    packaging/make_bundle.py --build build --output build/bundle

Fails if a file needs a shared library that such a machine lacks, or if the folder is larger than 40 MiB.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

LIMIT_BYTES = 40 << 20
GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}
# CUPTI comes with the job's toolkit or its PyTorch; `tferry profile` finds it and points both at it.
CUPTI = re.compile(r"libcupti\.so\.\d+")
ALSO_NEEDED = {"libtferry_collector.so": CUPTI, "tferry-sampler": CUPTI}
PROGRAMS = ["tferry", "tferry-sample-layers-cuda", "tferry-ballast", "tferry-memory-sampler", "tferry-call-cost",
            "tferry-sampler", "tferry-calibrate", "tferry-sample-kinds"]
LIBRARIES = ["libtferry_runtime.so", "libtferry_collector.so"]
TREES = [("samples/python", "samples/python"), ("benchmarks", "benchmarks"),
         ("collector/python", "share/tferry/python")]
SCRIPT_SUFFIXES = (".py", ".json", ".md")


class BundleError(Exception):
    """What is wrong with the bundle, and what to do."""


def fail(message, remedy):
    raise BundleError(f"{message}\nmake_bundle: what to do: {remedy}")


def copy_elf(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy2(source, target)
    subprocess.run(["strip", "--strip-debug", target], check=True)


def copy_scripts(source, target):
    for folder, names, files in os.walk(source):
        names[:] = [name for name in names if name not in ("results", "__pycache__")]
        for name in files:
            if name.endswith(SCRIPT_SUFFIXES):
                place = os.path.join(target, os.path.relpath(folder, source), name)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                shutil.copy2(os.path.join(folder, name), place)


def gpu_tests(build):
    """The tests that carry the label gpu, as ctest knows them."""
    shown = subprocess.run(["ctest", "--test-dir", build, "-L", "gpu", "--show-only=json-v1"], check=True,
                           capture_output=True, text=True).stdout
    for test in json.loads(shown)["tests"]:
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
        if "command" in test:
            yield test["name"], test["command"], properties


def relocate(word, build, source, output):
    """A word of a test's command, as it reads within the bundle; files that it names and that are missing are copied."""
    for prefix in (build, source):
        if not word.startswith(prefix + os.sep):
            continue
        inside = os.path.relpath(word, prefix)
        if os.path.isfile(word) and not os.path.exists(os.path.join(output, inside)):
            if is_elf(word):
                copy_elf(word, os.path.join(output, inside))
            else:
                os.makedirs(os.path.dirname(os.path.join(output, inside)), exist_ok=True)
                shutil.copy2(word, os.path.join(output, inside))
        return inside
    return word


def relocate_variable(variable, build, source, output):
    name, _, value = variable.partition("=")
    return name + "=" + ":".join(relocate(part, build, source, output) for part in value.split(":"))


def write_gpu_tests(build, source, output):
    """One line a test: name, time limit, exit code that means skipped, command; tabs between."""
    lines = []
    for name, command, properties in gpu_tests(build):
        if os.path.isabs(command[0]) and not os.path.isfile(command[0]):
            fail(f"{command[0]}, which the test {name} runs, was not built", "build all targets")
        words = [relocate(word, build, source, output) for word in command]
        variables = [relocate_variable(variable, build, source, output) for variable in properties.get("ENVIRONMENT", [])]
        if variables:
            words = ["env"] + variables + words
        limit = int(float(properties.get("TIMEOUT", 300)))
        lines.append("\t".join([name, str(limit), str(properties.get("SKIP_RETURN_CODE", 77)), shlex.join(words)]))
    with open(os.path.join(output, "gpu-tests.tsv"), "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))
    return len(lines)


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def elf_files(folder):
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if not os.path.islink(path) and is_elf(path):
                yield path


def check_needed(path):
    """Fails for a library that the other machine lacks; returns the newest glibc version that is asked for."""
    shown = subprocess.run(["readelf", "--wide", "--dynamic", "--version-info", path], check=True, capture_output=True,
                           text=True).stdout
    for library in re.findall(r"\(NEEDED\).*\[(.+?)\]", shown):
        also = ALSO_NEEDED.get(os.path.basename(path))
        if library not in GLIBC and not (also and also.fullmatch(library)):
            fail(f"{path} needs {library}", "link that library statically (see the target's CMakeLists.txt)")
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_(\d+(?:\.\d+)+)", shown)]
    return max(versions, default=(0, 0))


def folder_bytes(folder):
    return sum(os.lstat(os.path.join(place, name)).st_size for place, _, names in os.walk(folder) for name in names)


def make(build, source, output):
    if os.path.exists(output):
        shutil.rmtree(output)
    absent = []
    for folder, names in (("bin", PROGRAMS), ("lib", LIBRARIES)):
        for name in names:
            path = os.path.join(build, folder, name)
            if os.path.isfile(path):
                copy_elf(path, os.path.join(output, folder, name))
            else:
                absent.append(name)
    for required in ("tferry", "libtferry_runtime.so"):
        if required in absent:
            fail(f"{required} was not built", "build where a CUDA toolkit 13.0 or newer is installed")
    for origin, target in TREES:
        copy_scripts(os.path.join(source, origin), os.path.join(output, target))
    for name in ("LICENSE", "README.md"):
        shutil.copy2(os.path.join(source, name), output)
    shutil.copy2(os.path.join(source, "packaging", "run-gpu-tests"), output)
    tests = write_gpu_tests(build, source, output)
    glibc = max(check_needed(path) for path in elf_files(output))
    size = folder_bytes(output)
    if size > LIMIT_BYTES:
        fail(f"{output} takes {size} bytes, more than {LIMIT_BYTES}", "see what grew: du -a " + output)
    print(f"make_bundle: {output}: {size / (1 << 20):.1f} MiB, {tests} GPU tests, needs glibc "
          f"{'.'.join(map(str, glibc))} or newer and nothing else")
    if absent:
        print("make_bundle: not built here, so not in it: " + ", ".join(absent))


def main():
    parser = argparse.ArgumentParser(description="Make the bundle.")
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("--output", required=True, help="folder to make; what is there is replaced")
    arguments = parser.parse_args()
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        make(os.path.abspath(arguments.build), source, os.path.abspath(arguments.output))
    except BundleError as error:
        sys.exit(f"make_bundle: {error}")


if __name__ == "__main__":
    main()
