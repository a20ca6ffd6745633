"""Found by Python at its start because `tferry profile --names pytorch` puts this folder in front of PYTHONPATH.

Lets PyTorch say what it allocates for (tferry_torch_names.py) once the program imports torch, and gives way to the program's
own sitecustomize. Whatever goes wrong here costs the names, never the program.
"""

import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def import_the_programs_own():
    """The sitecustomize that Python would have found without us."""
    elsewhere = [place for place in sys.path if os.path.abspath(place or os.curdir) != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


class AfterImport:
    """A finder that lets others find `name`, and calls `then` with the module when it has been executed."""

    def __init__(self, name, then):
        self.name, self.then = name, then

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_then(module):
            execute(module)
            try:
                self.then(module)
            except Exception as error:  # noqa: BLE001: the program goes on without names
                print(f"tferry: no names from PyTorch: {error!r}", file=sys.stderr)

        spec.loader.exec_module = execute_then
        return spec


def name_what_torch_allocates(torch):
    import tferry_torch_names
    tferry_torch_names.install(torch)


sys.meta_path.insert(0, AfterImport("torch", name_what_torch_allocates))
import_the_programs_own()
