"""Whether a file belongs to programs that only evaluate, in a project in which others train.

Goes by imports and by words in the text: no gradient flows in what neither a training program nor anything that one
imports can reach. Where it cannot be told, the file may be trained.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from torchrepro_lint.program.importers import MAX_USERS
from torchrepro_lint.program.program import Program

_TRAINS = re.compile(
    rb"\.backward\(|autograd\.grad\b|zero_grad\(|training_step|train_step|\.fit\(|Trainer\b|import_module|__import__"
)
_STARTS = "__main__"


@lru_cache(maxsize=16)
def only_evaluated(path: Path, program: Program) -> bool:
    """Whether programs use the file `path`, and none of them trains or imports what does."""
    if not program.text.any_match(_TRAINS):
        return False
    users = program.users([path])
    if len(users) >= MAX_USERS or not any(_STARTS in program.text.of(user) for user in users):
        return False
    reached = {file for user in (path, *users) for file in program.reachable(user)}
    reached |= {folder / "__init__.py" for folder in path.parents}  # which may import it by its file's name
    return not any(_TRAINS.search(program.text.of(file).encode()) for file in reached)
