"""What one call outside the project does to the state of a seeding walk, and what is noted of it: seeds and draws."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Module, Program, remembered
from torchrepro_lint.dataflow.conditions import PathCondition, conditions, everywhere, known
from torchrepro_lint.dataflow.enclosing import block_of
from torchrepro_lint.dataflow.frames import Frame, Reach
from torchrepro_lint.dataflow.options import Options
from torchrepro_lint.index import ModuleFacts, Scope, last_name
from torchrepro_lint.project.versions import may_be
from torchrepro_lint.rng import FAMILIES
from torchrepro_lint.rng.draws import (
    PUT,
    TAKEN,
    Draw,
    Seeder,
    draw_of,
    factor,
    is_seeder,
    is_taken,
    seeder_methods,
    seeder_of,
)
from torchrepro_lint.rng.fresh_weights import may_draw_weights
from torchrepro_lint.rng.generators import is_own
from torchrepro_lint.rng.predicates import training_mode
from torchrepro_lint.rng.seeded_before import SEEDS_BY_NAME
from torchrepro_lint.seeding.discarded import are_lost, is_besides, is_left_behind, is_measured
from torchrepro_lint.seeding.seeding import MAYBE, SEEDED, UNSEEDED, Late, Link, Seeding, SeedMet, Witness
from torchrepro_lint.seeding.stand_ins import purpose
from torchrepro_lint.seeding.state import Family, State, put_back, seeded, taken, telling

RAISES = "raises"  # what a seed of None does
_READS = ("get_", "is_", "has_", "add_", "to_", "initial_", "print", "log", "manual_seed")
_OWN_GENERATORS = r"(?i)(?:^|_|\.)(?:envs?|environment|\w*_space|rng|np_random|generator)$"  # with seeds of their own
_STEPPED = ("reset", "step")  # methods of an environment
# Packages of which the catalogue has every function that seeds a generator of the three families.
_KNOWN = ("torch", "numpy", "random", "builtins", "imgaug", "tensorflow", "jax", "cv2", "cupy", "polars")


class Around(NamedTuple):
    """What holds for all that the walk runs from a place on, until it comes back there."""

    process: Scope | None = None  # the function of the fresh process that it is in
    child: Scope | None = None  # the function of the forked process that it is in
    in_workers: bool | None = False  # in those of a loader; None where it may be
    in_use: bool = False  # inside code that runs when an object is used, which is only made here
    paused: bool = False  # inside a generator, whose last part runs after the code that it is made for
    pretrained: bool = False  # inside the constructor of a model that then gets the weights of a checkpoint
    doubts: int = 0  # how many tests that are not worked out lie between the entry and here
    cases: int = 0  # how many of them choose by a setting's value
    rare: int = 0  # how many of them are not passed by default
    arm: int = 0  # how many draws were deferred when the innermost branch began


class Effects:
    """Notes in `found` what the calls of one walk do. `chain` has the calls that lead to the place that the walk is at,
    `around` what holds there."""

    def __init__(self, program: Program, found: Seeding, options: Options) -> None:
        self.program = program
        self.found = found
        self.options = options
        self.reach = options.reach
        self.chain: list[Link] = []
        self.around = Around()
        self.draws = 0  # so far
        self.drawn_in_workers = 0  # by other generators than torch's
        self.deferred: tuple[Witness, ...] = ()  # draws of objects that were made, with the seeds set since
        self.seeded_at_import: set[str] = set()  # the families that a process seeds which imports the same modules

    @contextmanager
    def within(self, around: Around) -> Iterator[None]:
        """What is run where this holds."""
        outer, self.around = self.around, around
        yield
        self.around = outer

    @contextmanager
    def process_of(self, function: Scope) -> Iterator[State]:
        """A spawned process starts afresh and runs the top level of modules only: seeds there do reach it."""
        levels = [SEEDED if family in self.seeded_at_import else UNSEEDED for family in FAMILIES]
        made, self.deferred = self.deferred, ()
        with self.within(self.around._replace(process=function, arm=0)):
            yield tuple(map(Family, levels))
            self.finish()
        self.deferred = made

    @contextmanager
    def at(self, node: ast.AST, scope: Scope) -> Iterator[None]:
        """What a call, import or loop at a place leads to."""
        self.chain.append(Link(node, scope))
        yield
        self.chain.pop()

    def in_use(self, workers: bool | None) -> AbstractContextManager[None]:
        """What runs when an object is used, which is only made here: in the workers of a loader, if that has `workers`;
        None where it may have."""
        return self.within(self.around._replace(in_use=True, in_workers=workers))

    def running(self, function: Scope) -> AbstractContextManager[None]:
        """The body of a function, with what it calls."""
        return self.within(self.around._replace(paused=self.around.paused or function.yields))

    def forked(self, function: Scope) -> AbstractContextManager[None]:
        """A process that begins with the state of this one, and whose seeds and draws change nothing here."""
        return self.within(self.around._replace(child=function))

    def in_arm(self) -> AbstractContextManager[None]:
        """The arms of a branch, each of which begins with the draws that are deferred now."""
        return self.within(self.around._replace(arm=len(self.deferred)))

    def in_doubt(self, *, is_case: bool = False, is_rare: bool = False) -> AbstractContextManager[None]:
        """While it is not known whether the program comes by; `is_case` where that hangs on a setting's value,
        `is_rare` where by default it does not."""
        now = self.around
        return self.within(now._replace(doubts=now.doubts + 1, cases=now.cases + is_case, rare=now.rare + is_rare))

    def pretrained(self) -> AbstractContextManager[None]:
        """While a model is made that gets the weights of a checkpoint, which may have all that is drawn."""
        now = self.around
        return self.within(now._replace(pretrained=True, doubts=now.doubts + 1))

    def apply(self, name: str | None, call: ast.Call, state: State, scope: Scope, frame: Frame) -> State:
        """After a call of the external `name`, or of an unknown object."""
        if state is None:
            return None
        if name in self.program.project.seed_functions:
            return self.seed(Seeder(FAMILIES, call, scope, None, "constant"), state, frame)
        if name in TAKEN:
            return state if self.around.paused else taken(state, TAKEN[name])
        seeder = seeder_of(self.program, name, call, scope)
        if seeder is not None:
            if name in PUT and seeder.seed is not None and is_taken(seeder.seed, scope, self.program):
                return state if self.around.paused else put_back(state, PUT[name])
            seeded_there = self.seed(seeder, state, frame)
            weights = draw_of(self.program, name, call, scope)  # of what learns, which are drawn then
            return self._draw(weights, seeded_there, frame) if weights and seeded_there else seeded_there
        draw = draw_of(self.program, name, call, scope)
        if draw is not None:
            is_loaded = self.around.pretrained and may_draw_weights(name or "")
            return state if is_loaded else self._draw(draw, state, frame)
        if _may_seed(self.program, name, call, scope):
            self._meet(call, scope, None, SEEDED)
            return seeded(state)
        return state

    def seed(self, seeder: Seeder, state: State, frame: Frame) -> State:
        """After a seed call."""
        if state is None:
            return None
        level = self._seed_level(seeder, frame)
        self._meet(seeder.node, seeder.scope, seeder, level)
        if level > UNSEEDED and self.around.child is None:
            self.found.seeders.append(seeder)
            if seeder.scope.kind == "module" and not seeder.scope.facts.in_guard(seeder.node):
                self.seeded_at_import.update(seeder.families)
        families = list(state)
        for name in seeder.families:
            i = FAMILIES.index(name)
            old = families[i]
            is_here = self.around.process is None and self.around.child is None and not self.around.in_workers
            if level == SEEDED and old.early is not None and name not in self.found.late and is_here:
                self.found.late[name] = Late(old.early, seeder, (*self.chain, Link(seeder.node, seeder.scope)))
            if level == MAYBE:
                self.found.conditional.setdefault(name, seeder)
            families[i] = old._replace(level=max(old.level, level))
        self.deferred = tuple(
            w._replace(level=max(w.level, level)) if w.draw.family in seeder.families else w for w in self.deferred
        )
        return tuple(families)

    def _meet(self, call: ast.Call, scope: Scope, seeder: Seeder | None, level: int) -> None:
        now, way = self.around, tuple(self.chain)
        process = now.process or now.child
        met = SeedMet(call, scope, seeder, level, way, now.doubts == 0, self.draws, process, now.rare > 0)
        self.found.met.append(met)

    def finish(self) -> None:
        """The process has ended: what it made was used with the seeds that it set in the meantime."""
        for witness in self.deferred:
            if witness.level < SEEDED:
                self._record(witness)
        self.deferred = ()

    def _seed_level(self, seeder: Seeder, frame: Frame) -> int:
        """Seeded, unless the seed is None for certain or by default."""
        if seeder.none == "constant" and (seeder.seed is None or not seeder.off):
            return SEEDED
        if seeder.seed is None:
            given, keywords = seeder.node.args, seeder.node.keywords
            unpacks = any(isinstance(a, ast.Starred) for a in given) or any(k.arg is None for k in keywords)
            is_left_out = not unpacks and (seeder.none in ("nothing", RAISES) or not (given or keywords))
            return UNSEEDED if is_left_out else SEEDED
        values = self.options.values(seeder.seed, seeder.scope, frame)
        if not values or not all(seeder.is_off(v.value) for v in values) or _is_asserted(seeder.seed, seeder):
            return SEEDED
        is_settable = any(v.settable for v in values)
        if is_settable and _raises(seeder, seeder.seed, self.program):
            return SEEDED
        return MAYBE if is_settable else UNSEEDED

    def seed_workers(self, loader: ast.Call, scope: Scope, state: State) -> State:
        """After the workers of a loader, which drew, were seeded by a number that torch drew."""
        what = scope.facts.text(loader.func)
        draw = Draw("torch", "in workers", loader, scope, what, deferred=True)
        return self._draw(draw, state) if state is not None else None

    def _draw(self, draw: Draw, state: tuple[Family, ...], frame: Frame | None = None) -> State:
        i = FAMILIES.index(draw.family)
        old = state[i]
        may_be_in_workers = self.around.in_workers is not False and draw.family != "torch"
        if may_be_in_workers:  # which seed their own generators from torch's
            old = old._replace(level=max(old.level, state[FAMILIES.index("torch")].level))
            self.drawn_in_workers += 1
        is_seeded = old.level == SEEDED
        if is_seeded and draw.family in self.found.drawn:
            return state
        kind = "in workers" if may_be_in_workers else draw.kind
        if self._is_expected(draw, kind, old.level) or is_besides(draw, self.program):
            return state
        if frame is not None and self._is_multiplied_away(draw, frame):
            self.reach.note(Reach.EVERYWHERE)
            return state
        kind = kind if may_be_in_workers else kind_of(draw, self.program)
        chain = (*self.chain, Link(draw.node, draw.scope))
        is_lost = kind == "init" and are_lost(chain, self.program)
        if is_lost or is_measured(chain) or (draw.deferred and is_left_behind(chain)):
            self.reach.note(Reach.EVERYWHERE)
            return state
        if kind == "sample":
            kind = self._purpose(draw, chain, frame)
            if kind != "sample":
                self.reach.note(Reach.EVERYWHERE)
        self.draws += 1
        witness = self._witness(draw._replace(kind=kind), chain, old.level)
        self.found.drawn.setdefault(draw.family, witness)
        if is_seeded or (draw.family != "torch" and self._is_seeded_by_workers()):
            return state
        if draw.deferred or self.around.in_use:
            self.deferred = telling((*self.deferred, witness), self.around.arm)
            return state
        self._record(witness)
        is_early = old.level == UNSEEDED and kind != "stand-in"  # which changes nothing once the seed is set
        if is_early and self._is_only_shown(chain):
            witness = witness._replace(is_unusual=True)  # what is drawn for the training comes later
        if is_early and (old.early is None or witness.says_more_than(old.early)):
            return (*state[:i], old._replace(early=witness), *state[i + 1 :])
        return state

    def _is_only_shown(self, chain: tuple[Link, ...]) -> bool:
        """Whether a draw is made by a cell of a notebook from which no training follows."""
        facts = self.found.entry.facts
        if not facts.source.cells or chain[0].scope.facts is not facts:
            return False
        from torchrepro_lint.seeding.cells import is_only_shown  # few programs are notebooks

        return is_only_shown(chain[0].node, facts, self.program)

    def _witness(self, draw: Draw, chain: tuple[Link, ...], level: int) -> Witness:
        now = self.around
        return Witness(
            draw, chain, level, now.process,
            draw.sure and now.doubts == 0, now.cases > 0, now.rare > 0, self.draws,
        )  # fmt: skip

    def _is_expected(self, draw: Draw, kind: str, level: int) -> bool:
        """Whether an equal draw is still to come, so that nothing would be noted of this one, whatever becomes of it.
        What kind of draw a sample is would have to be found out."""
        if kind == "sample" or not self.deferred or not (draw.deferred or self.around.in_use):
            return False
        witness = self._witness(draw._replace(kind=kind), (), level)
        return len(telling((*self.deferred, witness), self.around.arm)) == len(self.deferred)

    def _is_multiplied_away(self, draw: Draw, frame: Frame) -> bool:
        """Whether what is drawn is multiplied with 0 in the call in progress: `render(rays, noise=0)`."""
        other = factor(draw.node, draw.scope)
        values = self.options.values(other, draw.scope, frame) if other is not None else None
        return bool(values) and all(v.value == 0 and not v.settable for v in values or ())

    def _purpose(self, draw: Draw, chain: tuple[Link, ...], frame: Frame | None) -> str:
        """The kind of a sample, by what becomes of it where the program does not train."""
        if any(known(training_mode, step.node, step.scope) for step in chain):
            return "training"
        return purpose(draw, chain, frame, self.options, self.program)

    def _is_seeded_by_workers(self) -> bool:
        """Whether the processes that draw surely seed their generators from torch's: since 1.9 they all do."""
        return self.around.in_workers is True and not may_be(self.program.project.torch_version, "<1.9")

    def _record(self, witness: Witness) -> None:
        """Note a draw that no seed dominates."""
        family, kind = witness.draw.family, witness.draw.kind
        table = self.found.unseeded if witness.level == UNSEEDED else self.found.maybe
        tables = [table, self.found.sampled] if kind in ("sample", "order") and witness.level == UNSEEDED else [table]
        for first in tables:
            named = first.setdefault(family, witness)
            if witness.is_telling and not named.is_telling:
                first[family] = witness
            elif witness.sure and witness.process is named.process:  # the first is named, that one is drawn is sure
                first[family] = named._replace(sure=True)
        self.found.kinds.setdefault(family, set()).add(kind)

    def adds_nothing(self, draws: Iterable[tuple[str, str]], state: State) -> bool:
        """Whether draws of these families and kinds would change neither the state nor what was found."""
        now = self.around
        if state is None or now.in_workers is not False or now.process is not None or now.child is not None:
            return False
        return all(self._is_known(family, kind, state[FAMILIES.index(family)]) for family, kind in draws)

    def _is_known(self, family: str, kind: str, now: Family) -> bool:
        if now.level == SEEDED:
            return family in self.found.drawn
        if kind not in self.found.kinds.get(family, ()):
            return False
        tables = [self.found.maybe]
        if now.level == UNSEEDED:
            is_sample = kind in ("sample", "order")
            tables = [self.found.unseeded, self.found.sampled] if is_sample else [self.found.unseeded]
            if now.early is None or not (now.early.sure or self.around.doubts):
                return False
        named = [table[family] for table in tables if family in table]
        return len(named) == len(tables) and all(w.sure or self._adds_no_doubtful(w) for w in named)

    def _adds_no_doubtful(self, named: Witness) -> bool:
        """Whether no draw could be named here in place of this one, since it is in doubt that the program comes by."""
        return self.around.doubts > 0 and (named.is_telling or self.around.rare > 0)


