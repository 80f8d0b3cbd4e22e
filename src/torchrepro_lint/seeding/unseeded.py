"""Which programs are unseeded, from which generators, and what they draw first: the verdict of TRP101."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Program, Site
from torchrepro_lint.index import Scope, keyword_value, walk
from torchrepro_lint.rng import FAMILIES
from torchrepro_lint.rng.draws import draw_at
from torchrepro_lint.rng.entropy import Entropy
from torchrepro_lint.seeding.seeding import MAYBE, SEEDED, UNSEEDED, Link, Seeding, Witness
from torchrepro_lint.seeding.stand_ins import DESCRIBES
from torchrepro_lint.seeding.unfollowed import (
    is_drawn_by,
    may_train,
    may_use_tensors,
    never_seeds,
    never_seeds_itself,
    opaque,
    uses_tensors,
)

NEVER, BY_OPTION, IN_PROCESS, UNSEEN, SHOWN, KEPT = "never", "by option", "in process", "unseen", "shown", "kept"
LEFT = "left to an option"
MAX_SHOWN = 3


class Unseeded(NamedTuple):
    """A program with draws that no seed dominates: the first of each family in the order of the run, and those of them
    of which this is `certain`. `kind` says what is wrong with the `named` families, of which `first` is the first draw;
    None where nothing that draws could be followed, but only `unseen`, the calls that could not."""

    kind: str
    named: tuple[str, ...]
    first: Witness | None
    draws: dict[str, Witness]
    certain: bool
    unseen: tuple[Link, ...] = ()


def unseeded(seeding: Seeding, program: Program) -> Unseeded | None:
    """What a program draws without a seed; None where it seeds, or nothing is known that it draws."""
    missing = {family: draw for family in FAMILIES if (draw := seeding.missing(family)) is not None}
    found = {family: draw for family, draw in missing.items() if not _is_seeded_anew(seeding, family, draw[0])}
    if missing and not found:
        return None
    if found:
        return _with_unseen(_known(seeding, found), seeding, program)
    if seeding.late or seeding.is_trial or seeding.is_launcher:
        return None
    sampled = _never_seeded(seeding)
    kind = _put_out(seeding, sampled, program) if sampled else None
    if kind is not None:
        return _known(seeding, {f: (w, w.sure) for f, w in sampled.items()})._replace(kind=kind)
    if seeding.met:
        return _left_to_option(seeding)
    return _cut_short(seeding, program) if not seeding.complete else _unseen(seeding, program)


def _sampled(seeding: Seeding) -> dict[str, tuple[Witness, bool]]:
    """What a program that does not train samples in any case, which is told where it is told of for another
    generator."""
    sampled = {f: w for f, w in seeding.sampled.items() if w.sure and not _is_seeded_anew(seeding, f, w)}
    return {} if seeding.trains else {f: (w, True) for f, w in sampled.items() if w.process is None}


def _is_seeded_anew(seeding: Seeding, family: str, first: Witness) -> bool:
    """Whether a seeder that is given no seed runs before the first draw of a family in any case: it is what is wrong,
    and TRP102 says so."""
    return any(
        met.level == UNSEEDED
        and met.sure
        and met.process is first.process
        and met.number < first.number
        and met.seeder is not None
        and family in met.seeder.families
        and not met.node.args
        and not met.node.keywords
        for met in seeding.met
    )


def _known(seeding: Seeding, found: dict[str, tuple[Witness, bool]]) -> Unseeded:
    """The generators that are never seeded are named before those that are if an option is given."""
    kinds = {family: kind_of(seeding, *draw) for family, draw in found.items()}
    kind = next(k for k in (NEVER, BY_OPTION, IN_PROCESS) if k in kinds.values())
    if kind == NEVER:
        found = {f: draw for f in FAMILIES if (draw := found.get(f) or _sampled(seeding).get(f)) is not None}
        kinds = dict.fromkeys(found, NEVER) | kinds
    named = tuple(f for f in found if kinds[f] == kind)
    first = min((found[f][0] for f in named), key=lambda witness: witness.number)
    draws = {f: witness for f, (witness, _) in sorted(found.items(), key=lambda item: item[1][0].number)}
    return Unseeded(kind, named, first, draws, any(found[f][1] for f in named))


def kind_of(seeding: Seeding, witness: Witness, certain: bool) -> str:
    """What is missing at a draw without a seed: any seed, an option that is given, or one in its process."""
    if certain:
        return NEVER
    if witness.process is not None:
        return IN_PROCESS
    return BY_OPTION if witness.level == MAYBE or witness.draw.family in seeding.conditional else NEVER


def _never_seeded(seeding: Seeding) -> dict[str, Witness]:
    """What a program samples from generators that no call seeds which it comes by, on any way."""
    seeded = [m.seeder.families if m.seeder is not None else FAMILIES for m in seeding.met]
    return {f: w for f, w in seeding.sampled.items() if not any(f in families for families in seeded)}


def _put_out(seeding: Seeding, sampled: Mapping[str, Witness], program: Program) -> str | None:
    """Whether a program is one file that prints, or else writes to a file, what it draws, and does not train; one that
    seeds another generator wants to write the same on every run."""
    if seeding.trains or not seeding.complete or len(seeding.visited) > 1:
        return None
    is_sure = all(witness.sure for witness in sampled.values())
    if not is_sure and not seeding.met:
        return None
    printed = (Site(value, scope) for call, scope in seeding.calls("print") for value in call.args)
    if not seeding.met and uses_tensors(seeding) and any(_is_drawn(*site, program) for site in printed):
        return SHOWN
    if not program.project.text.mentioning("torch"):
        return None
    written = list(_written(seeding, program))
    if written and any(m.level == SEEDED and m.sure and m.seeder is not None for m in seeding.met):
        return NEVER if sampled.keys() != {"torch"} and not any(w.rare for w in sampled.values()) else None
    is_kept = any(_is_drawn(*site, program) for site in written) or any(map(_decides, sampled.values()))
    return KEPT if is_sure and written and is_kept else None


def _written(seeding: Seeding, program: Program) -> Iterator[Site]:
    """What is written to files."""
    rows = catalogue.table("rng")["kept"]
    for name, position in rows["functions"].items():
        for call, scope in seeding.calls(name.rpartition(".")[2]):
            if program.callee(call, scope) == name:
                yield from (Site(value, scope) for value in (*call.args[position:], *(k.value for k in call.keywords)))
    for call, scope in seeding.calls("print"):
        into = keyword_value(call, "file")
        if into is not None and not ast.unparse(into).startswith("sys."):  # but to the screen
            yield from (Site(value, scope) for value in call.args)
    for call, scope in seeding.calls(*rows["of_value"]):
        if isinstance(call.func, ast.Attribute):
            yield Site(call.func.value, scope)
    for call, scope in seeding.calls(*rows["of_file"]):
        if isinstance(call.func, ast.Attribute) and not ast.unparse(call.func).startswith("sys."):
            yield from (Site(value, scope) for value in call.args)


def _decides(witness: Witness) -> bool:
    """Whether a draw decides by itself what is done: `if random.random() < 0.9: train.append(row)`."""
    facts = witness.draw.scope.facts
    statement = facts.statement(witness.draw.node)
    return isinstance(statement, ast.If) and any(node is witness.draw.node for node in walk(statement.test))


def _is_drawn(value: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether a value is made of numbers that are drawn; its shape, type and place are not."""
    if any(isinstance(n, ast.Attribute) and n.attr in DESCRIBES for n in walk(value)):
        return False
    sources = Entropy(program).sources(value, scope)
    return any(draw_at(s.node, s.scope, program) is not None for s in sources)


