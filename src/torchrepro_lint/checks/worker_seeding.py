"""The fix of TRP202: a function that seeds each worker from the loader's own generator, put above the first use.

All loaders of a file share one such function, so what it seeds is what any of them needs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence

from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.model import Edit, Position, Range
from torchrepro_lint.program import Call, Program
from torchrepro_lint.program.data.worker_calls import WorkerDraw
from torchrepro_lint.syntax import Import, also_imported, import_module, indentation, top_line, with_argument

_NAME = "seed_worker"
_KNOWN = re.compile(
    r"_*(?:seed_(?:data)?(?:loader_)?workers?|(?:seed_)?workers?_(?:init|seed)(?:_fn)?|set_worker_seed)"
)


def seeded_workers(call: Call, first: Call, families: Collection[str], program: Program) -> tuple[Edit, ...]:
    """Pass a `worker_init_fn` that seeds `families`: one that the file has, else a new one above `first`."""
    facts = call.facts
    known = _known(facts, program) or _importable(facts, program)
    if known is not None:
        return (with_argument(facts, call.node, "worker_init_fn", known.text), *known.edits)
    if not families or _NAME in facts.scope.bindings:
        return ()
    top = _top(first)
    torch = import_module(facts, "torch", at=top)
    lines = [f"worker_seed = {torch.text}.initial_seed() % 2**32"]
    needed = [torch]
    for family, module, seeding in (("numpy", "numpy", "random.seed"), ("python", "random", "seed")):
        if family in families:
            needed.append(import_module(facts, module, at=top))
            lines.append(f"{needed[-1].text}.{seeding}(worker_seed)")
    return _inserted(call, first, _NAME, lines, needed)


def renewed_generator(call: Call, first: Call, holder: str, draw: WorkerDraw, renewed: str) -> tuple[Edit, ...]:
    """Give each worker a generator of its own in place of the copy that its data set holds.

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
    return _inserted(call, first, name, [f"{data}.{draw.attribute} = {value}"], [torch, home])


def _known(facts: ModuleFacts, program: Program) -> Import | None:
    """A function of the file, or imported into it, that is meant for this."""
    for name, bindings in facts.scope.bindings.items():
        if len(bindings) == 1 and _KNOWN.fullmatch(name) and bindings[0].kind in ("function", "import"):
            target = program.names.lookup(name, facts.scope)
            if isinstance(target, Scope) and _takes_one(target.node):
                return Import(name)
    return None


def _importable(facts: ModuleFacts, program: Program) -> Import | None:
    """One of a module from which the file imports names already, so that one more can do no harm."""
    for node in facts.tree.body:
        if not isinstance(node, ast.ImportFrom) or node.names[0].name == "*":
            continue
        found = program.finder.find(node.module or "", node.level, str(facts.source.path))
        home = program.load(found[0]) if found is not None and not found[1] else None
        for name, made in home.scope.bindings.items() if home is not None else ():
            is_one = len(made) == 1 and made[0].kind == "function" and _KNOWN.fullmatch(name)
            if is_one and _takes_one(made[0].node) and name not in facts.scope.bindings:
                return Import(name, (also_imported(facts, node, name),))
    return None


def _takes_one(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return False
    positional = node.args.posonlyargs + node.args.args
    required = len(positional) - len(node.args.defaults)
    return required <= 1 <= len(positional) and not any(d is None for d in node.args.kw_defaults)


def _inserted(call: Call, first: Call, name: str, body: Sequence[str], imports: Sequence[Import]) -> tuple[Edit, ...]:
    edits = {edit: None for used in imports for edit in used.edits}
    place = _above(first.facts, _top(first), name, body)
    return (place, with_argument(call.facts, call.node, "worker_init_fn", name), *edits)


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
    newline = facts.source.newline
    indent = indentation(facts)
    lines = ["" for _ in range(missing)] + [
        f"def {name}(worker_id):",
        *(indent + b for b in body),
        "",
        "",
        "",
    ]
    return Edit(facts.source.rel, Range(Position(line, 1), Position(line, 1)), newline.join(lines))