def seeds(program: Program, name: str | None, call: ast.Call, scope: Scope) -> bool:
    """Whether a call of the external `name`, or of an unknown object, seeds, or is believed to for its name, or takes
    a state, which may be put back."""
    return (
        name in TAKEN
        or name in program.project.seed_functions
        or seeder_of(program, name, call, scope) is not None
        or (_may_seed(program, name, call, scope) and draw_of(program, name, call, scope) is None)
    )


def may_seed(program: Program, name: str | None, written: str) -> bool:
    """Whether a call of the external `name`, which is `written` so, may be one that `seeds`."""
    if name in TAKEN or name in program.project.seed_functions:
        return True
    return is_seeder(name) or _sounds_like_a_seed(name, written) or (name is None and written in seeder_methods())


def kind_of(draw: Draw, program: Program) -> str:
    """The kind of a draw by the catalogue; a sample in a function that initialises makes initial weights."""
    is_init = draw.kind == "sample" and (_initialises(draw.scope, program) or _fills_weights(draw))
    return "init" if is_init else draw.kind


def _may_seed(program: Program, name: str | None, call: ast.Call, scope: Scope) -> bool:
    """An unknown function whose name says that it seeds is believed, but not one that only reads."""
    if not _sounds_like_a_seed(name, last_name(call.func)):
        return False
    if not isinstance(call.func, ast.Attribute):
        return True
    owner = ast.unparse(call.func.value)
    has_own = re.search(_OWN_GENERATORS, owner) is not None
    if program.by_name(has_own, "that an object has a generator of its own", scope, owner):
        return False
    if call.func.attr == "seed" and _is_environment(owner, scope):
        return False
    return not is_own(call.func.value, scope, program)


