"""Python imports this module at the start of every process of an observed program: its folder is first on PYTHONPATH.

It loads the package it belongs to from where it lies, so that the program's Python need not have it installed, takes
its folder off `sys.path`, and then runs the `sitecustomize` that it stands in front of, if there is one.
"""

import importlib.util
import os
import sys
from importlib.machinery import PathFinder

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(_HERE)))


def _load_package() -> None:
    if "torchrepro_lint" in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(
        "torchrepro_lint", os.path.join(_PACKAGE, "__init__.py"), submodule_search_locations=[_PACKAGE]
    )
    if spec is None or spec.loader is None:
        return
    package = importlib.util.module_from_spec(spec)
    sys.modules["torchrepro_lint"] = package
    spec.loader.exec_module(package)


def _run_the_one_behind() -> None:
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _HERE]
_load_package()
from torchrepro_lint.rerun.inside import install  # noqa: E402

install()
_run_the_one_behind()
