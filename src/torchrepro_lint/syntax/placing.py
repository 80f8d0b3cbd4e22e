"""Where a new import goes: with the others of its kind, in their order.

Kinds are those of isort: standard library, third party, the file's own project. Where a file does not keep them
apart, an import goes into the block with most of its kind that are written alike.
"""

from __future__ import annotations

import ast
import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from typing import Literal

from torchrepro_lint.index import FunctionNode, ModuleFacts, Scope
from torchrepro_lint.model import Edit, Position, Range
from torchrepro_lint.project.modules import INSTALLED
from torchrepro_lint.syntax.statements import begins_cell, is_docstring, top_line

Kind = Literal["standard", "third party", "own"]
_Import = ast.Import | ast.ImportFrom
_OF_ALL_IMPORTS = re.compile(  # a comment that heads them
    r"\s*#[\W_]*(?:(?:import|load|get|required?|needed|necessary|the|all|some|our|your|python|basic|used|these) ?)*"
    r"(?:imports?|packages|librar(?:y|ies)|modules|dependencies)[\W_]*",
    re.IGNORECASE,
)
_EXPORTS = re.compile(r"#\s*\|?\s*exports?\b")  # the first line of a cell: nbdev.fast.ai/explanations/directives.html
_OF_WHAT_FOLLOWS = re.compile(
    r"\s*#\W*(?:add|allow|append|avoid|disable|enable|ensure|fix|make|set|to|use)\b", re.IGNORECASE
)
# What may be between a file's imports: settings of the environment, of warnings, of paths, and the file's own text.
_BETWEEN = (ast.Pass, ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.Try, ast.With, ast.Import,
            ast.ImportFrom)  # fmt: skip


def new_import(facts: ModuleFacts, module: str, line: str, scope: Scope, at: ast.AST | None) -> Edit:
    """Put the import `line` where it has run before `at` in `scope` needs it: with those of the main guard, where the
    file has no others."""
    groups = _in_one_cell(facts, _groups(facts, _reach(facts, scope, at)), at)
    late = _groups(facts, _heading_guard(facts, scope, at)) if not groups else []
    edit = _placed(facts, groups or late, module, line)
    indent = " " * late[0][0].col_offset if late else ""
    return Edit(edit.path, edit.range, re.sub(r"(?m)^(?=\S)", indent, edit.text))


def _heading_guard(facts: ModuleFacts, scope: Scope, at: ast.AST | None) -> Sequence[ast.stmt]:
    """The imports at the top of the main guard around `at`."""
    if scope is not facts.scope or facts.guard is None or at is None or not facts.in_guard(at):
        return []
    return list(takewhile(lambda n: isinstance(n, _Import) and n.lineno < getattr(at, "lineno", 0), facts.guard.body))


def _placed(facts: ModuleFacts, groups: Sequence[Sequence[_Import]], module: str, line: str) -> Edit:
    kind = _kind(facts, module, 0)
    alike = [same for group in groups if (same := [n for n in group if _kind_of(facts, n) == kind])]
    if alike:
        form = ast.Import if line.startswith("import ") else ast.ImportFrom
        of_package = re.compile(rf"{re.escape(module.partition('.')[0])}\b")
        ranks = {
            id(s): (
                any(of_package.match(_key(n)) for n in s),
                not _is_named(facts, s),
                sum(isinstance(n, form) for n in s),
            )
            for s in alike
        }
        return _among(facts, max(alike, key=lambda same: ranks[id(same)]), module, line)
    if groups:
        return _apart(facts, groups, kind, line)
    return _first(facts, line)


def _is_named(facts: ModuleFacts, same: Sequence[_Import]) -> bool:
    """Whether a comment above imports names the package that they begin with: `# Import JAX`."""
    above = facts.source.line(same[0].lineno - 1) if same[0].lineno > 1 else ""
    package = _key(same[0]).partition(".")[0]
    return above.lstrip().startswith("#") and re.search(rf"\b{re.escape(package)}\b", above, re.IGNORECASE) is not None


def from_import(facts: ModuleFacts, module: str, scope: Scope, at: ast.AST | None) -> ast.ImportFrom | None:
    """The import of names from `module` that has run before `at`, if there is one; of a notebook the nearest."""
    for node in _reach(facts, scope, at)[:: -1 if facts.source.cells else 1]:
        if isinstance(node, ast.ImportFrom) and (node.module, node.level) == (module, 0) and node.names[0].name != "*":
            return node
    return None


