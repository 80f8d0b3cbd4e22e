"""What the functions that a loader's workers run draw from: followed through methods, transforms and helpers.

PyTorch seeds `random`, `torch` and numpy's global generator in each worker. Generator objects, and libraries with
generators of their own (augmentations), it copies into every worker as they are. What cannot be followed is unseen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import CallSite, Program, Site, remembered, remembered_in_file
from torchrepro_lint.dataflow.abstract_values import Display, Element, Origin, Parameter, Reference, Result, Unknown
from torchrepro_lint.dataflow.binding import argument_for, value_for
from torchrepro_lint.dataflow.conditions import PathCondition, comes_out, conditions, is_ruled_out
from torchrepro_lint.dataflow.run_constant import is_in_worker
from torchrepro_lint.index import Binding, FunctionNode, ModuleFacts, Scope, arguments_of, calls_in, walk
from torchrepro_lint.loading.exchanged import SetTo
from torchrepro_lint.project.disk import required
from torchrepro_lint.project.unknown import UNKNOWN
from torchrepro_lint.project.versions import allows_from
from torchrepro_lint.rng.draws import draw_of
from torchrepro_lint.rng.generators import is_drawn_from

MAX_CALLS = 1500
MAX_HANDED_ON = 3  # calls, each of which is in a function that the next one calls
_RESEEDING = ("seed", "manual_seed", "setstate", "set_state")
_SEEDERS = {"numpy.random.seed": "numpy", "random.seed": "python"}

DrawKind = Literal["held", "own", "numpy", "python"]


class WorkerDraw(NamedTuple):
    """One draw. A `held` generator was made by `made`, and is the attribute `attribute` of `owner`, if of a class."""

    kind: DrawKind
    facts: ModuleFacts
    node: ast.expr
    made: Result | None = None
    owner: Scope | None = None
    attribute: str = ""
    is_per_item: bool = True  # drawn for one item, not for a whole pass over the data


class WorkerCalls:
    """Follows what is called in a worker; `entry` is the method of the data set with which that began."""

    unseen = False
    entry = ""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.found: list[WorkerDraw] = []
        self.reseeded: set[str] = set()
        self.seeded: list[tuple[str, ast.AST | None]] = []  # for each item: what is seeded, and the test around that
        self.made: dict[int, Result] = {}  # class -> the construction that is looked at
        self._exchanged: dict[tuple[int, str], list[SetTo]] = {}  # by class: what attributes are set to later
        self._seen: set[tuple[int, ...]] = set()
        self._choosing: set[int] = set()  # the attributes whose values are worked out

    def draws(self) -> tuple[WorkerDraw, ...]:
        """What was found, without the generators that are seeded anew in the worker, or for each item."""
        drawn = (draw for draw in self.found if not self._is_seeded(draw))
        return tuple(d for d in drawn if d.kind != "held" or ast.unparse(d.node) not in self.reseeded)

    def _is_seeded(self, draw: WorkerDraw) -> bool:
        """Whether a data set seeds the generator for each item, or under the test under which it draws from it."""
        around = list(draw.facts.ancestors(draw.node))
        return any(draw.kind == family and (test is None or test in around) for family, test in self.seeded)

    def _origins(self, expr: ast.expr, scope: Scope) -> list[Origin]:
        """Where a value comes from; an attribute that a constructor was given, from the call that is looked at, and a
        name, by what that decides: `augment = self.augment if self.train else self.plain`."""
        owner = scope.method_class
        if owner is not None and isinstance(expr, ast.Attribute) and isinstance(expr.value, ast.Name):
            is_own = expr.value.id == scope.function.self_name
            if is_own and (id(owner), expr.attr) in self._exchanged:
                exchanges = self._exchanged[id(owner), expr.attr]
                self.unseen = self.unseen or not exchanges
                return [origin for exchange in exchanges for origin in self._chosen(*exchange)]
            given = self._given(owner, expr.attr) if is_own else []
            if given:
                return [origin for value in given for origin in self._chosen(*value)]
        if isinstance(expr, ast.Name) and scope.method_class is not None and scope.binding_scope(expr.id) is scope:
            if items := self._items(expr.id, scope):
                return [origin for item in items for origin in self.program.origins(*item)]
            arms = [Site(arm, scope) for binding in scope.bindings[expr.id] for arm in _arms(_bound(binding))]
            chosen = self._chosen_arms(arms) if len(arms) > 1 else []
            if 0 < len(chosen) < len(arms) and not any(isinstance(arm.node, ast.Name) for arm in chosen):
                return [origin for arm in chosen for origin in self._origins(*arm)]
        return self.program.origins(expr, scope)

    def _items(self, name: str, scope: Scope) -> list[Site]:
        """What a loop over an attribute goes through, where the constructor call in hand passes it lists that are
        written out: `for transform in self.transforms`."""
        owner, items = scope.method_class, list[Site]()
        match scope.bindings[name]:
            case [Binding(kind="loop", value=ast.Attribute(value=holder) as whole, path=())] if scope.is_self(holder):
                given = self._origins(whole, scope) if owner is not None and self._given(owner, whole.attr) else []
                for origin in given:
                    match origin:
                        case Display(node=ast.List(elts=written) | ast.Tuple(elts=written), scope=where):
                            items += (Site(item, where) for item in written)
                        case _:
                            return []
        return items

    def _chosen(self, passed: Site, within: tuple[CallSite, ...] = ()) -> list[Origin]:
        """Where a value comes from, without what a function returns only for other arguments than those that it has
        there: `transform_for("test")`, or `transform_for(split)` in a call of its own function."""
        call, scope = passed.node, passed.scope
        if isinstance(call, ast.Name) and (owner := scope.binding_scope(call.id)) is not None:
            match owner.bindings.get(call.id):
                case [Binding(kind="assign", value=ast.Call() as made)]:
                    call, scope = made, owner
        callees = self.program.values.callees(call, scope) if isinstance(call, ast.Call) else []
        function = callees[0] if len(callees) == 1 else None
        if not isinstance(call, ast.Call) or not isinstance(function, Scope) or len(within) >= MAX_HANDED_ON:
            return self.program.origins(*passed)
        calls = ((call, scope), *within)
        given = [
            returned for returned in function.returns
            if not is_ruled_out(returned, function, calls[0], self.program, *within)
            and not self._is_ruled_out(returned, function)
        ]  # fmt: skip
        if len(given) == len(function.returns):
            return self.program.origins(*passed)
        return [origin for returned in given for origin in self._chosen(Site(returned, function), calls)]

    def hold(self, owner: Scope, made: Result) -> None:
        """Look at this construction of a class from now on, in the methods that it inherits too."""
        self.made.update({id(base): made for base in self.program.names.classes(owner)})

    def exchange(self, owner: Scope, values: Mapping[str, list[SetTo]]) -> None:
        """Take these values for attributes of the object that is looked at, in place of those that it was made with."""
        for base in self.program.names.classes(owner) if values else ():
            self._exchanged.update({(id(base), attr): value for attr, value in values.items()})

    def _given(self, owner: Scope, attr: str) -> list[SetTo]:
        """What `self.attr` is set to in the constructor call in hand: what that passes, or what it chooses; nothing
        where it does not decide that."""
        made = self.made.get(id(owner))
        if made is None or not isinstance(made.callee, Scope):
            return []
        for base in self.program.names.classes(owner):
            sets = [self.program.values.kept(*pair, made.callee) for pair in base.attributes.get(attr, ())]
            arms = [Site(arm, scope) for binding, scope in sets for arm in _arms(_bound(binding))]
            for value, scope in arms:
                name = value.id if isinstance(value, ast.Name) else ""
                if scope.binding_scope(name) is scope and scope.name.endswith("__init__"):
                    passed = argument_for(made.node, scope, name)
                    if isinstance(passed, ast.expr):
                        return [SetTo(Site(passed, made.scope))]
                    default = self._default(name, scope) if passed is None and self._is_called(scope, made) else None
                    return [SetTo(default)] if default is not None else []
            if arms and all(scope.name.endswith("__init__") for _, scope in sets):
                call = ((made.node, made.scope),) if all(self._is_called(scope, made) for _, scope in arms) else ()
                return [SetTo(arm, call) for arm in self._chosen_arms(arms)] if len(arms) > 1 or call else []
        return []

    def _is_called(self, constructor: Scope, made: Result) -> bool:
        """Whether this is the constructor that a construction calls, and not one of a base class."""
        return isinstance(made.callee, Scope) and self.program.names.method(made.callee, "__init__") is constructor

    def _constructing(self, constructor: Scope, made: Result) -> CallSite | None:
        """The call that runs a constructor: the construction itself, or the one call of it by the constructor of the
        class that is made, `super().__init__(root, seed=seed)`."""
        if self._is_called(constructor, made) or not isinstance(made.callee, Scope):
            return made.node, made.scope
        own = self.program.names.method(made.callee, "__init__")
        calls = [call for call in calls_in(own.node) if _is_super(call)] if own is not None else []
        if own is None or len(calls) != 1 or self.program.values.callees(calls[0], own) != [constructor]:
            return None
        return calls[0], own

    def _default(self, name: str, constructor: Scope) -> Site | None:
        """What a parameter has that the constructor call in hand leaves out, if nothing else is ever bound to it."""
        match constructor.bindings.get(name):
            case [Binding(kind="parameter", value=ast.expr() as value)]:
                return Site(value, constructor.parent or constructor)
        return None

    def _chosen_arms(self, arms: list[Site]) -> list[Site]:
        """Those that are not ruled out. One may stand under a test of the attribute itself: `if not self.ready`."""
        key = id(arms[0].node)
        if key in self._choosing:
            return []
        self._choosing.add(key)
        chosen = [arm for arm in arms if not self._is_ruled_out(*arm)]
        self._choosing.remove(key)
        return chosen

    def is_new(self, *key: object) -> bool:
        """Whether this was not looked at before, and there is time for it."""
        ids = tuple(map(id, key))
        if ids in self._seen:
            return False
        if len(self._seen) > MAX_CALLS:
            self.unseen = True
            return False
        self._seen.add(ids)
        return True

    # -- what is called ----------------------------------------------------------------------------------------
    def methods(self, owner: Scope, names: Iterable[str]) -> bool:
        """Follow the methods of a class that the project defines; whether it has any of them."""
        functions = [m for n in names if (m := self.program.names.method(owner, n)) is not None]
        for function in functions:
            self._function(function)
        return bool(functions)

    def _function(self, scope: Scope) -> None:
        made = self.made.get(id(scope.parent)) if scope.parent is not None else None
        if scope.kind not in ("function", "lambda") or not self.is_new(scope, made):
            return
        for call, where in _calls_inside(scope):
            if not self._is_ruled_out(call, where):
                self._call(call, where)  # not under `if self.train:`, where the constructor is passed `train=False`

    def _is_ruled_out(self, node: ast.AST, scope: Scope) -> bool:
        """Whether a place is not reached with what the constructor call in hand passes."""
        tests = conditions(node, scope)
        return any(comes_out(c.test, lambda read: self._passed(read, scope)) is (not c.holds) for c in tests)

    def _passed(self, read: ast.expr, scope: Scope) -> object:
        """The constant that something read has by what the constructor call in hand passes."""
        given: Site | None = None
        match read:
            case ast.Attribute(attr=attr) if (owner := scope.method_class) is not None and scope.is_self(read.value):
                sets = (base.attributes.get(attr, ()) for base in self.program.names.classes(owner))
                if all(where.name.endswith("__init__") for places in sets for _, where in places):
                    values = self._given(owner, attr)
                    given = values[0].value if len(values) == 1 else None
            case ast.Name(id=name) if scope.name.endswith("__init__"):
                made = self.made.get(id(scope.parent)) if scope.parent is not None else None
                match scope.bindings.get(name):
                    case [Binding(kind="parameter") as parameter] if made is not None:
                        call = self._constructing(scope, made)
                        given = value_for(*call, scope, parameter) if call is not None else None
                        if given is not None and call != (made.node, made.scope) and isinstance(given.node, ast.Name):
                            return self._passed(*given)
            case ast.Constant(value=value):
                return value
        return self.program.literal(given.node, given.scope) if given is not None else UNKNOWN

    def _passes(self, condition: PathCondition, scope: Scope) -> bool:
        """Whether a worker comes through a test the first time: `if worker_info is not None`, and `if not self.seeded`
        around `self.seeded = True`."""
        if is_in_worker(condition.test, scope, self.program) is condition.holds:
            return True
        match condition.test:
            case ast.Attribute(value=holder) as flag if not condition.holds and scope.is_self(holder):
                sets = (node.targets for node in walk(condition.owner) if isinstance(node, ast.Assign))
                return any(ast.unparse(target) == ast.unparse(flag) for targets in sets for target in targets)
        return False

    def _call(self, call: ast.Call, scope: Scope) -> None:
        name = self.program.qualified(call.func, scope)
        if name is not None:
            if name in _SEEDERS and scope.function.name.endswith("__getitem__"):
                around = list(scope.facts.ancestors(call))
                tests = [c.owner for c in conditions(call, scope) if c.owner in around and not self._passes(c, scope)]
                self.seeded.append((_SEEDERS[name], tests[-1] if tests else None))
            draw = draw_of(self.program, name, call, scope)
            if draw is not None and draw.family in ("numpy", "python"):
                self.found.append(WorkerDraw(draw.family, scope.facts, call))  # type: ignore[arg-type]
            self._augments(name, call, scope)
            return
        self._hands_on(call, scope)
        for origin in self._origins(call.func, scope):
            if isinstance(origin, Result | Reference | Element):
                self._origin(origin)
        if isinstance(call.func, ast.Attribute):
            self._receiver(call.func, scope)

    def _receiver(self, function: ast.Attribute, scope: Scope) -> None:
        generators = catalogue.names("loaders", "generators")
        for origin in self._origins(function.value, scope):
            match origin:
                case Result(callee=str() as name) if name in generators:
                    if function.attr in _RESEEDING:
                        self.reseeded.add(ast.unparse(function.value))
                    else:
                        self._held(function.value, origin, scope)
                case Result(callee=str() as name, node=made, scope=where):
                    self._augments(name, made, where)
                case Result(callee=Scope(kind="class") as owner):
                    self.hold(owner, origin)
                    self.methods(owner, (function.attr,))

    def _hands_on(self, call: ast.Call, scope: Scope) -> None:
        """A generator may be passed to a function that draws from it: `crop(image, self.rng)`."""
        generators = catalogue.names("loaders", "generators")
        for passed in (a for a in arguments_of(call) if isinstance(a, ast.Name | ast.Attribute)):
            made = [o for o in self._origins(passed, scope) if isinstance(o, Result) and o.callee in generators]
            if made and is_drawn_from(Site(passed, scope), self.program):
                self._held(passed, made[0], scope)

    def _held(self, holder: ast.expr, made: Result, scope: Scope) -> None:
        """A generator that was made before the workers started: by the module or a constructor."""
        match holder:
            case ast.Name(id=name):
                owner = scope.binding_scope(name)
                if owner is not None and owner.kind == "module":
                    self._note_held(WorkerDraw("held", scope.facts, holder, made))
            case ast.Attribute(value=ast.Name(), attr=attr) if scope.method_class is not None:
                for base in self.program.names.classes(scope.method_class):
                    if sets := base.attributes.get(attr, []):
                        if all(w.function.name.endswith("__init__") for _, w in sets):
                            self._note_held(WorkerDraw("held", scope.facts, holder, made, base, attr))
                        return

    def _note_held(self, draw: WorkerDraw) -> None:
        self.found.append(draw._replace(is_per_item=self.entry != "__iter__"))

    # -- transforms --------------------------------------------------------------------------------------------
    def value(self, expr: ast.expr, scope: Scope) -> None:
        """Something that will be called for each sample or batch."""
        if isinstance(expr, ast.Lambda):
            self._function(scope.children[expr])
            return
        for origin in self.program.origins(expr, scope):
            self._origin(origin)

    def _origin(self, origin: Origin) -> None:
        match origin:
            case Reference(target=Scope() as function):
                self._function(function)
            case Result(callee=Scope(kind="class") as owner):
                self.hold(owner, origin)
                self.methods(owner, ("__call__", "forward"))
            case Result(callee=str() as name, node=made, scope=scope):
                self._transform(name, made, scope)
            case Display(node=ast.List(elts=items) | ast.Tuple(elts=items) as node, scope=scope):
                for item in items if self.is_new(node) else ():
                    self.value(item, scope)
            case Element(iterable=iterable, scope=scope):
                for inner in self._origins(iterable, scope):
                    if isinstance(inner, Display):
                        self._origin(inner)
            case Unknown() | Parameter():
                self.unseen = True

    def passed(self, passed: ast.expr, scope: Scope) -> None:
        """An argument of a data set: of interest when it is something to be called."""
        for origin in self.program.origins(passed, scope):
            if isinstance(origin, Result | Reference | Element):
                self._origin(origin)

    def _transform(self, name: str, made: ast.Call, scope: Scope) -> None:
        if self._augments(name, made, scope) or not self.is_new(made):
            return
        if name.startswith(("torchvision.transforms.", "functools.partial", "torch.nn.Sequential")):
            for part in made.args:
                self._part(part, scope)
        elif any(word in name.lower() for word in ("transform", "augment")):
            self.unseen = True

    def _part(self, part: ast.expr, scope: Scope) -> None:
        if isinstance(part, ast.Lambda):
            self._function(scope.children[part])
        else:
            self.passed(part, scope)
            for origin in self.program.origins(part, scope):
                if isinstance(origin, Display):
                    self._origin(origin)

    def _augments(self, name: str, call: ast.Call, scope: Scope) -> bool:
        """Whether a name belongs to a library with random numbers of its own; notes the draw, if it is one."""
        random = draws_by_itself(name, call, scope, self.program)
        if random:
            self.found.append(WorkerDraw("own", scope.facts, call.func))
        return random is not None


def _bound(binding: Binding) -> ast.expr | None:
    """What an attribute is set to: `self.a = a`, or `self.a, self.b = a, b`."""
    match binding:
        case Binding(kind="assign", value=value):
            return value
        case Binding(kind="unpack", value=ast.Tuple(elts=items), path=(place,)) if place < len(items):
            return items[place]
    return None


def _arms(value: ast.expr | None) -> tuple[ast.expr, ...]:
    """The values that an assignment chooses from."""
    match value:
        case ast.IfExp(body=body, orelse=orelse):
            return (*_arms(body), *_arms(orelse))
        case ast.expr():
            return (value,)
    return ()


def _is_super(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"


@remembered_in_file
def _calls_inside(function: Scope) -> list[CallSite]:
    """What the body of a function calls, and what is defined there."""
    node = function.node
    body = node.body if isinstance(node, FunctionNode) else [node]
    return [(call, function.facts.scope_of(call)) for call in calls_in(*body)]


# -- augmentation libraries --------------------------------------------------------------------------------------------
def draws_by_itself(name: str, call: ast.Call, scope: Scope, program: Program) -> bool | None:
    """Whether the transform that `call` makes draws from generators of its library; None for other libraries."""
    for row in catalogue.table("loaders")["augmentations"]:
        if name.startswith(row["package"] + "."):
            is_old = "since" in row and not _may_be(row["package"], row["since"], scope.facts, program)
            return not is_old and _is_random(row, name, call, scope, program)
    return None


@remembered
def _may_be(package: str, since: str, facts: ModuleFacts, program: Program) -> bool:
    """Whether what the lists of requirements ask for, at the root of the project or nearer, may be so new."""
    folders = [folder for folder in facts.source.path.parents if folder.is_relative_to(program.project.root)]
    asked = (item for folder in folders for item in program.project.disk(required, str(folder), package))
    return all(allows_from(item.specifier, since) for item in asked)


def _is_random(row: Mapping[str, Any], name: str, call: ast.Call, scope: Scope, program: Program) -> bool:
    last = name.rpartition(".")[2]
    if not last[:1].isupper() or {k.arg for k in call.keywords} & set(row["unless"]):
        return False  # a function works on one image, as it is told to
    if last not in row["containers"]:
        return last.startswith(row["random_prefix"]) if "random_prefix" in row else last not in row["plain"]
    return any(
        isinstance(made.callee, str)
        and made.callee.startswith(row["package"] + ".")
        and _is_random(row, made.callee, made.node, made.scope, program)
        for item in _items(call, scope, program)
        for made in program.results(*item)
    )


def _items(call: ast.Call, scope: Scope, program: Program) -> Iterator[Site]:
    """The transforms in the list that a container is given."""
    for origin in program.origins(call.args[0], scope) if call.args else ():
        match origin:
            case Display(node=ast.List(elts=items) | ast.Tuple(elts=items), scope=where):
                yield from (Site(item, where) for item in items)
