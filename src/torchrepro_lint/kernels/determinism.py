"""Whether a program turns PyTorch's deterministic algorithms on, and where.

Follows the calls listed in the catalogue. Knows nothing of what should follow from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.calls import Module
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.kernels.flags import Setting, passed
from torchrepro_lint.project.unknown import UNKNOWN

MAX_FILES = 40


def turned_on(module: Module, *, inductor: bool = False) -> Iterator[tuple[Setting, bool]]:
    """The calls in a file that turn the mode on (with `inductor`, only those that inductor heeds too);
    False where that depends on a value that the run decides."""
    for row in catalogue.table("backend_flags")["turns_on"]:
        if inductor and not row["inductor"]:
            continue
        for setting in passed(module, dict.fromkeys(row["names"], row)):
            value = module.program.literal(setting.value, setting.value_scope)
            if value is UNKNOWN or any(value == v and type(value) is type(v) for v in row["on"]):
                yield setting, value is not UNKNOWN


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
