#!/usr/bin/env python3
"""Tests of the start-up hook with a torch of the tests: modules, hooks and NVTX as PyTorch has them, no GPU."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

TORCH = '''
import sys, types
ranges, log = [], []
class nvtx:
    @staticmethod
    def range_push(name): ranges.append(name); log.append(name)
    @staticmethod
    def range_pop(): ranges.pop()
cuda = types.SimpleNamespace(nvtx=nvtx)
before, after = [], []
class Module:
    def __init__(self, **parts): self.parts = parts
    def named_modules(self, prefix=""):
        yield prefix, self
        for name, part in self.parts.items():
            yield from part.named_modules((prefix + "." if prefix else "") + name)
    def forward(self):
        for part in self.parts.values(): part()
    def __call__(self):
        for hook in before: hook(self, ())
        try:
            return self.forward()
        finally:
            for hook in after: hook(self, (), None)
    def _apply(self, function):
        for part in self.parts.values(): part._apply(function)
        function(self)
        return self
module = types.SimpleNamespace(register_module_forward_pre_hook=before.append,
                               register_module_forward_hook=lambda hook, always_call: after.append(hook))
nn = types.SimpleNamespace(Module=Module, modules=types.SimpleNamespace(module=module))
pre, post = [], []
optim = types.SimpleNamespace(optimizer=types.SimpleNamespace(register_optimizer_step_pre_hook=pre.append,
                                                              register_optimizer_step_post_hook=post.append))
class Adam:
    def step(self):
        for hook in pre: hook(self, (), {})
        for hook in post: hook(self, (), {})
'''


class NamesTest(unittest.TestCase):
    def run_python(self, program, files=None):
        """The output of a program under the hook, with our torch and these files beside it."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"torch.py": TORCH, **(files or {})}.items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "PYTHONPATH": HERE + os.pathsep + folder}, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split("\n")[:-1], done.stderr

    def test_forward_names_each_module_by_its_path(self):
        lines, _ = self.run_python("""
            import torch
            class Model(torch.nn.Module): pass
            model = Model(layer=torch.nn.Module(mlp=torch.nn.Module()))
            model()
            print("\\n".join(torch.log), torch.ranges)
        """)
        self.assertEqual(lines, ["tferry:activation:Model", "tferry:activation:layer", "tferry:activation:layer.mlp []"])

    def test_moving_a_model_names_its_weights_and_a_step_the_optimizers_state(self):
        lines, _ = self.run_python("""
            import torch
            seen = []
            torch.nn.Module(a=torch.nn.Module())._apply(lambda module: seen.append(torch.ranges[-1]))
            torch.Adam().step()
            print(seen, torch.log[-1], torch.ranges)
        """)
        self.assertEqual(lines, ["['tferry:weight:a', 'tferry:weight:Module'] tferry:optimizer:Adam []"])

    def test_a_forward_that_raises_leaves_no_range_open(self):
        lines, _ = self.run_python("""
            import torch
            class Bad(torch.nn.Module):
                def forward(self): raise ValueError("no")
            try:
                torch.nn.Module(bad=Bad())()
            except ValueError as error:
                print(error, torch.ranges)
        """)
        self.assertEqual(lines, ["no []"])

    def test_the_programs_own_sitecustomize_still_runs(self):
        lines, _ = self.run_python("import sitecustomize; print(sitecustomize.mine)",
                                   {"sitecustomize.py": "mine = 'the program\\'s'\nprint('started')\n"})
        self.assertEqual(lines, ["started", "the program's"])

    def test_a_torch_that_lacks_the_hooks_costs_the_names_only(self):
        lines, errors = self.run_python("import torch; print(torch.x)", {"torch.py": "x = 1\n"})
        self.assertEqual(lines, ["1"])
        self.assertIn("tferry: no names from PyTorch", errors)

    def test_a_program_without_torch_notices_nothing(self):
        self.assertEqual(self.run_python("print(2)"), (["2"], ""))


if __name__ == "__main__":
    unittest.main()
