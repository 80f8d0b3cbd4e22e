"""TRP406: kernels are chosen by timing them while the program runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.switch_edit import with_value
from torchrepro_lint.index import Scope, dotted
from torchrepro_lint.model import Certainty
from torchrepro_lint.program import Argument, Call, Module, Program
from torchrepro_lint.program.determinism import turned_on_anywhere
from torchrepro_lint.program.environment import sets
from torchrepro_lint.program.flags import Setting, assigned, passed, state
from torchrepro_lint.program.intent import unrequested
from torchrepro_lint.program.versions import may_be
from torchrepro_lint.syntax import replace

TRITON_LANGUAGE = "triton.language"


def check(module: Module, program: Program) -> Iterator[Draft]:
    """torch.compile modes, inductor options, the benchmark limit of cuDNN, and hand-written autotuned kernels."""
    table = catalogue.table("backend_flags")
    inductor = list(chain(_modes(module, program, table), _options(module, program, table["autotune"]),
                          _variables(module, program, table["autotune"])))  # fmt: skip
    inductor = [draft for draft in inductor if not unrequested(program, draft.node, module.facts.scope_of(draft.node))]
    if inductor and not _switched_off(module, program, table["autotune"]):
        yield from inductor
    yield from _limits(module, program)
    yield from _triton(module, program, table["triton"])


def _switched_off(module: Module, program: Program, row: Mapping[str, Any]) -> bool:
    """Newer inductors do not time kernels while deterministic algorithms are on."""
    return may_be(program.torch_version, row["switched_off_by_determinism"]) and turned_on_anywhere(module, program)


def _modes(module: Module, program: Program, table: Mapping[str, Any]) -> Iterator[Draft]:
    rows = catalogue.names("backend_flags", "compile_mode")
    found = list(passed(module, rows))
    known = {id(s.node) for s in found}
    for call, scope in module.facts.calls.get("compile", ()):  # `model.compile(mode=...)`, whatever `model` is
        mode = next((k.value for k in call.keywords if k.arg == "mode"), None)
        if mode is not None and id(call) not in known and isinstance(call.func, ast.Attribute):
            found.append(Setting(call, mode, scope, scope, call=call, keyword="mode"))
    for setting in found:
        value = program.literal(setting.value, setting.value_scope)
        other = table["autotune"]["modes"].get(value) if isinstance(value, str) else None
        if other is not None:
            edits = with_value(setting, f'"{other}"')
            yield Draft(setting.node, {"written": setting.written, "other": f'"{other}"'}, edits=edits)


def _options(module: Module, program: Program, row: Mapping[str, Any]) -> Iterator[Draft]:
    for name in row["options"]:
        for setting in assigned(module, row["config"], name):
            if state(program, setting):
                yield _option(setting, name)
    for call in module.calls({"torch.compile", f"{row['config']}.patch"}):
        for name, argument in _tuned(call, program, row["options"]):
            setting = Setting(call.node, argument.node, call.scope, argument.scope, call=call.node, keyword=name)
            if state(program, setting):
                yield _option(setting, name)


def _tuned(call: Call, program: Program, names: list[str]) -> Iterator[tuple[str, Argument]]:
    """The tuning options in `options={...}`, `patch({...})` or `patch(name=...)`."""
    given: dict[str, Argument] = {}
    for mapping in (call.argument("options"), call.argument("", 0)):
        if isinstance(mapping, Argument):
            given.update(program.entries(mapping.node, mapping.scope) or {})
    given.update({k.arg: Argument(k.value, call.scope) for k in call.node.keywords if k.arg})
    yield from ((name, given[name]) for name in names if name in given)


def _option(setting: Setting, name: str) -> Draft:
    return Draft(setting.node, {"written": setting.written, "name": name}, "option", edits=with_value(setting, "False"))


def _variables(module: Module, program: Program, row: Mapping[str, Any]) -> Iterator[Draft]:
    for variable in row["variables"]:
        if variable in module.facts.source.text:
            for item in sets(program, module.facts, variable):
                if item.value == "1":
                    edits = (replace(module.facts, item.written, '"0"'),)
                    yield Draft(item.node, {"written": module.facts.text(item.node), "name": variable}, "option", edits=edits)


def _limits(module: Module, program: Program) -> Iterator[Draft]:
    for setting in assigned(module, "torch.backends.cudnn", "benchmark_limit"):
        yield Draft(setting.node, {"written": setting.written}, "limit", certainty=Certainty.DEPENDS)


def _triton(module: Module, program: Program, row: Mapping[str, Any]) -> Iterator[Draft]:
    for call in module.calls(row["names"]):
        kernel = module.facts.parents.get(call.node)
        if not isinstance(kernel, ast.FunctionDef) or _single(call, program):
            continue
        if _reduces(kernel, call.scope, program, row["reductions"]):
            yield Draft(call.node, {"kernel": kernel.name}, "triton", certainty=Certainty.DEPENDS)


def _single(call: Call, program: Program) -> bool:
    """One configuration leaves nothing to choose."""
    configs = call.argument("configs", 0)
    return isinstance(configs, Argument) and isinstance(configs.node, ast.List) and len(configs.node.elts) == 1


def _reduces(kernel: ast.FunctionDef, scope: Scope, program: Program, names: list[str]) -> bool:
    """Whether a block size can change the result: the kernel adds up over blocks."""
    inner = scope.children.get(kernel, scope)
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
        and (program.qualified(node.func.value, inner) == TRITON_LANGUAGE or dotted(node.func.value) == "tl")
        for node in ast.walk(kernel)
    )


