"""Whether a program turns PyTorch's deterministic algorithms on, and where.

Follows the calls listed in the catalogue. Knows nothing of what should follow from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.calls import Module
from torchrepro_lint.dataflow.enclosing import cleans_up
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.kernels.flags import Setting, passed
from torchrepro_lint.project.unknown import UNKNOWN

MAX_FILES = 40


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
            is_on = any(value == v and type(value) is type(v) for v in row["on"])
            if value is UNKNOWN:
                yield setting, False
            elif is_on and setting.place >= ends.get(setting.scope.function, setting.place):
                yield setting, True


def _restores(setting: Setting, value: object) -> bool:
    """Whether a call in a function sets back what the function found, as one does who needs the mode for a while."""
    if setting.scope.function.kind != "function":
        return False
    return value is UNKNOWN or cleans_up(setting.node, setting.scope)


def turned_on_anywhere(module: Module, program: Program, *, inductor: bool = False) -> bool:
    """Whether this file or another one of the project turns the mode on, or may."""
    if any(True for _ in turned_on(module, inductor=inductor)):
        return True
    words = ("use_deterministic_algorithms", "set_deterministic_debug_mode", "deterministic=True")
    paths = {p for word in words for p in program.project.text.containing(word) or ()}
    for path in sorted(paths - {Path(module.facts.source.path)})[:MAX_FILES]:
        facts = program.load(str(path))
        if facts is not None and any(True for _ in turned_on(Module(facts, program), inductor=inductor)):
            return True
    return False