def _cut_short(seeding: Seeding, program: Program) -> Unseeded | None:
    """A program with more code than is followed: where nothing seeds in all of the project, nothing does there."""
    drawn = {family: draw for family in FAMILIES if (draw := seeding.unseeded_draw(family)) is not None}
    found = {family: draw for family, draw in drawn.items() if never_seeds(family, program)}
    if not found:
        return None
    return _known(seeding, {family: (witness, False) for family, (witness, _) in found.items()})


def _left_to_option(seeding: Seeding) -> Unseeded | None:
    """A program that trains what is built out of sight, and seeds only if an option is given."""
    met = [m for m in seeding.met if m.seeder is not None and "torch" in m.seeder.families]
    is_left = seeding.complete and all(m.level < SEEDED or m.rare for m in met) and any(m.level > UNSEEDED for m in met)
    if not is_left or not seeding.trains or "torch" in seeding.drawn:
        return None
    seeders = {m.node: Link(m.node, m.scope) for m in met}
    return Unseeded(LEFT, ("torch",), None, {}, certain=False, unseen=tuple(seeders.values())[:1])


def _with_unseen(found: Unseeded, seeding: Seeding, program: Program) -> Unseeded:
    """The same, of torch as well, where that is not known to be drawn from, but the program trains what is built out of
    sight."""
    if found.kind != NEVER or "torch" in found.named or "torch" in seeding.drawn or _unseen(seeding, program) is None:
        return found
    return found._replace(named=("torch", *found.named), certain=False)


def _unseen(seeding: Seeding, program: Program) -> Unseeded | None:
    """A program that trains what is built out of sight: new weights, dropout and shuffled data are drawn there, and
    where nothing seeds in all of the project, or in what the program imports, nothing did before."""
    if not may_train(seeding, program) or not may_use_tensors(seeding, program):
        return None
    unseen = opaque(seeding, program)
    if not never_seeds("torch", program):
        is_alone = never_seeds_itself(seeding, program)
        unseen = [step for step in unseen if is_alone and is_drawn_by(step, seeding, program)]
    if not unseen:
        return None
    return Unseeded(UNSEEN, ("torch",), None, {}, certain=False, unseen=tuple(unseen[:MAX_SHOWN]))
