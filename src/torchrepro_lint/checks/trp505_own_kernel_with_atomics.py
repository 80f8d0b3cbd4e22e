"""TRP505: a kernel of the project's own adds with atomics, in no fixed order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.dataflow import Module, Program, Site

if TYPE_CHECKING:
    from torchrepro_lint.kernels.own_kernels import OwnKernel
    from torchrepro_lint.model import Related

# what builds or loads native code, makes a kernel, or is part of the text of one
WORDS = ("Extension", "cpp_extension", "load_library", ".jit", "__global__")

_SHARED = ("several of them add floats in one place",)
_LOCKED = ("what they add up under the lock are floats",)


def check(module: Module, program: Program) -> Iterator[Draft]:
    if not any(program.project.text.containing(word) for word in WORDS):
        return
    from torchrepro_lint.kernels.own_kernels import own_kernels  # few projects have kernels

    for item in own_kernels(module.facts, program):
        values = {"kernel": item.kernel, "atomic": item.atomic}
        if isinstance(item.node, ast.Constant):
            yield Draft(item.node, values, "text", depends=_SHARED)
            continue
        values["call"] = module.facts.text(item.node.func)
        message, depends = ("lock", _LOCKED) if item.is_lock else (None, _SHARED)
        yield Draft(item.node, values, message, depends=depends, related=(_place(item),))


def _place(item: OwnKernel) -> Place | Related:
    words = f"`{item.kernel}` takes turns here" if item.is_lock else f"`{item.kernel}` adds here"
    match item.place:
        case Site(node=node, scope=scope):
            return Place(scope.facts, node, words)
        case location:
            from torchrepro_lint.model import Related  # slow to import

            return Related(location, words)
