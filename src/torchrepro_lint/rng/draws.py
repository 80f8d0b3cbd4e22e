"""What a call does to the global random number generators, by the catalogue: draws, seeds, takes or puts
back their states, or none of that."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import UNKNOWN, Call, Program, Site, remembered_in_file
from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.dataflow.grafts import graft
from torchrepro_lint.dataflow.options import outcome
from torchrepro_lint.index import ModuleFacts, Scope, last_name
from torchrepro_lint.rng.fresh_weights import drawn_weights, may_draw_weights
from torchrepro_lint.rng.library_objects import LibraryObject

_OWN_SEEDS = frozenset({"seed", "random_state"})  # arguments with which a call draws from a generator of its own
_GENERATOR = re.compile(r"(?i)^_*(?:rng|random|generator)|(?:rng|random|generator|random_state)$")
_BUILT: Mapping[str, Any] = {}  # a model of transformers, or what is added to one
TAKEN = {
    "torch.get_rng_state": "torch",
    "torch.random.get_rng_state": "torch",
    "torch.default_generator.get_state": "torch",
    "numpy.random.get_state": "numpy",
    "random.getstate": "python",
}
"""The calls that take a state, and the family that it is of."""

PUT = {
    "torch.set_rng_state": "torch",
    "torch.random.set_rng_state": "torch",
    "torch.default_generator.set_state": "torch",
    "numpy.random.set_state": "numpy",
    "random.setstate": "python",
}
"""The calls that put one."""


class Draw(NamedTuple):
    """A call that draws from the global generator of `family`; for `kind` see the catalogue. One that is `deferred`
    only makes an object, which draws when it is used. Given the argument `seed`, the call draws from a generator of
    its own. It is not `sure` where it depends on what is not seen."""

    family: str
    kind: str
    node: ast.Call
    scope: Scope
    what: str
    deferred: bool = False
    seed: str = ""
    sure: bool = True


class Seeder(NamedTuple):
    """A call that seeds `families`; `seed` is the seed's expression, None when it is left out. With one of the values
    `off` it seeds nothing."""

    families: tuple[str, ...]
    node: ast.Call
    scope: Scope
    seed: ast.expr | None
    none: str
    off: tuple[object, ...] = ()

    def is_off(self, value: object) -> bool:
        """Whether the call leaves the program unseeded with this value as its seed."""
        return (value is None and self.none != "constant") or any(value is switch for switch in self.off)


def _rows(kind: str) -> Mapping[str, Mapping[str, Any]]:
    return catalogue.names("rng", kind)


def _loaders() -> Mapping[str, Mapping[str, Any]]:
    return catalogue.names("loaders", "loaders")


def _named_row(name: str) -> Mapping[str, Any] | None:
    """The row of an external function or class."""
    return _rows("draws").get(name) or (_BUILT if may_draw_weights(name) else None)


def draw_of(program: Program, name: str | None, call: ast.Call, scope: Scope) -> Draw | None:
    """The draw that a call makes; `name` is its external callee, None for a method of an unknown object."""
    if name is not None and name in _loaders():
        return _loader_draw(Call(call, scope, name, program))
    row = _named_row(name) if name else _unnamed_row(call, scope, program)
    if row is None:
        row = _distribution_row(name, call, scope, program) or _asked_row(name, call, scope, program)
    if row is None or _is_multiplied_away(call, scope, program):
        return None
    site = Call(call, scope, name or "", program)
    if row is _BUILT:
        return _weights_draw(site)
    if any(site.argument(a) is not None and site.given(a) is not False for a in row.get("unless", ())):
        draws_in_use = site.name.rpartition(".")[2] in row.get("in_training", ())  # as dropout does
        return Draw(row["family"], "init", call, scope, site.written, deferred=True) if draws_in_use else None
    for argument, wanted in row.get("only_if", {}).items():
        if site.literal(argument, default=wanted) not in (wanted, UNKNOWN):
            return None
    kind = _kind_in_training(row, site) if "training" in row else str(row["kind"])
    if kind is None:
        return None
    seed = next((a for a in row.get("unless", ()) if a in _OWN_SEEDS), "")
    return Draw(row["family"], kind, call, scope, site.written, bool(row.get("deferred")), seed, row.get("sure", True))


def draw_at(call: ast.Call, scope: Scope, program: Program) -> Draw | None:
    """What a call draws, by whatever it turns out to call."""
    return draw_of(program, program.callee(call, scope), call, scope)


def may_draw(name: str | None, written: str) -> bool:
    """Whether a call of the external `name`, which is `written` so, may be one that draws."""
    if name in _loaders() or (name and _named_row(name) is not None) or written in _rows("distribution_methods"):
        return True
    return name is None and (written in _rows("methods") or written in _rows("data_set_methods"))


def is_seeder(name: str | None) -> bool:
    """Whether the external `name` is a function that seeds."""
    return name in _rows("seeders")


def _kind_in_training(row: Mapping[str, Any], site: Call) -> str | None:
    """The kind of what is drawn in training alone; None outside of it."""
    training = site.literal("training", row["training"]["position"], default=row["training"]["default"])
    return "training" if training is UNKNOWN else str(row["kind"]) if training else None


def _is_multiplied_away(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether what is drawn counts for nothing: `x + torch.randn_like(x) * 0`."""
    other = factor(call, scope)
    return other is not None and program.literal(other, scope) == 0


