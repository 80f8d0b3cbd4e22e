"""The fix of TRP202: a function that seeds in each worker what PyTorch does not seed there by itself.

All loaders of a file share one such function, and so do files that import from one another.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from itertools import islice

from torchrepro_lint.dataflow import Call, Program, remembered
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.loading.worker_calls import WorkerDraw
from torchrepro_lint.model import Edit, Position, Range
from torchrepro_lint.syntax import Import, also_imported, import_module, indentation, top_line, with_argument

MAX_BESIDE = 24  # files of a folder that are asked whether they need the same function
_NAME = "seed_worker"
_UTILITY = re.compile(
    r"(?:(?:train|training|data|dataset|torch|general|my|loader)_)?(?:utils?|misc|helpers?|common|tools|seed|seeds|seeding|random|reproducib\w+)"
)
_KNOWN = re.compile(
    r"_*(?:seed_(?:data)?(?:loader_)?workers?|(?:seed_)?workers?_(?:init|seed)(?:_fn)?|set_worker_seed)"
)


def seeded_workers(
    call: Call, first: Call, program: Program, first_of: Callable[[ModuleFacts], Call | None]
) -> tuple[Edit, ...]:
    """Pass a `worker_init_fn` that seeds numpy: one that the file has or can import, else a new one above its `first`
    loader.

    The place of a new one is a module of the project that is for such things, if the file imports names from one; or
    the file that it imports names from and that needs one as well, where `first_of` finds a loader.
    """
    facts = call.facts
    used = _known(facts, program) or _importable(facts, program)
    if used is None and _NAME not in facts.scope.bindings:
        used = _shared(facts, program, first_of) or Import(_NAME, _definition(facts, _top(first)))
    if used is None:
        return ()
    return (with_argument(facts, call.node, "worker_init_fn", used.text, program.project.style), *used.edits)


def is_for_several(
    facts: ModuleFacts, edits: Sequence[Edit], program: Program, first_of: Callable[[ModuleFacts], Call | None]
) -> bool:
    """Whether a new function in a file would be one of several alike: where others of its folder need one as well, a
    person says where they share it."""
    if not _defines(facts, edits):
        return False
    own = facts.source.path
    paths = (p for p in program.project.text.containing("Loader") or () if p.parent == own.parent and p != own)
    return any(first_of(other) is not None for other in program.loaded(islice(paths, MAX_BESIDE)))


def is_out_of_reach(facts: ModuleFacts, edits: Sequence[Edit]) -> bool:
    """Whether the fix defines a function in a notebook: workers that are not forked cannot import it from there."""
    return facts.source.kind == "notebook" and _defines(facts, edits)


def _defines(facts: ModuleFacts, edits: Sequence[Edit]) -> bool:
    return any(edit.path == facts.source.rel and "def " in edit.text for edit in edits)


def _shared(facts: ModuleFacts, program: Program, first_of: Callable[[ModuleFacts], Call | None]) -> Import | None:
    """The new function of a file from which this one imports names; nothing where this is a place for such things."""
    if _UTILITY.fullmatch(facts.source.path.stem):
        return None
    found = [(n, home) for n, home in homes(facts, program) if _NAME not in home.scope.bindings]
    for node, home in found:
        if _UTILITY.fullmatch(home.source.path.stem):
            need = first_of(home)
            above = _top(need) if need is not None else home.guard
            return Import(_NAME, (*_definition(home, above), also_imported(facts, node, _NAME)))
    for node, home in found:
        need = first_of(home)
        if need is not None and not any(first_of(other) for _, other in homes(home, program)):
            return Import(_NAME, (*_definition(home, _top(need)), also_imported(facts, node, _NAME)))
    return None


def _definition(facts: ModuleFacts, above: ast.stmt | None) -> tuple[Edit, ...]:
    """The new function, above a top-level statement or at the end of the file."""
    at = above if above is not None else facts.tree.body[-1]
    torch, numpy = (import_module(facts, name, at=at) for name in ("torch", "numpy"))
    lines = [f"{numpy.text}.random.seed({torch.text}.initial_seed() % 2**32)"]
    place = _above(facts, above, _NAME, lines) if above is not None else _at_end(facts, _NAME, lines)
    return (place, *dict.fromkeys((*torch.edits, *numpy.edits)))


def _at_end(facts: ModuleFacts, name: str, body: Sequence[str]) -> Edit:
    """A new function after the last statement of a file."""
    end = facts.range(facts.tree.body[-1]).end
    lines = ["", "", "", *_function(facts, name, body)]
    return Edit(facts.source.rel, Range(end, end), facts.source.newline.join(lines))


def renewed_generator(call: Call, first: Call, holder: str, draw: WorkerDraw, renewed: str) -> tuple[Edit, ...]:
    """Give each worker its own generator in place of the copy that its data set holds.

    `holder` leads from the worker's information to the data set: `.dataset`, or `.dataset.dataset` of a subset.
    """
    facts = call.facts
    assert draw.made is not None
    name = f"seed_{draw.attribute.strip('_') or 'generator'}"
    if name in facts.scope.bindings:
        return ()
    top = _top(first)
    torch = import_module(facts, "torch", at=top)
    assert isinstance(draw.made.callee, str)
    module, _, last = draw.made.callee.rpartition(".")
    home = import_module(facts, module.partition(".")[0], at=top)
    made = ".".join((home.text, *module.split(".")[1:], last))
    value = renewed.format(make=made, seed=f"{torch.text}.initial_seed()")
    data = f"{torch.text}.utils.data.get_worker_info(){holder}"
    place = _above(first.facts, top, name, [f"{data}.{draw.attribute} = {value}"])
    passed = with_argument(facts, call.node, "worker_init_fn", name, call.program.project.style)
    return (place, passed, *dict.fromkeys((*torch.edits, *home.edits)))


@remembered
def _known(facts: ModuleFacts, program: Program) -> Import | None:
    """A function of the file, or imported into it, that is meant for this."""
    for name, bindings in facts.scope.bindings.items():
        if len(bindings) == 1 and _KNOWN.fullmatch(name) and bindings[0].kind in ("function", "import"):
            target = program.names.lookup(name, facts.scope)
            if isinstance(target, Scope) and _seeds_numpy(target.facts, target.node):
                return Import(name)
    return None


@remembered
def _importable(facts: ModuleFacts, program: Program) -> Import | None:
    """One of a module from which the file imports names already, so that one more can do no harm."""
    for node, home in homes(facts, program):
        for name, made in home.scope.bindings.items():
            is_one = len(made) == 1 and made[0].kind == "function" and _KNOWN.fullmatch(name)
            if is_one and _seeds_numpy(home, made[0].node) and name not in facts.scope.bindings:
                return Import(name, (also_imported(facts, node, name),))
    return None


@remembered
def homes(facts: ModuleFacts, program: Program) -> list[tuple[ast.ImportFrom, ModuleFacts]]:
    """The project's modules from which a file imports names, and which do not come back to it."""
    found_in: list[tuple[ast.ImportFrom, ModuleFacts]] = []
    for node in facts.tree.body:
        if isinstance(node, ast.ImportFrom) and node.names[0].name != "*":
            found = program.project.finder.find(node.module or "", node.level, str(facts.source.path))
            home = program.load(found[0]) if found is not None and not found[1] else None
            if home is not None and facts.source.path not in program.project.reachable(home.source.path):
                found_in.append((node, home))
    return found_in