def also_imported(facts: ModuleFacts, node: ast.ImportFrom, name: str) -> Edit:
    """Add a name to those that `node` imports: in order, where they are."""
    names = [alias.name for alias in node.names]
    order = next((o for o in _ORDERS if sorted(names, key=o) == names), None)
    after = next((a for a in node.names if order and order(a.name) > order(name)), None)
    between = ", "
    if len(node.names) > 1:
        between = facts.source.slice(Range(facts.range(node.names[0]).end, facts.range(node.names[1]).start))
    if "#" in between or "\\" in between:
        between = ", "
    place = facts.range(after).start if after is not None else facts.range(node.names[-1]).end
    text = f"{name}{between}" if after is not None else f"{between}{name}"
    return Edit(facts.source.rel, Range(place, place), text)


def _by_case(name: str) -> tuple[int, str]:
    """As isort does: constants, classes, functions."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2, name)


def _by_letter(name: str) -> tuple[int, str]:
    return 0, name.lower()


_ORDERS = (_by_case, _by_letter)


def is_for_typing(node: ast.AST | None) -> bool:
    """Whether this is an `if TYPE_CHECKING:`, whose imports never run."""
    return isinstance(node, ast.If) and ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING"


# -- the imports there are ------------------------------------------------------------------------------------
def _reach(facts: ModuleFacts, scope: Scope, at: ast.AST | None) -> Sequence[ast.stmt]:
    """The top of the file that has run before `at`; of a script up to the first definition at most."""
    body = facts.tree.body
    is_cell = bool(facts.source.cells) and scope.function.kind == "module" and at is not None
    heads = (i for i, n in enumerate(body) if not isinstance(n, _BETWEEN) or n is facts.guard)
    end = len(body) if is_cell else next(heads, len(body))
    if scope.function.kind == "module":
        line = getattr(at, "lineno", 0)
        early = (i for i, n in enumerate(body) if (n.end_lineno or 0) >= line)
        first = (i for i, n in enumerate(body) if not isinstance(n, _Import) and not is_docstring(n))
        end = min(end, next(early if at is not None else first, len(body)))
    return body[:end]


def _groups(facts: ModuleFacts, statements: Sequence[ast.stmt]) -> list[list[_Import]]:
    """A block of imports, without those from `__future__`."""
    groups: list[list[_Import]] = []
    end = -1
    for node in statements:
        if isinstance(node, _Import) and not _is_future(node):
            apart = any(not facts.source.line(n).strip() for n in range(end + 1, node.lineno))
            if end < 0 or apart or begins_cell(facts, node.lineno):
                groups.append([])
            groups[-1].append(node)
            end = node.end_lineno or node.lineno
        else:
            end = -1
    return groups


def _in_one_cell(facts: ModuleFacts, groups: list[list[_Import]], at: ast.AST | None) -> list[list[_Import]]:
    """Those in the cell with most of them, of several that of `at`, else the first; all of them in a script. What nbdev
    makes a module of is for that."""
    tops = [first for first, _ in facts.source.cells]
    exported = {n for n, first in enumerate(tops, 1) if _EXPORTS.match(facts.source.line(first))}
    groups = [g for g in groups if bisect_right(tops, g[0].lineno) not in exported] or groups
    cells = [bisect_right(tops, group[0].lineno) for group in groups]
    own = bisect_right(tops, getattr(at, "lineno", 0))
    sizes = Counter(dict.fromkeys(sorted(cells, key=lambda cell: (cell != own, cell)), 0))
    for cell, group in zip(cells, groups, strict=True):
        sizes[cell] += len(group)
    wanted = next((cell for cell, _ in sizes.most_common(1)), 0)
    return [group for group, cell in zip(groups, cells, strict=True) if cell == wanted]


def _kind_of(facts: ModuleFacts, node: _Import) -> Kind:
    if isinstance(node, ast.ImportFrom):
        return _kind(facts, node.module or "", node.level)
    return _kind(facts, node.names[0].name, 0)


def _kind(facts: ModuleFacts, module: str, level: int) -> Kind:
    top = module.partition(".")[0]
    if level or (top in facts.source.rel.split("/")[:-1] and top not in INSTALLED):
        return "own"
    if top in sys.stdlib_module_names:
        return "standard"
    return "own" if facts.is_own(top) or facts.is_own(module) else "third party"


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _key(node: _Import) -> str:
    return (node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name).lower()


# -- the place ------------------------------------------------------------------------------------------------
def _among(facts: ModuleFacts, same: Sequence[_Import], module: str, line: str) -> Edit:
    """Beside others of its kind: in order among the plain imports that lead them, or among all where all are in
    order; a plain import leads those `from` a module, of which one stands with others of its package."""
    key, plain = module.lower(), line.startswith("import ")
    head: list[_Import] = [n for n in same if isinstance(n, ast.Import)] if plain else list(same)
    leading = next((i for i, n in enumerate(same) if isinstance(n, ast.Import) is not plain), len(same))
    mixed = len(head) > leading and [_key(n) for n in same] == sorted(_key(n) for n in same)
    siblings = [n for n in same if isinstance(n, ast.ImportFrom) and _key(n).partition(".")[0] == key.partition(".")[0]]
    if not plain and not mixed and siblings:
        head = list[_Import](siblings)
    elif plain and not mixed:
        head = list(same[:leading])
    elif mixed:
        head = list(same)
    after = next((n for n in head if _key(n) > key or (mixed and plain and _key(n) == key)), None)
    if after is None and head and not _is_used_below(facts, head[-1]):
        return _below(facts, head[-1], line)
    below = after or same[0]
    above, further = (facts.source.line(below.lineno - n) if below.lineno > n else "" for n in (1, 2))
    if _OF_WHAT_FOLLOWS.match(above) and not further.lstrip().startswith("#"):
        at = Position(below.lineno - 1, 1)
        return Edit(facts.source.rel, Range(at, at), line + facts.source.newline * 2)
    return _above(facts, below, line)


def _is_used_below(facts: ModuleFacts, node: _Import) -> bool:
    """Whether the line right below an import is no import: `import matplotlib`, `matplotlib.use("Agg")`."""
    body = facts.tree.body
    below = body[body.index(node) + 1] if node in body[:-1] else None
    return below is not None and not isinstance(below, _Import) and below.lineno == (node.end_lineno or 0) + 1


def _apart(facts: ModuleFacts, groups: Sequence[Sequence[_Import]], kind: Kind, line: str) -> Edit:
    """On its own, between the standard library and the project."""
    newline = facts.source.newline
    before = [n for group in groups for n in group if kind != "standard" and _kind_of(facts, n) == "standard"]
    if kind == "own":
        before = [n for group in groups for n in group]
    if not before:
        top = top_line(facts, groups[0][0])
        heads_all = begins_cell(facts, top) or _OF_ALL_IMPORTS.fullmatch(facts.source.line(top)) is not None
        return _above(facts, groups[0][0], line + newline, comments=not heads_all)
    group = next(g for g in groups if before[-1] in g)
    return _below(facts, before[-1], line, blank=before[-1] is group[-1])


def _first(facts: ModuleFacts, line: str) -> Edit:
    """The only import of the file: below its docstring, else above its first statement."""
    body, newline = facts.tree.body, facts.source.newline
    heads = [n for n in body if _is_future(n) or (n is body[0] and is_docstring(n))]
    if not heads:
        return _above_all(facts, body[0], line)
    follows = facts.source.line((heads[-1].end_lineno or 0) + 1) if heads[-1] is not body[-1] else ""
    return _below(facts, heads[-1], line + (newline if follows.strip() else ""), blank=True)


def _above_all(facts: ModuleFacts, node: ast.stmt, line: str) -> Edit:
    """Above the first statement of a file, and the blank lines between it and what heads the file."""
    newline, number = facts.source.newline, top_line(facts, node)
    tops = {1, *(first for first, _ in facts.source.cells)}
    top = number
    while top not in tops and not facts.source.line(top - 1).strip():
        top -= 1
    if top < number:
        text = f"{'' if top in tops else newline}{line}{newline}"
    else:
        text = line + newline * (3 if isinstance(node, FunctionNode | ast.ClassDef) else 2)
    return Edit(facts.source.rel, Range(Position(top, 1), Position(top, 1)), text)


def _above(facts: ModuleFacts, node: ast.stmt, line: str, *, comments: bool = False) -> Edit:
    """On a line above `node`; with `comments` above those that belong to it."""
    number = top_line(facts, node) if comments else (getattr(node, "decorator_list", None) or [node])[0].lineno
    at = Position(number, 1)
    return Edit(facts.source.rel, Range(at, at), line + facts.source.newline)


def _below(facts: ModuleFacts, node: ast.stmt, line: str, *, blank: bool = False) -> Edit:
    newline = facts.source.newline
    end = facts.range(node).end
    whole = facts.source.line(end.line)
    rest = whole[end.column - 1 :].lstrip()
    if rest and not rest.startswith("#"):  # `import a; x = 1`
        return Edit(facts.source.rel, Range(end, end), f"; {line.strip()}")
    at = Position(end.line, len(whole) + 1)
    return Edit(facts.source.rel, Range(at, at), f"{newline}{newline if blank else ''}{line}")
