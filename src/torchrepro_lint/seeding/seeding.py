"""What the walk of a program found, and what follows from it: which draws does no seed dominate?"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import CallSite, Program, Site
from torchrepro_lint.dataflow.conditions import PathCondition, are_exclusive, conditions
from torchrepro_lint.dataflow.enclosing import DEFINITIONS
from torchrepro_lint.dataflow.outcomes import Truth
from torchrepro_lint.dataflow.reached import reached
from torchrepro_lint.index import LoopNode, ModuleFacts, Scope, last_name, walk
from torchrepro_lint.project.entries import Entry
from torchrepro_lint.rng.draws import Draw, Seeder, draw_at
from torchrepro_lint.rng.environments import learns
from torchrepro_lint.rng.updates import is_optimizer

UNSEEDED, MAYBE, SEEDED = 0, 1, 2
_TRAINERS = frozenset({"Trainer", "Seq2SeqTrainer"})  # whose `train` computes gradients out of sight
# What programs call that are more than a trial: options, data that are read, results that are kept, a framework.
_EARNEST = frozenset({"parse_args", "DataLoader", "fit", "LightningCLI", "load", "from_pretrained",
                      "load_state_dict", "open", "imread", "read_csv", "save", "savez", "savefig",
                      "save_pretrained", "to_csv", "dump", "write"})  # fmt: skip
# What a program calls that looks at the gradients of predictions.
_LOOKS = frozenset({"eval", "register_hook", "register_backward_hook", "register_full_backward_hook"})
_FASTAI = ("fit_one_cycle", "fine_tune", "fit_flat_cos")
TRAINS = ("backward", "manual_backward", "fit", "zero_grad", *_FASTAI)
# What makes new parameters of gradients: an optimizer, a framework, or the program itself, which may do it in place.
_IN_PLACE = ("add_", "sub_", "addcdiv_", "lerp_")
_UPDATES = ("step", "fit", "manual_backward", "minimize", *_FASTAI, *_IN_PLACE)
_FITS_NOTHING = ("sklearn.preprocessing.", "sklearn.neighbors.", "cuml.")
_LOOPS = ("fit", "minimize", *_FASTAI)  # what has a loop of its own
# A function that is a program, but no `get_train_split`; others are tried out under a guard.
_PROGRAM = r"(?i)^_*(?:main|train|run|launch)|(?:main|train|run|launch)(?:er|ing)?_*$"
# Names of files and functions that measure how long something takes, how they do it, and what they may do besides.
_MEASURES = (
    r"(?i)(?:^|_)(?:bench(?:mark)?(?:s|ing)?|profil(?:e|er|ing)|latency|throughput|fps|speed(?:_?test)?|run_?time"
    r"|timed|timing)(?:_|$)"
)
_DESCRIBED = (
    r"(?i)\b(?:benchmark|compare|measure|profile|test)s?\b.*\b(?:latency|memory|runtime|speed|time|throughput)\b"
)
_CLOCKS = {"time", "perf_counter", "perf_counter_ns", "time_ns", "elapsed_time", "Timer", "timeit", "do_bench"}
_OF_MEASURING = frozenset({"parse_args", "open", "write", "dump", "load", "load_state_dict", "from_pretrained"})
MAX_TRIES = 5  # rounds of a loop that only sees whether the code runs
_WEIGHTS = frozenset({"load_state_dict", "from_pretrained"})
_LOADS_WEIGHTS = ("load_state_dict", "from_pretrained", "load_from_checkpoint", "pipeline")
LOADS = (*_LOADS_WEIGHTS, "load")
_HOLD_WEIGHTS = (
    "torch.",
    "pickle.",
    "joblib.",
    "dill.",
    "cloudpickle.",
    "onnx.",
)  # packages whose `load` gives any object


class Link(NamedTuple):
    """One call on the way to a draw: where it is written."""

    node: ast.AST
    scope: Scope


class Witness(NamedTuple):
    """A draw and the calls that lead to it, outermost first. `process` is the function of the fresh process
    that it runs in, None in the program's own. `sure` where no test that cannot be worked out decides whether
    the program comes by; `one_case` where such a test compares a setting with one of its values; `rare` where the
    program comes by only if it is asked to. `number` counts the draws in the order of the run. Behind the branch that
    it is drawn in, it `is_unusual` if a setting chose that by a value which it does not have by default."""

    draw: Draw
    chain: tuple[Link, ...]
    level: int
    process: Scope | None = None
    sure: bool = True
    one_case: bool = False
    rare: bool = False
    number: int = 0
    is_unusual: bool = False

    @property
    def is_telling(self) -> bool:
        """Whether it may be named as what the program draws: it runs, or is one of several of which one runs."""
        return self.sure or (self.one_case and not self.rare)

    def says_more_than(self, earlier: Witness) -> bool:
        """Whether it shows better than an earlier draw that the program draws before it seeds."""
        return (self.sure and not earlier.sure) or (earlier.is_unusual and not self.is_unusual)

    @property
    def is_for_items(self) -> bool:
        """Whether it is drawn where a data set makes one of its items."""
        return any(step.scope.function.own_name == "__getitem__" for step in self.chain)


class Late(NamedTuple):
    """A family that is seeded after it was drawn from. `chain` has the calls that lead to the seed, outermost first."""

    witness: Witness
    seeder: Seeder
    chain: tuple[Link, ...]


class SeedMet(NamedTuple):
    """A seed call that the walk came by, how far it is believed, and the calls that lead to it. `seeder` is None
    for a call that is believed to seed for its name. `sure` where no test decides whether the program comes by, `rare`
    where by default it does not; `number` says how many draws came before, `process` is that of `Witness`."""

    node: ast.Call
    scope: Scope
    seeder: Seeder | None
    level: int
    chain: tuple[Link, ...]
    sure: bool = False
    number: int = 0
    process: Scope | None = None
    rare: bool = False

    @property
    def way(self) -> tuple[Link, ...]:
        """The calls that lead to it, outermost first, and the seed call itself."""
        return (*self.chain, Link(self.node, self.scope))

    @property
    def conditions(self) -> Iterator[PathCondition]:
        """The tests on the way that decide whether the program comes by."""
        return (condition for step in self.way for condition in conditions(*step))


@dataclass(eq=False)
class Seeding:
    """What the walk of one entry found. Nothing is claimed where it was given up (`complete` is False)."""

    entry: Entry
    program: Program
    in_package: bool = False  # the file that starts it
    unseeded: dict[str, Witness] = field(default_factory=dict)
    maybe: dict[str, Witness] = field(default_factory=dict)
    sampled: dict[str, Witness] = field(default_factory=dict)  # those of `unseeded` that are no weights
    late: dict[str, Late] = field(default_factory=dict)
    seeders: list[Seeder] = field(default_factory=list)
    conditional: dict[str, Seeder] = field(default_factory=dict)
    kinds: dict[str, set[str]] = field(default_factory=dict)
    files: dict[ModuleFacts, None] = field(default_factory=dict)  # in the order in which they are come by
    reached: set[str] = field(default_factory=set)  # names that are called
    entered: set[Scope] = field(default_factory=set)  # functions of the project that run
    met: list[SeedMet] = field(default_factory=list)
    drawn: dict[str, Witness] = field(default_factory=dict)  # the first draw of each family, seeded or not
    tests: dict[ast.If, Truth] = field(default_factory=dict)
    unfollowed: list[Link] = field(default_factory=list)
    bounds: set[str] = field(default_factory=set)  # those that were hit

    @property
    def complete(self) -> bool:
        """Whether no bound was hit."""
        return not self.bounds

    @cached_property
    def visited(self) -> tuple[ModuleFacts, ...]:
        """The files that the program runs code of."""
        return tuple(self.files)

    @cached_property
    def trains(self) -> bool:
        """Whether gradients are computed anywhere on the path, or in a function of the name of one that is called."""
        if self.is_trained_by_library:
            return True
        if self.reached & _LOOKS and (self.loads_weights or self._is_pretrained) and not self.updates:
            return False  # it looks at the gradients of predictions
        others = [name for name in TRAINS if name != "fit"]
        if not self.reached.isdisjoint(others) or any(self.calls(*others)) or self._is_trained_by_base(others):
            return True
        fits = list(self.calls("fit"))
        return not all(self._prepares_data(*site) for site in fits) if fits else "fit" in self.reached

    def _is_trained_by_base(self, names: Iterable[str]) -> bool:
        """Whether a library of which nothing is known runs methods of the project's that compute gradients: those of a
        class that has what the program calls, `Experiment().run()`, from there only."""
        sites = (site for name in names for facts in self.visited for site in facts.calls.get(name, ()))
        owners = {scope.function.method_class for _, scope in sites} - {None}
        return any(owner is not None and self._runs_methods_of(owner) for owner in owners)

    def _runs_methods_of(self, owner: Scope) -> bool:
        names, bases = self.program.names, self.program.external_bases(owner)
        if all(base.partition(".")[0] in transparent() for base in bases):
            return False
        inherited = [n for n in sorted(self.reached) if re.search(_PROGRAM, n) and names.method(owner, n) is None]
        held = [Site(c.func.value, s) for c, s in self.calls(*inherited) if isinstance(c.func, ast.Attribute)]
        made = (result.callee for site in held for result in self.program.results(*site))
        return any(isinstance(maker, Scope) and owner in names.bases(maker) for maker in made)

    def _prepares_data(self, call: ast.Call, scope: Scope) -> bool:
        """Whether `fit` is that of an encoder, a scaler or neighbours of scikit-learn, which computes no gradients."""
        held = call.func.value if isinstance(call.func, ast.Attribute) else None
        made = self.program.makers(held, scope) if held is not None else ()
        return bool(made) and all(isinstance(m, str) and m.startswith(_FITS_NOTHING) for m in made)

    @property
    def trains_repeatedly(self) -> bool:
        """Whether a loop computes gradients again and again, or a library does; not a step or two that are shown."""
        if self.is_trained_by_library:
            return True

        def callers(name: str) -> set[str]:
            return {_called_as(scope.function) for _, scope in self.calls(name)} - {""}

        for name in reached([*TRAINS, *_UPDATES], callers):
            if any(name in _LOOPS or is_in_loop(call, scope.facts) for call, scope in self.calls(name)):
                return True
            if any(not any(self.calls(caller)) for caller in callers(name)):
                return True  # something out of sight calls it, as often as it likes
        return False

    @property
    def is_trained_by_library(self) -> bool:
        """Whether a library computes the gradients: its trainer, or what learns in an environment."""
        if "LightningCLI" in self.reached or ("train" in self.reached and self.reached & _TRAINERS):
            return True
        engines = catalogue.names("frameworks", "engines")
        if any(engines[name]["method"] in self.reached for _, name in self.calls_of(engines)):
            return True
        return any(self._is_by_library(*site) for site in self.calls("train", "run")) or any(
            learns(call, scope, self.program) for call, scope in self.calls("learn")
        )

    def _is_by_library(self, call: ast.Call, scope: Scope) -> bool:
        """`trainer.train(...)` of a library's `SupervisedTrainer`, or of what it hands an optimizer to: the gradients
        are computed out of sight."""
        if any(is_optimizer(given, scope, self.program) for given in call.args) and not self.program.runs(call, scope):
            return True
        if (drawn := draw_at(call, scope, self.program)) is not None and drawn.kind == "training":
            return True
        held = call.func.value if isinstance(call.func, ast.Attribute) else None
        made = self.program.results(held, scope) if held is not None else []
        told = next(
            (name for o in made for name in self._trained_by(o.callee, last_name(call.func)) if _is_trainer(name)), ""
        )
        return self.says(bool(told), "that a library trains", told)

    def _trained_by(self, maker: str | Scope | None, method: str) -> Sequence[str]:
        """What gives an object its `train` or `run`, of external names; of a class of the project, its bases."""
        if isinstance(maker, Scope):
            own = self.program.names.class_member(maker, method) if maker.kind == "class" else maker
            return () if own is not None else self.program.external_bases(maker)
        return (maker,) if maker is not None else ()

    @property
    def _is_pretrained(self) -> bool:
        """Whether a model is asked for with its weights: `resnet18(weights="DEFAULT")`."""
        calls = (call for facts in self.visited for call, _ in facts.every_call())
        asked = (k.value for call in calls for k in call.keywords if k.arg in ("pretrained", "weights"))
        return any(
            value.value not in (None, False) if isinstance(value, ast.Constant) else "Weights." in ast.unparse(value)
            for value in asked
        )

    @property
    def updates(self) -> bool:
        """Whether anything in the files of the program may change parameters by their gradients. What a `forward` does
        in place keeps statistics."""
        calls = ((name, site) for facts in self.visited for name in _UPDATES for site in facts.calls.get(name, ()))
        return any(name not in _IN_PLACE or scope.function.own_name != "forward" for name, (_, scope) in calls) or any(
            self.runs(read, facts.scope_of(read))
            and not isinstance(facts.parents[read], ast.Call)
            and not isinstance(facts.statement(read), ast.Assert)
            for facts in self.visited
            for read in facts.reads(facts.tree).of_attribute("grad")
        )

    def runs(self, node: ast.AST, scope: Scope) -> bool:
        """Whether `node` may run: the function around it is entered, or something of that name is called; at the top
        of a module, whether it stands under no guard but the program's own; nobody imports a notebook."""
        function = scope.function
        if function.kind != "module":
            return function in self.entered or (function.own_name in self.reached and self._may_be_called(function))
        return scope.facts is self.entry.facts or not (scope.facts.in_guard(node) or scope.facts.source.cells)

    def _may_be_called(self, function: Scope) -> bool:
        """Whether a call of a function's name may mean it: `json.load` means no plain `load` of the project, and no
        call the constructor of a class that nobody names."""
        owner = function.method_class
        if owner is not None:
            return function.own_name != "__init__" or self.names(owner)
        sites = [site for facts in self.visited for site in facts.calls.get(function.own_name, ())]
        if sites and all(_is_of_object(*site) for site in sites):
            return False
        own = self.entry.facts
        sites = [s for s in sites if s[1].facts is own or not s[1].facts.in_guard(s[0])] or sites
        called = {callee for site in sites for callee in self.program.values.callees(*site)}
        return not sites or not called.isdisjoint({function, None})

    def names(self, owner: Scope) -> bool:
        """Whether some file of the program may name a class, its own file where something besides its methods does."""
        reads = owner.facts.reads(owner.facts.tree).of_name(owner.own_name)
        if any(owner.facts.scope_of(read).method_class is not owner for read in reads):
            return True
        naming = self.program.project.text.mentioning(owner.own_name)
        others = {facts.source.path for facts in self.visited} - {owner.facts.source.path}
        return naming is None or not others.isdisjoint(naming)

    def calls(self, *names: str) -> Iterator[CallSite]:
        """The calls of these names that may run, name by name."""
        sites = (site for name in names for facts in self.visited for site in facts.calls.get(name, ()))
        return (site for site in sites if self.runs(*site))

    def calls_of(self, names: Collection[str]) -> Iterator[tuple[ast.Call, str]]:
        """The calls of these external names that may run, each with its name."""
        for call, scope in self.calls(*catalogue.last_parts(names)):
            name = self.program.callee(call, scope)
            if name is not None and name in names:
                yield call, name

    @cached_property
    def is_launcher(self) -> bool:
        """Whether it runs what another file starts under its own guard: a program that is judged by itself."""
        started = {
            (facts, call.func.id)
            for facts in self.visited
            if facts is not self.entry.facts and facts.guard is not None
            for call in walk(facts.guard)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and re.search(_PROGRAM, call.func.id)
        }
        return any((function.facts, function.name) in started for function in self.entered)

    @cached_property
    def loads_weights(self) -> bool:
        """Whether a checkpoint is loaded anywhere on the path, as far as can be told."""
        if not self.reached.isdisjoint(_LOADS_WEIGHTS):
            return True
        return "load" in self.reached and any(self._may_give_weights(*site) for site in self.calls("load"))

    def _may_give_weights(self, call: ast.Call, scope: Scope) -> bool:
        """Whether a `load` is none of a format for data, nor in a data set, nor the project's own."""
        if self.program.functions_run(call, scope):  # whose own calls are followed
            return False
        name, owner = self.program.callee(call, scope), scope.method_class
        if name is not None and not name.startswith(_HOLD_WEIGHTS):
            return False
        return owner is None or not any("Dataset" in b for b in (owner.name, *self.program.external_bases(owner)))

    @cached_property
    def is_trial(self) -> bool:
        """Whether this is the guard of a module, which takes a step or two with made-up input to see that the code
        runs: it reads nothing, but weights where it makes nothing of the gradients, keeps nothing, and trains in no
        loop; or a program, with a guard or in a package, that only measures how long made-up work takes. A module lies
        in a package, or defines what is called on, and runs no function that is a program."""
        if not self.entry.is_guarded:
            return self.in_package and self.measures_time
        if self.measures_time:
            return True
        is_in_vain = "backward" in self.reached and not self.updates
        earnest = (_EARNEST | _TRAINERS) - (_WEIGHTS if is_in_vain else set())
        if not (self.in_package or self._is_of_layers) or not self.reached.isdisjoint(earnest):
            return False
        return not any(is_in_loop(call, scope.facts) for call, scope in self.calls("backward", "step"))

    @property
    def is_made_up(self) -> bool:
        """Whether the program draws what it computes with itself, outside of any class, and reads and keeps nothing."""
        return self.is_made_up_by("torch")

    def is_made_up_by(self, family: str) -> bool:
        """The same, by one generator."""
        first = self.sampled.get(family)
        is_input = first is not None and first.draw.kind == "sample" and first.draw.scope.function.method_class is None
        return is_input and not self._is_earnest

    @property
    def is_shown(self) -> bool:
        """Whether the program prints what it computes, and reads and keeps nothing."""
        return any(self.calls("print")) and not self._is_earnest

    @property
    def _is_earnest(self) -> bool:
        has_options = "parse_args" not in self.reached or "add_argument" in self.reached
        found = self.reached & ((_EARNEST if has_options else _EARNEST - {"parse_args"}) | _TRAINERS)
        return bool(found) and (found != {"write"} or not all(map(_is_shown, self.calls("write"))))

    @property
    def _is_of_layers(self) -> bool:
        """Whether the file that starts the program defines layers or losses, and runs no function called a program."""
        facts = self.entry.facts
        classes = (s for s in facts.scope.children.values() if s.kind == "class")
        if self.reached & {"main", "run"}:
            return False
        is_program = any(re.search(_PROGRAM, function.own_name) for function in self.entered)
        return not is_program and any("forward" in owner.bindings for owner in classes)

    @property
    def measures_time(self) -> bool:
        """Whether the program reads the clock around what it does with made-up input, and is called or described after
        that, or makes nothing of the gradients."""
        if self.reached & ((_EARNEST | _TRAINERS) - _OF_MEASURING) or not self.reached & _CLOCKS:
            return False
        if not self.updates and not self.reached.isdisjoint(TRAINS):
            return True
        names = (self.entry.facts.source.path.stem, *(f.own_name for f in self.entered))
        described = re.search(_DESCRIBED, ast.get_docstring(self.entry.facts.tree) or "")
        told = next((name for name in sorted(names) if re.search(_MEASURES, name)), described and described[0])
        return self.says(bool(told), "that a program measures time", told or "")

    def says(self, found: bool, what: str, name: str) -> bool:
        """Whether a name says `what` of the program, which is counted."""
        return self.program.by_name(found, what, self.entry.facts.scope, name)

    def missing(self, family: str) -> tuple[Witness, bool] | None:
        """The first draw that no seed dominates, and whether that is certain; None when there is none."""
        return self.unseeded_draw(family) if self.complete else None

    def unseeded_draw(self, family: str) -> tuple[Witness, bool] | None:
        """The same of a program that was not followed to its end: what it seeds there is not known."""
        own, behind_option = self.unseeded.get(family), self.maybe.get(family)
        late = self.late.get(family)
        if (late is not None and not _is_on_another_way(own, late)) or not self._matters(family):
            return None
        if own is not None and not self.trains:
            own = self.sampled.get(family, own)
        if own is not None and own.draw.kind == "stand-in" and any(family in s.families for s in self.seeders):
            own = None  # the seed makes up for it
        if own is not None and own.process is None:
            return own, own.sure and (self.trains or not own.is_for_items)  # the item may not depend on it
        if behind_option is not None:
            return behind_option, False
        if own is not None:
            return own, not any(family in s.families for s in self.seeders)
        return None

    def seeded_late(self, family: str) -> Late | None:
        """The seed that comes after a draw which has a say, whether or not the program trains: who seeds wants it.
        Initial weights have none where others are loaded over them, in all of a program or on the way to that seed."""
        late = self.late.get(family)
        if late is None or not self.complete or self.is_trial:
            return None
        if late.witness.is_unusual:
            return None
        is_trained = self.trains and not _is_on_another_way(self.unseeded.get(family), late)
        return late if is_trained or late.witness.draw.kind != "init" or not self.loads_weights else None

    def _matters(self, family: str) -> bool:
        """A program that trains uses all it draws. One that loads a model samples from it, with numbers of any family,
        or shows it items of a data set, which draws them. Any other is looked at only when it shuffles or splits data:
        a random input to try a model out is no result, and numpy's numbers may be the colours of a plot. Nor is what a
        trial draws."""
        kinds = self.kinds.get(family, set())
        if self.is_trial:
            return False
        if self.trains:
            return bool(kinds)
        first = self.unseeded.get(family) or self.maybe.get(family)
        if self.loads_weights and first is not None:
            if "sample" in self.kinds.get("torch", ()):
                return bool(kinds & {"sample", "order"}) and (family == "torch" or first.sure)
            if first.sure and first.is_for_items:
                return True
        return family != "torch" and "order" in kinds


