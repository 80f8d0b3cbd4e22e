"""How the seed of a program has to depend on the rank of its process: not at all, or so that what each draws differs.

Ranks that draw latents, noise or samples of their own from one stream do the same work many times. Ranks that split or
shuffle the data among themselves must agree on how.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope
from torchrepro_lint.rng.draws import draw_of
from torchrepro_lint.seeding.seeding import Seeding

_SPLITS = frozenset({"random_split", "randperm"})
_SPAWN = "torch.multiprocessing.spawn"
_ENVIRONMENT = 'int({0}.environ.get("RANK", 0))'


class RankSeed(NamedTuple):
    """What is added to the seed, if anything; `{0}` stands for the first of the modules that it `imports`."""

    added: str = ""
    imports: tuple[str, ...] = ()

    def of(self, seed: str) -> str:
        """The seed of a process."""
        if not self.added:
            return seed
        return self.added if seed == "0" else f"{seed} + {self.added}"


def rank_seed(seeding: Seeding, process: Scope | None, program: Program) -> RankSeed | None:
    """How the seed of a process depends on its rank; None where a person has to decide."""
    rank = _rank_of_process(seeding, process, program) if process is not None else _rank_in_group(seeding)
    if rank is None or not _draws_apart(seeding, program):
        return RankSeed()
    return None if not rank.added or _agrees(seeding) else rank


def _rank_of_process(seeding: Seeding, process: Scope, program: Program) -> RankSeed | None:
    """The first parameter of what `mp.spawn` runs. Processes that are started otherwise are numbered by no one."""
    spawned = any(
        program.callee(call, scope) == _SPAWN and process in (f for _, f in program.given(call, scope))
        for facts in seeding.visited
        for call, scope in facts.calls.get("spawn", ())
    )
    arguments = process.node.args.args if isinstance(process.node, ast.FunctionDef) else []
    return RankSeed(arguments[0].arg) if spawned and arguments else RankSeed()


def _rank_in_group(seeding: Seeding) -> RankSeed | None:
    """The rank that a launcher puts into the environment; None for a program by itself."""
    joins = list(_calls(seeding, "init_process_group"))
    if not joins:
        return None
    numbered = any(k.arg == "rank" or k.arg is None for call, _ in joins for k in call.keywords)
    return RankSeed() if numbered else RankSeed(_ENVIRONMENT, ("os",))


def _draws_apart(seeding: Seeding, program: Program) -> bool:
    """Whether anything is sampled: latents, noise, made-up data."""
    rows = {name.rpartition(".")[2]: row for name, row in catalogue.names("rng", "draws").items()}
    names = {n for n, row in rows.items() if row["kind"] == "sample" and "training" not in row} - _SPLITS
    names |= set(catalogue.names("rng", "distribution_methods"))
    for name in sorted(names):
        for call, scope in _calls(seeding, name):
            draw = draw_of(program, program.callee(call, scope), call, scope)
            if draw is not None and draw.kind == "sample":
                return True
    return False


def _agrees(seeding: Seeding) -> bool:
    """Whether the order of the data, or who gets which, is drawn."""
    orders = {n.rpartition(".")[2] for n, row in catalogue.names("rng", "draws").items() if row["kind"] == "order"}
    return any(True for name in sorted(orders | _SPLITS) for _ in _calls(seeding, name))


def _calls(seeding: Seeding, name: str) -> Iterator[tuple[ast.Call, Scope]]:
    for facts in seeding.visited:
        yield from (site for site in facts.calls.get(name, ()) if seeding.runs(*site))
