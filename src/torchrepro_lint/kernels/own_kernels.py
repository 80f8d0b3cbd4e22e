"""The calls of a file that reach a kernel of the project's own which adds with atomics: a function of its extension
module, an operator that it registers, a Triton or Numba kernel that is launched; and texts that are kernels.

Judges no gradient: such a kernel may run in either pass. Knows nothing of what PyTorch's own operations do.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Call, Program, Site, remembered, remembered_of_texts, start_of
from torchrepro_lint.dataflow.enclosing import ancestors
from torchrepro_lint.dataflow.reached import reached
from torchrepro_lint.index import ITEM, ModuleFacts, Scope, calls_in, last_name, walk
from torchrepro_lint.kernels.context import context
from torchrepro_lint.kernels.native_sources import KERNEL, atomic_in_text, native_sources
from torchrepro_lint.kernels.triggers import triggers
from torchrepro_lint.model import Location

MAX_HELPERS = 32  # functions that one kernel in Python calls
_OPERATORS = "torch.ops."
_LAST_OF_TEXT = re.compile(r"""["'](?:[^"'\s]*[./])?(\w+)["']""")


class OwnKernel(NamedTuple):
    """A call that reaches one, or a text that is one. `place` is where it adds: in a native source, in a function of
    the project, or in that text."""

    node: ast.Call | ast.Constant
    scope: Scope
    kernel: str
    atomic: str
    is_lock: bool
    place: Location | Site


def own_kernels(facts: ModuleFacts, program: Program) -> Iterator[OwnKernel]:
    """All such calls of a file that training may run, in source order."""
    found = [*_extension_calls(facts, program), *_launches(facts, program), *_texts(facts)]
    for item in sorted(found, key=lambda item: start_of(item.node)):
        if context(item.node, item.scope, program).role is None:
            yield item


# -- C++ and CUDA -------------------------------------------------------------------------------------------------
def _extension_calls(facts: ModuleFacts, program: Program) -> Iterator[OwnKernel]:
    sources = native_sources(program)
    for name in sorted(sources.names & {*facts.calls, *facts.aliases}):
        for spelled in (name, *sorted(facts.aliases.get(name, ()))):
            for call, scope in facts.calls.get(spelled, ()):
                meant = _meant(call.func, scope, program)
                atomic = sources.atomic(meant[1], namespace=meant[0]) if meant is not None else None
                if atomic is not None:
                    yield OwnKernel(call, scope, atomic.kernel, atomic.written, is_lock=False, place=atomic.location)


def _meant(function: ast.expr, scope: Scope, program: Program) -> tuple[str | None, str] | None:
    """The namespace of torch.ops, or None for an extension module of the project, and the function in it."""
    name = program.qualified(function, scope)
    if name is not None and name.startswith(_OPERATORS):
        parts = name.removeprefix(_OPERATORS).split(".")
        return (parts[0], parts[1]) if len(parts) > 1 else None
    if name in triggers() or isinstance(program.resolve(function, scope), Scope):
        return None  # a package of the catalogue, or Python code of the project
    parts = _as_imported(function, scope)
    if parts:
        return (None, parts[-1]) if parts[-2:-1] and parts[-2] in _extension_names(program) else None
    made = program.makers(function.value, scope) if isinstance(function, ast.Attribute) else set()
    is_loaded = not made.isdisjoint(catalogue.names("kernels", "extension_loaders"))
    return (None, last_name(function)) if is_loaded else None


def _as_imported(expr: ast.expr, scope: Scope) -> list[str]:
    """The parts of the full name that an import gives an expression, of a relative one without what is above; none
    where nothing is imported."""
    rest: list[str] = []
    while isinstance(expr, ast.Attribute):
        rest.insert(0, expr.attr)
        expr = expr.value
    imports = [b for b in scope.bindings_of(expr) if b.kind == "import"]
    return [*imports[0].target.split("."), *rest] if imports else []


@remembered_of_texts
def _extension_names(program: Program) -> frozenset[str]:
    """What the files that build extension modules call by name, or a part of a path."""
    text, words = program.project.text, catalogue.table("kernels")["extension_builders"]["words"]
    files = {path for word in words for path in text.containing(word) or ()}
    return frozenset(name for path in sorted(files) for name in _LAST_OF_TEXT.findall(text.of(path)))


def _texts(facts: ModuleFacts) -> Iterator[OwnKernel]:
    """Kernels that CuPy, PyCUDA or `load_inline` compile: `RawKernel("__global__ void add(...) { ... }", "add")`."""
    for node in walk(facts.tree) if facts.source.matches(KERNEL) else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and KERNEL in node.value:
            scope = facts.scope_of(node)
            atomic = None if isinstance(facts.parents[node], ast.Expr) else atomic_in_text(node.value)
            if atomic is not None:
                yield OwnKernel(node, scope, atomic.kernel, atomic.written, is_lock=False, place=Site(node, scope))


# -- kernels in Python --------------------------------------------------------------------------------------------
def _launches(facts: ModuleFacts, program: Program) -> Iterator[OwnKernel]:
    """`kernel[grid](x, y)`"""
    for call, scope in facts.calls.get(ITEM, ()):
        kernel = program.resolve(call.func.value, scope) if isinstance(call.func, ast.Subscript) else None
        if isinstance(kernel, Scope) and _is_kernel(kernel, program):
            yield from _launched(call, scope, kernel, program)


def _launched(call: ast.Call, scope: Scope, kernel: Scope, program: Program) -> Iterator[OwnKernel]:
    found = _atomic_call(kernel, program)
    if found is not None:
        site, name = found
        is_lock = "lock" in catalogue.names("kernels", "python_atomics")[name]
        yield OwnKernel(call, scope, kernel.name, site.scope.facts.text(site.node.func), is_lock, site)  # type: ignore[attr-defined]


def _is_kernel(function: Scope, program: Program) -> bool:
    names = {program.qualified(d, function.parent or function) for d in function.decorators}
    return not names.isdisjoint(catalogue.names("kernels", "python_kernels"))


@remembered
def _atomic_call(kernel: Scope, program: Program) -> tuple[Site, str] | None:
    """The first place in a kernel, or in what it calls, that adds with an atomic; and the full name of that."""

    def run_by(function: Scope) -> Iterator[Scope]:
        sites = ((call, function.facts.scope_of(call)) for call in calls_in(function.node))
        return (helper for site in sites for helper in program.functions_run(*site))

    for function in reached([kernel], run_by, MAX_HELPERS):
        for call in calls_in(function.node):
            scope = function.facts.scope_of(call)
            name = program.qualified(call.func, scope)
            if name is not None and _adds(name, Call(call, scope, name, program)):
                return Site(call, scope), name
    return None


def _adds(name: str, call: Call) -> bool:
    row = catalogue.names("kernels", "python_atomics").get(name)
    if row is None:
        return False
    if "lock" in row:
        return any(isinstance(node, ast.While) for node in ancestors(call.node, call.scope))
    return not isinstance(call.literal("val", row["value"]), int | float)  # a counter: its sums are exact