def _is_on_another_way(draw: Witness | None, late: Late) -> bool:
    """Whether a run that comes by a draw does not come by the seed: it is asked for one of two things."""
    ways = zip(draw.chain, late.chain, strict=False) if draw is not None else ()
    fork = next(((a, b) for a, b in ways if a.node is not b.node), None)
    return fork is not None and are_exclusive(*fork)


def _is_of_object(call: ast.Call, scope: Scope) -> bool:
    """Whether a call is of a method of something that the code binds itself, so of no module's function:
    `model.train(False)`."""
    root = call.func
    if not isinstance(root, ast.Attribute):
        return False
    while isinstance(root, ast.Attribute):
        root = root.value
    made = scope.bindings_of(root) if isinstance(root, ast.Name) else ()
    return bool(made) and all(b.kind != "import" for b in made)


@cache
def transparent() -> frozenset[str]:
    """The packages that build nothing which is trained, or whose draws are known."""
    return frozenset(("builtins", *sys.stdlib_module_names, *catalogue.table("callables")["transparent"]["packages"]))


def _is_trainer(name: str) -> bool:
    package, last = name.partition(".")[0], name.rpartition(".")[2]
    return last.endswith(("Trainer", "_trainer", "Runner", "_runner")) and package not in transparent()


def _called_as(function: Scope) -> str:
    """The name by which a function is called; empty for a module."""
    if function.kind == "module":
        return ""
    owner = function.method_class
    return owner.name if owner is not None and function.name in ("__init__", "__call__") else function.name


def is_in_loop(node: ast.AST, facts: ModuleFacts) -> bool:
    """Whether a loop of the same function runs `node` more than a few times."""
    for parent in facts.ancestors(node):
        is_loop = isinstance(parent, LoopNode)
        if is_loop and not (isinstance(parent, ast.For) and _is_short(parent.iter)):
            return True
        if isinstance(parent, DEFINITIONS):
            return False
    return False


def _is_short(iterated: ast.expr) -> bool:
    """Whether a loop over this has a few rounds, which is written out: `range(3)`, `(1, 2)`."""
    match iterated:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int() as rounds)]):
            return rounds <= MAX_TRIES
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return len(items) <= MAX_TRIES and not any(isinstance(item, ast.Starred) for item in items)
    return False


def _is_shown(site: CallSite) -> bool:
    """Whether what is written goes to the screen: `sys.stdout.write(...)`."""
    return ast.unparse(site[0].func).startswith(("sys.stdout.", "sys.stderr."))