def _seeds_numpy(facts: ModuleFacts, node: ast.AST) -> bool:
    """Whether a definition is one of a function that takes one argument and seeds numpy."""
    if not isinstance(node, ast.FunctionDef) or not re.search(r"\bn(?:um)?py?\.random\.seed\(", facts.text(node)):
        return False
    positional = node.args.posonlyargs + node.args.args
    required = len(positional) - len(node.args.defaults)
    return required <= 1 <= len(positional) and not any(d is None for d in node.args.kw_defaults)


def _top(call: Call) -> ast.stmt:
    """The top-level statement that the call is part of."""
    return next(n for n in (call.node, *call.facts.ancestors(call.node)) if n in call.facts.tree.body)


def _above(facts: ModuleFacts, statement: ast.stmt, name: str, body: Sequence[str]) -> Edit:
    """A new function above a top-level statement and the comments that belong to it."""
    line = top_line(facts, statement)
    tops = {1, *(first for first, _ in facts.source.cells)}
    blank = 0
    while line - blank not in tops and not facts.source.line(line - blank - 1).strip():
        blank += 1
    missing = 0 if line - blank in tops else max(0, 2 - blank)
    lines = [*[""] * missing, *_function(facts, name, body), "", "", ""]
    return Edit(facts.source.rel, Range(Position(line, 1), Position(line, 1)), facts.source.newline.join(lines))


def _function(facts: ModuleFacts, name: str, body: Sequence[str]) -> list[str]:
    return [f"def {name}(worker_id):", *(indentation(facts) + line for line in body)]