def _is_environment(owner: str, scope: Scope) -> bool:
    """Whether what is written so is reset and stepped in its file."""
    calls = scope.facts.calls
    functions = ([c.func for c, _ in calls.get(name, ()) if isinstance(c.func, ast.Attribute)] for name in _STEPPED)
    return all(any(ast.unparse(function.value) == owner for function in of_name) for of_name in functions)


@cache
def _sounds_like_a_seed(name: str | None, written: str) -> bool:
    if name in catalogue.table("rng")["runs_files"]["names"]:
        return True
    last = name.rpartition(".")[2] if name else written
    is_known = name is not None and name.partition(".")[0] in _KNOWN
    return not is_known and SEEDS_BY_NAME.search(last) is not None and not last.startswith(_READS)


def _is_asserted(seed: ast.expr, seeder: Seeder) -> bool:
    """Whether the program fails before it seeds with None: `assert seed is not None`."""
    asserted = [c.test for c in conditions(seeder.node, seeder.scope) if isinstance(c.owner, ast.Assert)]
    if not asserted:
        return False
    texts = {f"{ast.unparse(seed)}{test}" for test in ("", " is not None")}
    return any(ast.unparse(test) in texts for test in asserted)


def _raises(seeder: Seeder, seed: ast.expr, program: Program) -> bool:
    """Whether a program fails that seeds with None, here or beside, and tests nowhere whether it has a seed:
    `torch.manual_seed(args.seed)` takes no None."""
    facts = seeder.scope.facts
    if seeder.none != RAISES:
        beside = _taking_numbers(facts, program).get(id(block_of(facts, facts.statement(seeder.node))), ())
        if ast.unparse(seed) not in beside:
            return False
    return not everywhere(_speaks_of_seed, seeder.node, seeder.scope, program)


