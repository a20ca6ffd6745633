"""Lets PyTorch say what it allocates for, by NVTX, in the first steps of a program; a recording names allocations by it.

Ranges, tferry:CATEGORY:PATH, name what a thread allocates while they are open. PATH is the module's, as named_modules() of
the outermost module tells it.

    activation   while a module computes forward
    weight       while a module's parameters are moved or converted (to(), cuda(), half()): PATH.parameters
    optimizer    while an optimizer steps: temporaries, and its state in the first step
    gradient     while a backward pass runs, whose own threads allocate

Marks, tferry:CATEGORY:PATH@ADDRESS, name the allocation that holds an address, whoever made it and when:

    weight, gradient, optimizer    parameters, their gradients and their states, at each step of the optimizer
    input                          tensors that the outermost module is called with

All of it ends after STEPS steps of an optimizer, or CALLS calls of an outermost module where nothing steps: then the hooks
are gone and the program runs as it would without them. What is allocated later is matched with what has names.
"""

import importlib
import threading

PREFIX = "tferry:"
STEPS = 3
CALLS = 200


class Names(threading.local):
    """Where this thread is among modules. Modules and the backward pass may be at work on several threads."""

    def __init__(self):
        self.depth = 0
        self.paths = {}


class Pass:
    """The hooks in PyTorch, from installation until they have seen enough."""

    def __init__(self, torch):
        self.torch = torch
        self.push, self.pop = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
        self.mark = getattr(torch.cuda.nvtx, "mark", None)
        self.names = Names()
        self.parameters = {}  # path by id, of all outermost modules so far
        self.steps = self.calls = 0
        self.undo = []
        self.over = False

    # Ranges of modules

    def enter(self, category, module, behind=""):
        names = self.names
        if names.depth == 0:
            root = type(module).__name__
            names.paths = {id(part): name or root for name, part in module.named_modules()}
            for name, parameter in getattr(module, "named_parameters", lambda: ())():
                self.parameters[id(parameter)] = name
        names.depth += 1
        self.push(f"{PREFIX}{category}:{names.paths.get(id(module), type(module).__name__)}{behind}")

    def leave(self):
        # A module that was entered before the hooks were there, or is left after they have gone.
        if self.names.depth > 0:
            self.names.depth -= 1
            self.pop()

    # Marks of tensors

    def tensor(self, category, path, value):
        if self.mark is None or not getattr(value, "is_cuda", False):
            return
        address = value.data_ptr()
        if address:
            self.mark(f"{PREFIX}{category}:{path}@{address:#x}")

    def tensors_of_optimizer(self, optimizer):
        for group in optimizer.param_groups:
            for number, parameter in enumerate(group["params"]):
                path = self.parameters.get(id(parameter), f"{type(optimizer).__name__}.{number}")
                self.tensor("weight", path, parameter)
                self.tensor("gradient", path, parameter.grad)
                for key, value in optimizer.state.get(parameter, {}).items():
                    self.tensor("optimizer", f"{path}.{key}", value)

    def tensors_of_call(self, module, inputs):
        for number, value in enumerate(inputs):
            self.tensor("input", f"{type(module).__name__}.{number}", value)

    # Hooks

    def compiling(self):
        return getattr(getattr(self.torch, "compiler", None), "is_compiling", lambda: False)()

    def before_forward(self, module, inputs):
        if self.over or self.compiling():
            return
        if self.names.depth == 0:
            self.calls += 1
            if self.calls > CALLS and self.steps == 0:
                self.end()
                return
            self.tensors_of_call(module, inputs)
        self.enter("activation", module)

    def after_forward(self, module, inputs, outputs):  # noqa: ARG002: the hooks' signatures are PyTorch's
        if not self.compiling():
            self.leave()

    def before_step(self, optimizer, arguments, options):  # noqa: ARG002
        self.tensors_of_optimizer(optimizer)
        self.push(f"{PREFIX}optimizer:{type(optimizer).__name__}")

    def after_step(self, optimizer, arguments, options):  # noqa: ARG002
        self.pop()
        self.tensors_of_optimizer(optimizer)
        self.steps += 1
        if self.steps >= STEPS:
            self.end()

    def replace(self, owner, name, make):
        """Puts make(original) in the place of owner.name until the end."""
        original = getattr(owner, name)
        replacement = make(original)
        setattr(owner, name, replacement)

        def restore():
            if getattr(owner, name) is replacement:
                setattr(owner, name, original)
        self.undo.append(restore)

    def named_apply(self, apply):
        def replacement(module, *arguments, **options):
            if self.over:
                return apply(module, *arguments, **options)
            self.enter("weight", module, ".parameters")
            try:
                return apply(module, *arguments, **options)
            finally:
                self.leave()
        return replacement

    def named_backward(self, backward):
        def replacement(*arguments, **options):
            if self.over:
                return backward(*arguments, **options)
            self.push(f"{PREFIX}gradient:backward")
            try:
                return backward(*arguments, **options)
            finally:
                self.pop()
        return replacement

    def install(self):
        torch = self.torch
        # Packages of torch that nobody has asked for yet need not be attributes of it.
        hooks = part_of(torch, "nn.modules.module")
        optimizers = part_of(torch, "optim.optimizer")
        handles = [hooks.register_module_forward_pre_hook(self.before_forward),
                   hooks.register_module_forward_hook(self.after_forward, always_call=True),
                   optimizers.register_optimizer_step_pre_hook(self.before_step),
                   optimizers.register_optimizer_step_post_hook(self.after_step)]
        self.undo += [handle.remove for handle in handles if hasattr(handle, "remove")]
        self.replace(torch.nn.Module, "_apply", self.named_apply)
        if hasattr(torch, "autograd"):
            self.replace(torch.autograd, "backward", self.named_backward)

    def end(self):
        """Everything is as it was; who is within a module now leaves it without a word of ours."""
        self.over = True
        while self.names.depth > 0:
            self.leave()
        for undo in self.undo:
            undo()
        self.undo = []


def part_of(torch, path):
    found = torch
    for name in path.split("."):
        found = getattr(found, name, None)
        if found is None:
            return importlib.import_module(f"{torch.__name__}.{path}")
    return found


def install(torch):
    naming = Pass(torch)
    naming.install()
    return naming
