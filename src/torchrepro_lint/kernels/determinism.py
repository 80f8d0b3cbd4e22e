"""Whether a program turns PyTorch's deterministic algorithms on, where, and whether strictly or with warnings only.

Follows the calls listed in the catalogue. What a program asks for by default does not count calls that only an option
leads to, or that nobody in the project makes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import UNKNOWN, Module, Program, remembered
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.enclosing import ancestors, cleans_up
from torchrepro_lint.dataflow.reachability import comes_out
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.kernels.flags import Setting, passed
from torchrepro_lint.kernels.operations import is_one_of
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.project.entries import files_of_programs

Flag = Literal["strict", "lenient"]
FLAGS: tuple[Flag, ...] = ("strict", "lenient")
MAX_FILES = 40
_WORDS = ("use_deterministic_algorithms", "set_deterministic_debug_mode", "enable_full_determinism", "deterministic=")


def turned_on(module: Module, *, inductor: bool = False) -> Iterator[tuple[Setting, bool]]:
    """The calls in a file that turn the mode on (with `inductor`, only those that inductor heeds too), and leave it
    on; False where that depends on a value that the run decides."""
    for row in catalogue.table("backend_flags")["turns_on"]:
        if inductor and not row["inductor"]:
            continue
        settings = list(passed(module, dict.fromkeys(row["names"], row)))
        values = [(s, module.program.literal(s.value, s.value_scope)) for s in settings]
        ends = {s.scope.function: s.place for s, value in values if _restores(s, value)}
        for setting, value in values:
            if value is UNKNOWN:
                yield setting, False
            elif is_one_of(value, row["on"]) and setting.place >= ends.get(setting.scope.function, setting.place):
                yield setting, True


def _restores(setting: Setting, value: object) -> bool:
    """Whether a function that needs another mode for a while sets back what it found."""
    if setting.scope.function.kind != "function":
        return False
    return value is UNKNOWN or cleans_up(setting.node, setting.scope)


def turned_on_anywhere(module: Module, program: Program, *, inductor: bool = False) -> bool:
    """Whether this file or another one of the project turns the mode on, or may."""
    if any(turned_on(module, inductor=inductor)):
        return True
    words = ("use_deterministic_algorithms", "set_deterministic_debug_mode", "deterministic=True")
    paths = {p for word in words for p in program.project.text.containing(word) or ()}
    files = program.loaded(sorted(paths - {module.facts.source.path})[:MAX_FILES])
    others = (Module(facts, program) for facts in files)
    return any(any(turned_on(other, inductor=inductor)) for other in others)


# -- strictly or not ---------------------------------------------------------------------------------------------------
@remembered
def requested(asking: ModuleFacts, program: Program) -> Flag | None:
    """What a file asks for, or another one of the programs that run it; of code that no program in sight runs, any
    file of the project. What a test asks for holds for tests alone."""
    own = asking.source.path
    paths = {path for word in _WORDS for path in program.project.text.containing(word) or ()}
    if paths and not is_test(asking):
        paths &= files_of_programs(asking, program.project) or paths
    files = list(program.loaded(sorted({own, *paths})[:MAX_FILES]))
    counted = files if is_test(asking) else [facts for facts in files if not is_test(facts)]
    return _strictest({_requested_in(facts, program) for facts in counted})


def _strictest(flags: set[Flag | None]) -> Flag | None:
    return "strict" if "strict" in flags else "lenient" if "lenient" in flags else None


@remembered
def _requested_in(facts: ModuleFacts, program: Program) -> Flag | None:
    module = Module(facts, program)
    settings = [setting for setting, known in turned_on(module) if known]
    found: set[Flag | None] = {_kind(s, program) for s in settings if _runs_by_default(s.node, s.scope, program)}
    return _strictest(found.union(_through_frameworks(module, program)))


def _through_frameworks(module: Module, program: Program) -> Iterator[Flag]:
    for row in catalogue.table("strictness")["asks"]:
        for call in module.calls(row["names"]):
            value = call.literal(row["argument"], row.get("position"), row.get("default"))
            asked = next((flag for flag in FLAGS if is_one_of(value, row[flag])), None)
            if asked is not None and _runs_by_default(call.node, call.scope, program):
                yield asked


def _kind(setting: Setting, program: Program) -> Flag:
    keywords = setting.call.keywords if setting.call is not None else []
    warns = any(k.arg == "warn_only" and program.literal(k.value, setting.scope) in (True, UNKNOWN) for k in keywords)
    mode = program.literal(setting.value, setting.value_scope)
    return "lenient" if warns or mode == "warn" or (mode == 1 and mode is not True) else "strict"


def _runs_by_default(node: ast.AST, scope: Scope, program: Program) -> bool:
    """Whether nothing keeps the program from getting there: no branch of unknown outcome, and somebody calls the
    function."""
    around = set(ancestors(node, scope))
    if not all(comes_out(c, scope, program) for c in conditions(node, scope) if c.owner in around):
        return False
    function = scope.function
    if function.kind != "function" or function.own_name in ("main", "__init__"):
        return True
    return bool(program.callers_of(function))
