"""Comments that say that something is as it is on purpose: that runs differ, or the order in which items come. Who
writes that knows of the alternative, so that a fix is for a person to ask for.
"""

from __future__ import annotations

import ast
import re

from torchrepro_lint.dataflow import remembered_in_file
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.syntax import top_line

_ON_PURPOSE = (
    r"(?i)\b(?:on purpose\b|purposely\b|intention|deliberate|(?:do not|don't|not to be|never|no need to) (?:sort|seed)"
    r"|same order\b|(?:no|not|without) set_epoch)"
)
# Of whole programs; each part is within one sentence of one line.
_RUNS = r"(?:each|every) (?:single |new )?run\b"
_DRAWN = r"(?:split|seed|initiali|weight|model|order|sample|number|random)"
_RUNS_DIFFER = (
    rf"(?i)\b{_RUNS}[^.\n]{{0,40}}\b(?:(?:should|must|is to) differ|differs|(?:an?other|different|new) {_DRAWN})"
    rf"|\b(?:an?other|new|different) {_DRAWN}[^.\n]{{0,30}}\b{_RUNS}"
    r"|\bwithout (?:a |any )?(?:fixed |random )?seed\b|\bno fixed seed\b|\bnot seeded\b"
    r"|\bdo(?: not|n't) (?:set|fix) (?:a|the) seed\b|\brandom\w*[^.\n]{0,30} on purpose\b"
    r"|\b(?:deliberate|intentional)(?:ly)? (?:random|unseeded|non-?determin|not (?:seed|reproduc|repeat))"
)


def is_on_purpose(facts: ModuleFacts, node: ast.AST) -> bool:
    """Whether a comment above the statement of `node`, or behind its first line or that of `node`, says so."""
    lines = lines_on_purpose(facts)
    if not lines:
        return False
    statement = facts.statement(node)
    places = [*range(top_line(facts, statement), statement.lineno + 1), getattr(node, "lineno", statement.lineno)]
    return not lines.isdisjoint(places)


@remembered_in_file
def lines_on_purpose(facts: ModuleFacts) -> frozenset[int]:
    """The lines of a file whose comment says so."""
    if not facts.source.matches(_ON_PURPOSE):
        return frozenset()
    lines = enumerate(facts.source.lines(), 1)
    return frozenset(n for n, line in lines if re.search(_ON_PURPOSE, line.partition("#")[2]) is not None)


def are_runs_to_differ(facts: ModuleFacts) -> bool:
    """Whether a file says of its program that runs are to differ: "every run starts from new random weights"."""
    return facts.source.matches(_RUNS_DIFFER)
