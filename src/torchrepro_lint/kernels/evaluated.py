"""Whether a file belongs to programs that only evaluate, in a project in which others train.

Goes by imports and by words in the text: no gradient flows in what neither a training program nor anything that one
imports can reach. Where it cannot be told, the file may be trained.
"""

from __future__ import annotations

import re
from pathlib import Path

from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.store import remembered_of_texts

MAX_PROGRAMS = 64
_TRAINS = re.compile(rb"\.backward\(|autograd\.grad\b|zero_grad\(|training_step|train_step|\.fit\(|Trainer\b")
_LOOPS = (".backward(", "zero_grad(", ".fit(")  # of scripts without a guard, too
_BY_NAME = ("import_module", "__import__", "instantiate")  # what these reach is in no import


def only_evaluated(path: Path, program: Program) -> bool:
    """Whether programs use the file `path`, and none of them trains or imports what does."""
    return path in _only_evaluated(program)


def imports_by_name(program: Program) -> bool:
    """Whether the project may import modules, or make objects, by names that only exist at run time."""
    return any(program.project.text.containing(word) for word in _BY_NAME)


@remembered_of_texts
def _only_evaluated(program: Program) -> frozenset[Path]:
    """The files that evaluating programs import, without those that a training one reaches, too."""
    starts = program.project.text.containing("__main__") or ()
    if len(starts) > MAX_PROGRAMS or imports_by_name(program):
        return frozenset()
    evaluated: set[Path] = set()
    trained: set[Path] = set()
    for start in starts:
        reached = program.project.reachable(start)
        if any(program.project.text.has(file, _TRAINS) for file in reached):
            trained |= reached
        else:
            evaluated |= reached - {start}
    loops = [path for word in _LOOPS for path in program.project.text.containing(word) or ()] if evaluated else []
    if not loops:
        return frozenset()  # a library's models: somebody else trains them
    return frozenset(evaluated.difference(trained, *(program.project.reachable(path) for path in loops)))
