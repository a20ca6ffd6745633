"""Runs benchmarks/record_golden.py against a stand-in for tferry and a job that prints what the real one prints."""

import gzip
import os
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class RecordGolden(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.bundle = self.directory.name
        with open(os.path.join(HERE, "testing", "fake_tferry.py"), encoding="utf-8") as file:
            self.write("tferry", file.read().replace("#!/usr/bin/env python3", "#!" + sys.executable))
        self.write("gpt2.py", 'print("losses sha256 abc over 4 steps")')

    def write(self, name, text):
        path = os.path.join(self.bundle, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def read(self, name):
        with open(os.path.join(self.bundle, "out", name), encoding="utf-8") as file:
            return file.read()

    def run_script(self, *options, **variables):
        return subprocess.run([sys.executable, os.path.join(HERE, "record_golden.py"), "--bundle", self.bundle, "--out",
                               os.path.join(self.bundle, "out"), "--python", sys.executable, "--git", "abc123", *options],
                              check=False, capture_output=True, text=True, timeout=60, env={**os.environ, **variables})

    def test_everything_lies_there_and_says_how_it_was_made(self):
        done = self.run_script("--compare", "old.tferry")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(os.path.join(self.bundle, "out"))),
                         ["README.md", "compare.txt", "gpt2.collector.spool.gz", "gpt2.runtime.spool.gz",
                          "gpt2.sampler.spool.gz", "gpt2.tferry", "gpt2.txt"])
        self.assertEqual(self.read("gpt2.txt"), "losses sha256 abc over 4 steps\n")
        self.assertIn("`tferry profile --counter-interval 1ms -- " + os.path.basename(sys.executable)
                      + " gpt2.py --steps 3 --warmup 1`", self.read("README.md"))
        self.assertIn("Tensorferry at commit abc123", self.read("README.md"))
        with gzip.open(os.path.join(self.bundle, "out", "gpt2.runtime.spool.gz")) as spool, \
                open(os.path.join(self.bundle, "out", "gpt2.tferry"), "rb") as session:
            self.assertEqual(spool.read(), session.read())  # as the stand-in makes them

    def test_another_structure_and_an_earlier_recording_are_told(self):
        done = self.run_script("--compare", "old.tferry", FAKE_DIFFERENT="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("its structure is not that of old.tferry", done.stderr)
        again = self.run_script()
        self.assertEqual(again.returncode, 1)
        self.assertIn("holds a recording already", again.stderr)

    def test_a_job_that_fails_records_nothing(self):
        self.write("gpt2.py", "import sys; sys.exit(3)")
        done = self.run_script()
        self.assertEqual(done.returncode, 2)
        self.assertEqual(os.listdir(os.path.join(self.bundle, "out")), [])


if __name__ == "__main__":
    unittest.main()