def factor(call: ast.Call, scope: Scope) -> ast.expr | None:
    """The name or number that what is drawn is multiplied with."""
    match scope.facts.parents.get(call):
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            other = right if left is call else left
            return other if isinstance(other, ast.Name | ast.Constant) else None
    return None


def _unnamed_row(call: ast.Call, scope: Scope, program: Program) -> Mapping[str, Any] | None:
    """The row of a call of a method, or of an object that a library has made."""
    row = _rows("methods").get(call.func.attr) if isinstance(call.func, ast.Attribute) else None
    if row is not None and "of_generators" in row and _is_generator(call.func.value, scope, program):  # type: ignore[attr-defined]
        return None
    if row is not None and _has_what_it_needs(row, Call(call, scope, "", program)):
        return row
    return _data_set_row(call, scope, program) or _object_row(call, scope, program)


def _is_generator(expr: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether an expression is a generator of random numbers, by what makes it or by its name."""
    made = (maker for maker in program.makers(expr, scope) if isinstance(maker, str))
    return _GENERATOR.search(last_name(expr)) is not None or any(name.startswith("numpy.") for name in made)


def _data_set_row(call: ast.Call, scope: Scope, program: Program) -> Mapping[str, Any] | None:
    """The catalogue's row of a call that draws, unless a keyword or `shuffle=False` keeps it from that."""
    function = call.func
    row = _rows("data_set_methods").get(function.attr) if isinstance(function, ast.Attribute) else None
    if row is None or not isinstance(function, ast.Attribute):
        return None
    is_given = len(call.args) > row["position"].get(function.attr, len(call.args))
    objects = LibraryObject(program, frozenset(row["makers"]), unless=row["streams"])
    return row if not is_given and objects.holds(function.value, scope) else None


def _object_row(call: ast.Call, scope: Scope, program: Program) -> Mapping[str, Any] | None:
    """`generator = pipeline("text-generation"); generator(prompt, do_sample=True)`"""
    rows = _rows("called_objects")
    if not _may_call_objects(scope.facts):
        return None
    for made in program.results(call.func, scope):
        if (row := rows.get(str(made.callee))) is not None:
            calls = (Call(call, scope, "", program), Call(made.node, made.scope, "", program))
            if any(_has_what_it_needs(row, site) for site in calls):
                return row
    return None


@remembered_in_file
def _may_call_objects(facts: ModuleFacts) -> bool:
    """Whether a file mentions an argument that such a row needs."""
    rows = _rows("called_objects").values()
    return any(argument in facts.source.text for row in rows for argument in row["needs"])


def _has_what_it_needs(row: Mapping[str, Any], site: Call) -> bool:
    return all(_given(site, argument, row) == value for argument, value in row.get("needs", {}).items())


def _given(site: Call, argument: str, row: Mapping[str, Any]) -> object:
    """An argument of a call; if it has none, of what makes the configuration that is passed."""
    is_written = any(k.arg == argument for k in site.node.keywords)
    held = site.argument(row["within"]) if "within" in row and not is_written else None
    if not isinstance(held, Site):
        return site.literal(argument)
    made = site.program.origins(held.node, held.scope)
    calls = [Call(o.node, o.scope, "", site.program) for o in made if isinstance(o, Result)]
    values = {call.literal(argument) for call in calls}
    return values.pop() if len(values) == 1 and len(calls) == len(made) else UNKNOWN


def _distribution_row(name: str | None, call: ast.Call, scope: Scope, program: Program) -> Mapping[str, Any] | None:
    """The row of a call that samples from a distribution, made in place or elsewhere, or through `super()`."""
    function = call.func
    row = _rows("distribution_methods").get(function.attr) if isinstance(function, ast.Attribute) else None
    if row is None or not isinstance(function, ast.Attribute):
        return None
    makers = (name,) if name else program.makers(function.value, scope)
    return row if any(isinstance(m, str) and m.startswith(tuple(row["packages"])) for m in makers) else None


def _asked_row(name: str | None, call: ast.Call, scope: Scope, program: Program) -> Mapping[str, Any] | None:
    """The row of a call that is asked to draw by an argument: `model.generate(ids, do_sample=True)`."""
    for row in catalogue.table("rng")["asked"]:
        package, _, last = (name or "").rpartition(".")
        if name is not None and (package.partition(".")[0] != row["package"] or last not in row["names"]):
            continue  # a configuration, or an object that is only made
        site = Call(call, scope, "", program)
        given = _given(site, row["argument"], row)
        if given is True or (given is UNKNOWN and _is_usual(site.argument(row["argument"]), program)):
            found: Mapping[str, Any] = row if given is True else {**row, "sure": False}
            return found
    return None


def _is_usual(argument: object, program: Program) -> bool:
    """Whether an argument is true unless an option is given: `do_sample=temperature > 0`."""
    return isinstance(argument, Site) and outcome(argument.node, argument.scope, program).usual is True


def _loader_draw(site: Call) -> Draw | None:
    shuffle = site.literal("shuffle", _loaders()[site.name]["positions"].get("shuffle"), default=False)
    if not shuffle or site.argument("generator") is not None:
        return None
    return Draw("torch", "shuffle", site.node, site.scope, site.written, deferred=True)


def _weights_draw(site: Call) -> Draw | None:
    drawn = drawn_weights(site)
    return Draw("torch", "init", site.node, site.scope, site.written, sure=drawn.sure) if drawn is not None else None


def seeder_of(program: Program, name: str | None, call: ast.Call, scope: Scope) -> Seeder | None:
    """The seeding that a call of the external function `name`, or of a method of an unknown object, does, whatever its
    seed."""
    row = _rows("seeders").get(name) if name is not None else _seeder_method(call, scope, program)
    if row is None:
        return None
    site = Call(call, scope, name or "", program)
    seed = _configured(row, site) or site.argument(row["seed"], row.get("position"))
    known = seed.node if isinstance(seed, Site) else None
    is_constant = seed is None and row.get("default") == "constant"
    none = "constant" if is_constant else str(row["none"])
    return Seeder(tuple(row["families"]), call, scope, known, none, tuple(row.get("off", ())))


def _configured(row: Mapping[str, Any], site: Call) -> Site | None:
    """The seed that a configuration file gives: of files that the user may choose, one that keeps it from seeding."""
    if "entry" not in row:
        return None
    from torchrepro_lint.dataflow.instantiated import entries  # few programs get here

    found = sorted(entries(site, row["entry"]), key=lambda entry: not _is_off(row, entry.node))
    return Site(graft(found[0]), found[0].scope) if found else None


def _is_off(row: Mapping[str, Any], value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and any(value.value is switch for switch in row["off"])


def _seeder_method(call: ast.Call, scope: Scope, program: Program) -> Mapping[str, Any] | None:
    function = call.func
    row = seeder_methods().get(function.attr) if isinstance(function, ast.Attribute) else None
    if row is None or "made_by" not in row or is_made_by(row, function.value, scope, program):  # type: ignore[attr-defined]
        return row
    return None


def seeder_methods() -> Mapping[str, Mapping[str, Any]]:
    """Name -> row, of the methods of objects from outside the project that seed."""
    return _rows("seeder_methods")


def is_made_by(row: Mapping[str, Any], expr: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether an expression is an object of one of the classes that have the methods of a row."""
    if program.project.text.mentioning(row["made_by"][0].partition(".")[0]) == []:
        return False
    return program.is_made_by(row["made_by"], expr, scope)


# -- states -----------------------------------------------------------------------------------------------------------
def is_taken(state: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether an expression may hold what calls of the program took, which seeds nothing where it is put back."""
    parts = state.elts if isinstance(state, ast.Tuple) else [state]  # `random.setstate((version, tuple(words), gauss))`
    return any(_is_of_taken(part, scope, program) for part in parts)


def _is_of_taken(part: ast.expr, scope: Scope, program: Program) -> bool:
    """The same of one item, which `version, words, gauss = state` may have given a name."""
    owner = scope.binding_scope(part.id) if isinstance(part, ast.Name) else None
    bindings = owner.bindings[part.id] if owner is not None and isinstance(part, ast.Name) else []
    if owner is not None and len(bindings) == 1 and bindings[0].value is not None and bindings[0].path:
        part, scope = bindings[0].value, owner
    return not TAKEN.keys().isdisjoint(program.makers(part, scope))
