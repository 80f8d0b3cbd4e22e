"""How a fix gives a back-end switch another value at the place that sets it."""

from __future__ import annotations

import ast

from torchrepro_lint.model import Edit, Range
from torchrepro_lint.program.kernels.flags import Setting
from torchrepro_lint.syntax import insert_before, replace


def with_value(setting: Setting, text: str) -> tuple[Edit, ...]:
    """Set the switch to `text`; what is assigned along with it (`a.x = a.y = True`) keeps its value."""
    facts, statement = setting.facts, setting.statement
    if setting.value_scope.facts is not facts:
        return ()  # the value is written in another file, where it may serve others
    if setting.target is None or not isinstance(statement, ast.Assign) or len(statement.targets) == 1:
        return (replace(facts, setting.value, text),)
    if setting.target not in statement.targets:
        return ()
    index = statement.targets.index(setting.target)
    following = [*statement.targets, statement.value][index + 1]
    gone = Range(facts.range(setting.target).start, facts.range(following).start)
    line = f"{facts.text(setting.target)} = {text}"
    return insert_before(facts, statement, line), Edit(facts.source.rel, gone, "")
