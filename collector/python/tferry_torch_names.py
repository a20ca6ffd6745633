"""Puts NVTX ranges around what PyTorch allocates for, by which a recording names allocations.

A range is called tferry:CATEGORY:PATH. PATH is the module's, as named_modules() of the outermost module tells it.

    activation   while a module computes forward
    weight       while a module's parameters are moved or converted (to(), cuda(), half())
    optimizer    while an optimizer steps: its state is made in the first step

Gradients are allocated by autograd's own threads, where no range of ours is open: they stay without a name, as does what the
program allocates outside of modules. Each range costs two calls of NVTX; time a job without names.
"""

PREFIX = "tferry:"


class Names:
    """Paths of modules by the outermost one that is at work; one for each thread would be right, and PyTorch's modules are
    called by one thread at a time."""

    def __init__(self, push, pop):
        self.push, self.pop = push, pop
        self.depth = 0
        self.paths = {}

    def enter(self, category, module):
        if self.depth == 0:
            root = type(module).__name__
            self.paths = {id(part): name or root for name, part in module.named_modules()}
        self.depth += 1
        self.push(f"{PREFIX}{category}:{self.paths.get(id(module), type(module).__name__)}")

    def leave(self):
        self.depth -= 1
        self.pop()


def install(torch):
    names = Names(torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop)
    is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)

    def before(module, inputs):  # noqa: ARG001: the hooks' signatures are PyTorch's
        if not is_compiling():
            names.enter("activation", module)

    def after(module, inputs, outputs):  # noqa: ARG001
        if not is_compiling():
            names.leave()

    hooks = torch.nn.modules.module
    hooks.register_module_forward_pre_hook(before)
    hooks.register_module_forward_hook(after, always_call=True)

    apply = torch.nn.Module._apply

    def named_apply(module, *arguments, **options):
        names.enter("weight", module)
        try:
            return apply(module, *arguments, **options)
        finally:
            names.leave()

    torch.nn.Module._apply = named_apply

    def before_step(optimizer, arguments, options):  # noqa: ARG001
        names.push(f"{PREFIX}optimizer:{type(optimizer).__name__}")

    def after_step(optimizer, arguments, options):  # noqa: ARG001
        names.pop()

    optimizers = torch.optim.optimizer
    optimizers.register_optimizer_step_pre_hook(before_step)
    optimizers.register_optimizer_step_post_hook(after_step)
    return names
