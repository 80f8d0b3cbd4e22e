"""Where a program has kernels chosen by timing them: compile modes, inductor options, autotuned Triton
kernels.

Finds the places; whether tuning is switched off by something else is not looked at here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Call, Module, Program, Site
from torchrepro_lint.dataflow.mappings import entries_of
from torchrepro_lint.index import calls_in, dotted, keyword_value
from torchrepro_lint.kernels.environment import EnvironmentSet, sets
from torchrepro_lint.kernels.flags import Setting, assigned, passed, state

TRITON_LANGUAGE = "triton.language"


def _table(name: str) -> Any:
    return catalogue.table("backend_flags")[name]


def compile_modes(module: Module) -> Iterator[tuple[Setting, str]]:
    """Tuning compile modes, and for each the mode that does the same without tuning."""
    found = list(passed(module, catalogue.names("backend_flags", "compile_mode")))
    known = {id(s.node) for s in found}
    for call, scope in module.facts.calls.get("compile", ()):  # `model.compile(mode=...)`, whatever `model` is
        mode = keyword_value(call, "mode")
        if mode is not None and id(call) not in known and isinstance(call.func, ast.Attribute):
            found.append(Setting(call, mode, scope, scope, call=call, keyword="mode"))
    for setting in found:
        value = module.program.literal(setting.value, setting.value_scope)
        other = _table("autotune")["modes"].get(value) if isinstance(value, str) else None
        if other is not None:
            yield setting, other


def options(module: Module) -> Iterator[Setting]:
    """Inductor options that turn tuning on: attributes, `patch(...)`, and `options=` of torch.compile."""
    row = _table("autotune")
    for name in row["options"]:
        for setting in assigned(module, row["config"], name):
            if state(module.program, setting):
                yield setting
    for call in module.calls({"torch.compile", f"{row['config']}.patch"}):
        for name, argument in _tuned(call, module.program, row["options"]):
            setting = Setting(call.node, argument.node, call.scope, argument.scope, call=call.node, keyword=name)
            if state(module.program, setting):
                yield setting


def _tuned(call: Call, program: Program, names: list[str]) -> Iterator[tuple[str, Site]]:
    """The tuning options in `options={...}`, `patch({...})` or `patch(name=...)`."""
    given: dict[str, Site] = {}
    for mapping in (call.argument("options"), call.argument("", 0)):
        if isinstance(mapping, Site):
            given.update(entries_of(mapping.node, mapping.scope, program) or {})
    given.update({k.arg: Site(k.value, call.scope) for k in call.node.keywords if k.arg})
    yield from ((name, given[name]) for name in names if name in given)


def variables(module: Module) -> Iterator[EnvironmentSet]:
    """Environment variables that turn inductor's tuning on."""
    for variable in _table("autotune")["variables"]:
        if variable in module.facts.source.text:
            yield from (s for s in sets(module.program, module.facts, variable) if s.value == "1")


def tuned_kernels(module: Module) -> Iterator[tuple[ast.Call, ast.FunctionDef]]:
    """`triton.autotune` decorators with a choice of configurations, on kernels that reduce over blocks."""
    row = _table("triton")
    for call in module.calls(row["names"]):
        kernel = module.facts.parents.get(call.node)
        if isinstance(kernel, ast.FunctionDef) and not _single(call) and _reduces(kernel, call, row["reductions"]):
            yield call.node, kernel


def _single(call: Call) -> bool:
    configs = call.argument("configs", 0)
    return isinstance(configs, Site) and isinstance(configs.node, ast.List) and len(configs.node.elts) == 1


def _reduces(kernel: ast.FunctionDef, tuned: Call, names: list[str]) -> bool:
    """Whether a block size can change the result: the kernel adds up over blocks."""
    inner, program = tuned.scope.children.get(kernel, tuned.scope), tuned.program
    called = (call.func for call in calls_in(kernel))
    holders = [f.value for f in called if isinstance(f, ast.Attribute) and f.attr in names]
    return any(program.qualified(h, inner) == TRITON_LANGUAGE or dotted(h) == "tl" for h in holders)
