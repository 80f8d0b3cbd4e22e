"""TRP202: the workers of a loader draw what PyTorch does not seed, or seeds from its global generator."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Draft, Fix, Place
from torchrepro_lint.checks.generator_doubts import is_only_tried_out
from torchrepro_lint.checks.listed import listed
from torchrepro_lint.checks.seeded_generator import seeded_generator
from torchrepro_lint.checks.worker_seeding import is_for_several, is_out_of_reach, renewed_generator, seeded_workers
from torchrepro_lint.dataflow import Call, Module, Program, Site, remembered
from torchrepro_lint.dataflow.conditions import is_dead
from torchrepro_lint.dataflow.enclosing import loops_around
from torchrepro_lint.dataflow.options import Options, outcome
from torchrepro_lint.index import ModuleFacts, keyword_value
from torchrepro_lint.loading import loaders
from torchrepro_lint.loading.looked_at import is_for_evaluation
from torchrepro_lint.loading.worker_calls import WorkerDraw
from torchrepro_lint.loading.worker_draws import WorkerDraws, worker_draws
from torchrepro_lint.model import Certainty, Edit
from torchrepro_lint.project.names import Variable
from torchrepro_lint.project.versions import may_be
from torchrepro_lint.seeding.training import only_evaluates, trains_nothing

FAMILIES: tuple[Literal["numpy", "python"], ...] = ("numpy", "python")
_ORDERS = frozenset({"permutation", "permuted", "shuffle"})
_WRITTEN = {"numpy": "numpy", "python": "`random`"}
_SAME_STATE = "the global torch generator is in the same state when the workers start"
_SHARE = "the workers need different orders"
_EVALUATES = "the data set draws for a loader that does not shuffle, too"


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each loader whose workers draw what nobody seeds, or what the loader's own generator should."""
    drawn = _drawn(module)
    if not drawn or _seeded_by_lightning(program):
        return
    for call, draws in drawn:
        draft = _draft(call, draws, drawn[0][0], program)
        if draft is not None:
            made = draft.edits if isinstance(draft.edits, tuple) else ()  # a generator for the loader is no function
            yield draft._replace(unsafe=draft.unsafe or is_out_of_reach(module.facts, made))


def _drawn(module: Module) -> list[tuple[Call, WorkerDraws]]:
    """The loaders without `worker_init_fn`, and what their workers draw."""
    return [(call, worker_draws(call)) for call in loaders.loader_calls(module.facts, module.program) if _is_bare(call)]


def _is_bare(call: Call) -> bool:
    return loaders.workers(call) is not False and loaders.lacks_worker_init(call) and not is_dead(call.node, call.scope)


def _draft(call: Call, draws: WorkerDraws, first: Call, program: Program) -> Draft | None:
    """The worst of what the workers of a loader draw: from a generator that the data set holds, of which each gets a
    copy; from augmentations with generators of their own; from NumPy, where PyTorch does not seed it; and from what
    PyTorch seeds in each worker from its own generator."""
    if not draws.found:
        return None
    if (held := draws.first("held")) is not None:
        return _copied(call, draws, held, first, program)
    if (own := draws.first("own")) is not None:
        values = {"call": call.written, "augmentation": own.facts.text(own.node)}
        return Draft(call.node, values, "own", related=_place(own))
    if (numpy := draws.first("numpy")) is not None and not _is_seeded("numpy", program):
        return _unseeded(call, numpy, first, program)
    return _seeded_by_state(call, draws, program) if loaders.lacks_generator(call) else None


def _copied(call: Call, draws: WorkerDraws, held: WorkerDraw, first: Call, program: Program) -> Draft | None:
    """Each worker draws from its copy of one generator."""
    if loaders.is_single_worker(call) and _is_in_order(call):
        return None  # an evaluation that is given the same numbers each time
    sure = held.is_per_item and draws.is_one_class
    needs_torch = _is_in_order(call) and loaders.lacks_generator(call)  # then whether torch is seeded decides
    depends = (_SHARE,) if _orders_a_pass(held) else ()
    return Draft(
        call.node,
        {"call": call.written, "generator": held.facts.text(held.node)},
        "held",
        certainty=Certainty.CERTAIN if sure else Certainty.LIKELY,
        depends=depends,
        related=_place(held),
        edits=_renewed(call, first, held, draws),
        unsafe=needs_torch or bool(depends) or _is_renewed_elsewhere(held, program),
    )


