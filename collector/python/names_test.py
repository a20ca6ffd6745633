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
ranges, log, marks = [], [], []
class nvtx:
    @staticmethod
    def range_push(name): ranges.append(name); log.append(name)
    @staticmethod
    def range_pop(): ranges.pop()
    @staticmethod
    def mark(name): marks.append(name)
cuda = types.SimpleNamespace(nvtx=nvtx)
class Tensor:
    is_cuda = True
    def __init__(self, address): self.address, self.grad = address, None
    def data_ptr(self): return self.address
class Hooks(list):
    def register(self, hook, **options):
        self.append(hook)
        return types.SimpleNamespace(remove=lambda: self.remove(hook))
before, after, pre, post = Hooks(), Hooks(), Hooks(), Hooks()
class Module:
    def __init__(self, **parts): self.parts, self.weights = parts, {}
    def named_modules(self, prefix=""):
        yield prefix, self
        for name, part in self.parts.items():
            yield from part.named_modules((prefix + "." if prefix else "") + name)
    def named_parameters(self):
        for path, part in self.named_modules():
            for name, weight in part.weights.items(): yield (path + "." if path else "") + name, weight
    def forward(self, *inputs):
        for part in self.parts.values(): part()
    def __call__(self, *inputs):
        for hook in list(before): hook(self, inputs)
        try:
            return self.forward(*inputs)
        finally:
            for hook in list(after): hook(self, (), None)
    def _apply(self, function):
        for part in self.parts.values(): part._apply(function)
        function(self)
        return self
module = types.SimpleNamespace(register_module_forward_pre_hook=before.register, register_module_forward_hook=after.register)
nn = types.SimpleNamespace(Module=Module, modules=types.SimpleNamespace(module=module))
optim = types.SimpleNamespace(optimizer=types.SimpleNamespace(register_optimizer_step_pre_hook=pre.register,
                                                              register_optimizer_step_post_hook=post.register))
class Adam:
    def __init__(self, *weights): self.param_groups, self.state = [{"params": list(weights)}], {}
    def step(self):
        for hook in list(pre): hook(self, (), {})
        for hook in list(post): hook(self, (), {})
def run_backward(then): then()
autograd = types.SimpleNamespace(backward=run_backward)
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
        self.assertEqual(lines, ["['tferry:weight:a.parameters', 'tferry:weight:Module.parameters'] tferry:optimizer:Adam []"])

    def test_parameters_gradients_states_and_inputs_are_marked_by_their_addresses(self):
        lines, _ = self.run_python("""
            import torch
            model = torch.nn.Module(head=torch.nn.Module())
            weight = model.parts["head"].weights["weight"] = torch.Tensor(0x1000)
            adam = torch.Adam(weight)
            model(torch.Tensor(0x500))
            weight.grad = torch.Tensor(0x2000)
            adam.state[weight] = {"exp_avg": torch.Tensor(0x3000), "step": 1}
            adam.step()
            print("\\n".join(dict.fromkeys(torch.marks)))
        """)
        self.assertEqual(lines, ["tferry:input:Module.0@0x500", "tferry:weight:head.weight@0x1000",
                                 "tferry:gradient:head.weight@0x2000", "tferry:optimizer:head.weight.exp_avg@0x3000"])

    def test_a_backward_pass_is_a_range(self):
        lines, _ = self.run_python("""
            import torch
            torch.autograd.backward(lambda: print(torch.ranges))
            print(torch.ranges)
        """)
        self.assertEqual(lines, ["['tferry:gradient:backward']", "[]"])

    def test_after_three_steps_the_program_runs_without_hooks(self):
        lines, _ = self.run_python("""
            import torch
            unhooked = torch.run_backward
            model, adam = torch.nn.Module(a=torch.nn.Module()), torch.Adam()
            for step in range(3):
                model()
                adam.step()
            model()
            before = len(torch.log), len(torch.marks)
            model()
            model._apply(lambda module: None)
            adam.step()
            print(before == (len(torch.log), len(torch.marks)), torch.autograd.backward is unhooked)
            print([len(hooks) for hooks in (torch.before, torch.after, torch.pre, torch.post)], torch.ranges)
        """)
        self.assertEqual(lines, ["True True", "[0, 0, 0, 0] []"])

    def test_where_nothing_steps_they_end_after_two_hundred_calls(self):
        lines, _ = self.run_python("""
            import torch
            model = torch.nn.Module(a=torch.nn.Module())
            for call in range(300): model()
            print(len(torch.log), len(torch.before), torch.ranges)
        """)
        self.assertEqual(lines, ["400 0 []"])

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
