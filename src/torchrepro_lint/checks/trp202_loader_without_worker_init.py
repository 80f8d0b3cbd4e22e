"""TRP202: the workers of a loader draw random numbers, and no `worker_init_fn` seeds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.checks.listed import listed
from torchrepro_lint.checks.worker_seeding import Need, renewed_generator, seeded_workers
from torchrepro_lint.dataflow.calls import Call, Module
from torchrepro_lint.dataflow.conditions import is_dead
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.loading.loaders import argument, lacks_generator, lacks_worker_init, loader_calls, workers
from torchrepro_lint.loading.worker_calls import WorkerDraw
from torchrepro_lint.loading.worker_draws import WorkerDraws, worker_draws
from torchrepro_lint.model import Certainty, Edit, Level
from torchrepro_lint.project.unknown import UNKNOWN
from torchrepro_lint.project.versions import may_be

FAMILIES: tuple[Literal["numpy", "python"], ...] = ("numpy", "python")
_WRITTEN = {"numpy": "numpy", "python": "`random`"}


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each loader whose workers draw, or may draw, without `worker_init_fn`."""
    drawn = _drawn(module)
    if not drawn or _seeded_by_lightning(program):
        return
    need = _need(module.facts, drawn)
    for call, draws in drawn:
        draft = _draft(call, draws, need, program)
        if draft is not None:
            yield draft._replace(unsafe=_is_out_of_reach(draft.edits, module.facts))


def _drawn(module: Module) -> list[tuple[Call, WorkerDraws]]:
    """The loaders without `worker_init_fn`, and what their workers draw."""
    return [(call, worker_draws(call)) for call in loader_calls(module) if _is_bare(call)]


def _need(facts: ModuleFacts, drawn: Sequence[tuple[Call, WorkerDraws]]) -> Need:
    """What the data sets of a file draw from, and what it imports."""
    imported = {b.target for bindings in facts.scope.bindings.values() for b in bindings if b.kind == "import"}
    families: set[str] = {f for f in FAMILIES if any(d.first(f) for _, d in drawn)}
    families |= {f for f, name in (("numpy", "numpy"), ("python", "random")) if name in imported}
    return Need(drawn[0][0], frozenset(families))


def _need_of(facts: ModuleFacts, program: Program) -> Need | None:
    """What another file needs, if it has a loader that gets the function."""
    drawn = _drawn(Module(facts, program))
    seeded = [d for _, d in drawn if (d.found or d.unseen) and d.first("held") is None and d.first("own") is None]
    return _need(facts, drawn) if seeded else None


def _is_bare(call: Call) -> bool:
    return workers(call) is not False and lacks_worker_init(call) and not is_dead(call.node, call.scope)


def _draft(call: Call, draws: WorkerDraws, need: Need, program: Program) -> Draft | None:
    values = {"call": call.written}
    held, own = draws.first("held"), draws.first("own")
    if held is not None:
        values["generator"] = held.facts.text(held.node)
        edits = _renewed(call, need.first, held, draws)
        sure = held.is_per_item and draws.is_one_class
        certainty = Certainty.CERTAIN if sure else Certainty.LIKELY
        return Draft(call.node, values, "held", Level.WARNING, certainty, related=_place(held), edits=edits)
    if own is not None:
        values["augmentation"] = own.facts.text(own.node)
        return Draft(call.node, values, "own", Level.WARNING, Certainty.LIKELY, related=_place(own))
    edits = seeded_workers(call, need, program, lambda other: _need_of(other, program))
    numpy = draws.first("numpy")
    if numpy is not None and may_be(program.project.torch_version, "<1.9"):
        return Draft(call.node, values, "old", Level.WARNING, Certainty.CERTAIN, related=_place(numpy), edits=edits)
    if draws.found:
        values["families"] = listed([_WRITTEN[f] for f in FAMILIES if draws.first(f)])
        values["seeder"] = _seeder(call)
        related = tuple(p for f in FAMILIES if (d := draws.first(f)) is not None for p in _place(d))
        return Draft(call.node, values, level=Level.NOTE, related=related, edits=edits)
    return Draft(call.node, values, "unseen", Level.NOTE, edits=edits) if draws.unseen else None


def _seeder(call: Call) -> str:
    """Where PyTorch takes the workers' seeds from."""
    if lacks_generator(call):
        return "the global torch generator"
    return "PyTorch" if argument(call, "generator") is UNKNOWN else "the loader's generator"


def _is_out_of_reach(edits: Sequence[Edit], facts: ModuleFacts) -> bool:
    """Whether the fix defines a function in a notebook: workers that are not forked cannot import it from there."""
    return facts.source.kind == "notebook" and any(
        edit.path == facts.source.rel and "def " in edit.text for edit in edits
    )


def _renewed(call: Call, first: Call, held: WorkerDraw, draws: WorkerDraws) -> tuple[Edit, ...]:
    """Only a generator that is an attribute of the data set itself can be replaced from outside."""
    if held.owner is None or held.made is None or draws.dataset is None:
        return ()
    bases = call.program.names.bases(draws.dataset)
    if held.owner not in bases:
        return ()
    row = catalogue.names("loaders", "generators")[str(held.made.callee)]
    holder = ".dataset" * (1 + draws.layers)
    return renewed_generator(call, first, holder, held, row["renewed"])


def _place(draw: WorkerDraw) -> tuple[Place, ...]:
    return (Place(draw.facts, draw.node, "each worker draws here"),)


def _seeded_by_lightning(program: Program) -> bool:
    """`seed_everything(seed, workers=True)` gives every loader a `worker_init_fn`."""
    for path in program.project.text.mentioning("seed_everything") or ():
        facts = program.load(str(path))
        for call, scope in facts.calls.get("seed_everything", ()) if facts is not None else ():
            passed = next((k.value for k in call.keywords if k.arg == "workers"), None)
            if passed is not None and program.literal(passed, scope) is True:
                return True
    return False