def _unseeded(call: Call, numpy: WorkerDraw, first: Call, program: Program) -> Draft:
    """The PyTorch that the program is judged by leaves the state of NumPy as it was when the worker was forked."""
    edits = seeded_workers(call, first, program, lambda other: _first_unseeded(other, program))
    unsafe = is_for_several(call.facts, edits, program, lambda other: _first_unseeded(other, program))
    unsafe = unsafe or is_for_evaluation(call) or only_evaluates(call.facts, program) or is_only_tried_out(call)
    unsafe = unsafe or _has_no_workers_yet(call)
    draft = Draft(call.node, {"call": call.written}, "old", related=_place(numpy), edits=edits, unsafe=unsafe)
    if _is_in_order(call):
        unsafe = unsafe or trains_nothing(call.facts, program) or not _is_surely_drawn(call)
        return draft._replace(depends=(_EVALUATES,), unsafe=unsafe)
    return draft._replace(certainty=Certainty.CERTAIN)


def _has_no_workers_yet(call: Call) -> bool:
    """Whether another file of settings says that there are to be no workers: `cfg.NUM_WORKERS = 0`."""
    passed, program = loaders.argument(call, "num_workers"), call.program
    match passed:
        case Site(node=ast.Attribute(value=ast.Name(id=holder)) as read, scope=scope):
            held = program.names.lookup(holder, scope)
            files = [held.scope.facts] if isinstance(held, Variable) else []
            return Options(program, files).truth(read, scope, None).usual is False
    return False


def _seeded_by_state(call: Call, draws: WorkerDraws, program: Program) -> Draft:
    """PyTorch seeds each worker from the state that its global generator has when the worker starts."""
    found = {family: draw for family in FAMILIES if (draw := draws.first(family)) is not None}
    fix = seeded_generator(call, program) if not _is_in_order(call) else Fix()
    return Draft(
        call.node,
        {"call": call.written, "families": listed([_WRITTEN[family] for family in found])},
        depends=(_SAME_STATE,),
        related=tuple(place for draw in found.values() for place in _place(draw)),
        edits=fix.edits,
        unsafe=fix.unsafe or only_evaluates(call.facts, program),
        fix_title="Give the loader its own seeded generator",
    )


def _orders_a_pass(held: WorkerDraw) -> bool:
    """Whether the order of a whole pass is drawn, once: `for i in self.rng.permutation(n): yield from self.parts[i]`.
    Where each worker takes its share of that order, all of them need the same one."""
    facts = held.facts
    function = facts.scope_of(held.node).function
    drawn = facts.parents[held.node]
    return (
        function.name.endswith("__iter__")
        and isinstance(drawn, ast.Attribute)
        and drawn.attr in _ORDERS
        and not any(loops_around(facts, held.node))
    )


def _is_surely_drawn(call: Call) -> bool:
    """Whether another loader of the file, which shuffles, needs the same for certain: of one that does not shuffle it
    is not known that it draws at all."""
    others = (other for other, draws in _drawn(Module(call.facts, call.program)) if draws.first("numpy"))
    return any(not _is_in_order(other) for other in others)


def _is_in_order(call: Call) -> bool:
    """Whether the loader is told not to shuffle: what its workers draw is decided by the seed of the program, and most
    that are told so evaluate, and draw nothing."""
    shuffle = loaders.argument(call, "shuffle")
    told = isinstance(shuffle, Site) and outcome(shuffle.node, shuffle.scope, call.program).certain is False
    return told and loaders.argument(call, "sampler") is None and loaders.argument(call, "batch_sampler") is None


def _is_seeded(family: str, program: Program) -> bool:
    """Whether the PyTorch that the program is judged by seeds the family in each worker."""
    return may_be(program.project.torch_version, catalogue.table("loaders")["seeded_in_workers"][family])


@remembered
def _first_unseeded(facts: ModuleFacts, program: Program) -> Call | None:
    """The first loader of another file, if one of its loaders gets the function."""
    drawn = _drawn(Module(facts, program))
    needs = (d for _, d in drawn if d.first("numpy") and d.first("held") is None and d.first("own") is None)
    return drawn[0][0] if next(needs, None) is not None else None


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


def _is_renewed_elsewhere(held: WorkerDraw, program: Program) -> bool:
    """Whether the project has a function for workers that gives the data set, and what it holds, another generator."""
    text = program.project.text
    renewing = text.mentioning("get_worker_info") or ()
    return any(text.has(path, re.compile(rb"\.%b\s*=" % held.attribute.encode())) for path in renewing)


def _place(draw: WorkerDraw) -> tuple[Place, ...]:
    return (Place(draw.facts, draw.node, "each worker draws here"),)


def _seeded_by_lightning(program: Program) -> bool:
    """`seed_everything(seed, workers=True)` gives every loader a `worker_init_fn`."""
    for facts in program.loaded(program.project.text.mentioning("seed_everything") or ()):
        for call, scope in facts.calls.get("seed_everything", ()):
            passed = keyword_value(call, "workers")
            if passed is not None and program.literal(passed, scope) is True:
                return True
    return False
