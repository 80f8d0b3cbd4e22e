"""The fix of TRP101: a seed call at the top of the program, or directly below the arguments that hold its seed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchrepro_lint.index import FunctionNode
from torchrepro_lint.rng.own_seed import Seeds
from torchrepro_lint.syntax import import_name, insert_after, insert_before, insert_first, is_docstring, top_line

if TYPE_CHECKING:
    from torchrepro_lint.dataflow.program import Program
    from torchrepro_lint.index import ModuleFacts, Scope
    from torchrepro_lint.model import Edit
    from torchrepro_lint.rng.own_seed import OwnSeed
    from torchrepro_lint.seeding.seeding import Seeding, Witness


def top_statement(owner: ast.AST, witness: Witness, scope: Scope) -> ast.stmt | None:
    """The statement in the body of `owner` that contains the first step of the chain written in `scope`."""
    body: list[ast.stmt] = getattr(owner, "body", [])
    step = next((s for s in witness.chain if s.scope.function is scope), None)
    if step is None:
        return None
    line = step.node.lineno  # type: ignore[attr-defined]
    return next((n for n in body if n.lineno <= line <= (n.end_lineno or 0)), None)


def seed_edits(program: Program, seeding: Seeding, witness: Witness, call: str) -> tuple[Edit, ...]:
    """Seed with `call` at the top of the program, with the program's seed where one is in scope before the draw."""
    facts, guard = seeding.entry.facts, seeding.entry.facts.guard
    if witness.process is not None:
        return _in_process(program, witness.process, call)
    command = seeding.entry.function
    for step in witness.chain[:1] if command is not None else witness.chain[1:2]:  # in main(), below its arguments
        main = step.scope.function
        statement = top_statement(main.node, witness, main)
        own = Seeds(program).found(main, statement) if statement is not None and main.kind == "function" else None
        if own is not None:
            return _below_seed(main, call, own, main.node)
    if command is not None:
        return _at_top(command, call, str(program.project.seed), command.node)
    top = top_statement(facts.tree, witness, facts.scope)
    if guard is not None and (top is None or top is guard):
        inner = top_statement(guard, witness, facts.scope)
        own = Seeds(program).found(facts.scope, inner) if inner is not None else None
        if own is not None:
            return _below_seed(facts.scope, call, own, guard)
        return _at_top(facts.scope, call, str(program.project.seed), guard)
    if top is None or (facts.statement(witness.chain[0].node) is not top and isinstance(top, ast.Import)):
        return ()
    top = _before_choice(seeding, witness, top)
    own = Seeds(program).found(facts.scope, top)
    if own is not None and own.is_parsed and isinstance(own.binding.node, ast.stmt):
        return _after(facts.scope, call, own.text, own.binding.node)
    name = import_name(facts, call, facts.scope, top)
    seed = own.text if own is not None else str(program.project.seed)
    line = f"{name.text}({seed})"
    return (*name.edits, insert_before(facts, top, *((line, "") if _has_heading(facts, top) else (line,))))


def _has_heading(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether comments are directly above a statement that begins its line: they belong to that statement."""
    begins = not facts.source.line(statement.lineno)[: facts.range(statement).start.column - 1].strip()
    return begins and top_line(facts, statement) < statement.lineno


def _in_process(program: Program, function: Scope, call: str) -> tuple[Edit, ...]:
    """At the top of what the processes run; not where it is called as well, by a process that may have seeded."""
    called = [site for site, scope in program.callers_of(function) or () if scope.facts.parents.get(site) is not None]
    return () if called else _at_top(function, call, str(program.project.seed), function.node)


def _before_choice(seeding: Seeding, witness: Witness, top: ast.stmt) -> ast.stmt:
    """Where a script seeds: before `top`, and before the seed that its user may choose, so that this still counts."""
    chosen, facts = seeding.conditional.get(witness.draw.family), seeding.entry.facts
    if chosen is None:
        return top
    body = [n for n in facts.tree.body if not isinstance(n, ast.Import | ast.ImportFrom | ast.ClassDef | FunctionNode)]
    if chosen.scope.function is facts.scope:
        body = [n for n in body if n.lineno <= chosen.node.lineno <= (n.end_lineno or 0)]
    elif body and is_docstring(body[0]):
        body = body[1:]
    return min((top, *body[:1]), key=lambda statement: statement.lineno)


def _below_seed(scope: Scope, call: str, seed: OwnSeed, owner: ast.AST) -> tuple[Edit, ...]:
    """Directly below the arguments or the number in the body of `owner`; where it comes from elsewhere, at the top."""
    statement = seed.binding.node
    if not isinstance(statement, ast.stmt) or not owner.lineno < statement.lineno <= owner.end_lineno:  # type: ignore[attr-defined]
        return _at_top(scope, call, seed.text, owner)
    return _after(scope, call, seed.text, statement)


def _after(scope: Scope, call: str, seed: str, statement: ast.stmt) -> tuple[Edit, ...]:
    name = import_name(scope.facts, call, scope, statement)
    return (*name.edits, insert_after(scope.facts, statement, f"{name.text}({seed})"))


def _at_top(scope: Scope, call: str, seed: str, owner: ast.AST) -> tuple[Edit, ...]:
    assert isinstance(owner, ast.stmt)
    name = import_name(scope.facts, call, scope, owner.body[0])  # type: ignore[attr-defined]
    return (*name.edits, insert_first(scope.facts, owner, f"{name.text}({seed})"))