def _speaks_of_seed(condition: PathCondition) -> bool:
    return "seed" in ast.unparse(condition.test).lower()


@remembered
def _taking_numbers(facts: ModuleFacts, program: Program) -> dict[int, set[str]]:
    """The seeds that calls in a file are given which raise for None, by the blocks of statements."""
    found: dict[int, set[str]] = {}
    rows = catalogue.names("rng", "seeders")
    for call in Module(facts, program).calls({name for name, row in rows.items() if row["none"] == RAISES}):
        statement = facts.statement(call.node)
        if isinstance(statement, ast.Expr) and statement.value is call.node:
            found.setdefault(id(block_of(facts, statement)), set()).update(map(ast.unparse, call.node.args[:1]))
    return found


def _initialises(scope: Scope, program: Program) -> bool:
    """Whether a draw in `scope` makes initial weights, by the name of the function, or of one around it."""
    names = scope.function.name.split(".")
    name = next((n for n in reversed(names) if "init" in n or "reset_param" in n), "")
    return program.by_name(bool(name), "that a function makes weights", scope, name)


def _fills_weights(draw: Draw) -> bool:
    """Whether a draw fills a layer's weights, `m.weight.data.normal_()`, or what a function is given that is called as
    those of PyTorch that do so, `trunc_normal_(tensor)`."""
    function, filled = draw.scope.function, getattr(draw.node.func, "value", None)
    if not last_name(draw.node.func).endswith("_"):
        return False
    if function.own_name.endswith("_") and isinstance(filled, ast.Name):
        return [b.kind for b in function.bindings.get(filled.id, ())][:1] == ["parameter"]
    if isinstance(filled, ast.Attribute) and filled.attr == "data":
        filled = filled.value
    return isinstance(filled, ast.Attribute) and filled.attr in ("weight", "bias")
