"""Environments of reinforcement learning, each with a generator of its own: whether one that is made here, and the
space that its actions are sampled from, are ever given a seed.

Follows an environment through wrappers, attributes and functions of the project. Knows nothing of rules.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Call, Module, Program, Site
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.use import ESCAPED, STOP, Argument, Sink, Steps, Use
from torchrepro_lint.index import Scope, walk

_SEEDS = re.compile(r"seed|np_random(?!\.\w+\()", re.IGNORECASE)  # what only draws seeds nothing
_REGISTERS = re.compile(rb"\bregistration\s+import\b|\b(?:gym|gymnasium)\.(?:envs\.)?register\(")
_SPACES = ("action_space", "single_action_space")
_LOOKED_AT = frozenset(
    f"builtins.{name}" for name in ("isinstance", "print", "type", "len", "hasattr", "str", "repr", "format", "id")
) | {
    "stable_baselines3.common.evaluation.evaluate_policy",  # which resets it as it is
    "joblib.dump", "json.dump", "json.dumps", "pickle.dump", "pickle.dumps", "torch.save",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unseeded:
    """The first place that draws from a generator which is never given a seed: a reset of the environment, the
    sampling of actions, or both; the calls that give the environment a seed, where only its space has none; and the
    calls of `step`, where no wrapper may change what that gives."""

    reset: Site | None
    sampled: Site | None
    seeds: tuple[Site, ...] = ()
    steps: tuple[Site, ...] = ()


def made(module: Module) -> Iterator[Call]:
    """The calls that make an environment, where what they are told of it does not say that it draws nothing."""
    makers, vectors = catalogue.names("environments", "makers"), catalogue.names("environments", "vectors")
    for call in module.calls({*makers, *vectors}):
        is_seeded = call.name in vectors and _may_seed(call, vectors[call.name]["functions"])
        seed = makers[call.name].get("seed") if call.name in makers else None
        is_seeded = is_seeded or (seed is not None and call.given(seed) is not False)
        if call.subclass is None and not is_seeded and not _is_steady(call):
            yield call


def learning(module: Module) -> Iterator[tuple[Call, bool]]:
    """The calls of what learns in an environment whose name it is given, without a seed, and whether it samples actions
    from its space."""
    for call in module.calls(_learners()):
        environment = call.argument("env", 1)
        is_named = isinstance(environment, Site) and isinstance(call.literal("env", 1), str)
        if is_named and call.subclass is None and call.given("seed") is False:
            yield call, bool(_learners()[call.name]["off_policy"])


def learner(site: Site | None, program: Program) -> Call | None:
    """The call at a place, where it is one of what learns in an environment that it is given."""
    if site is None or not isinstance(site.node, ast.Call):
        return None
    name = program.callee(site.node, site.scope)
    return Call(site.node, site.scope, name, program) if isinstance(name, str) and name in _learners() else None


def learns(call: ast.Call, scope: Scope, program: Program) -> bool:
    """`PPO("MlpPolicy", env).learn(1000)`, `PPO.load("agent").learn(1000)`"""
    held = call.func.value if isinstance(call.func, ast.Attribute) else None
    made = program.makers(held, scope) if held is not None else ()
    return any(isinstance(maker, str) and maker.removesuffix(".load") in _learners() for maker in made)


def surely_draws(call: Call) -> bool:
    """Whether it is known by its name that this environment draws when it is reset."""
    return _name(call).startswith(tuple(catalogue.table("environments")["worlds"]["drawing"]))


def may_be_the_projects_own(call: Call, program: Program) -> bool:
    """Whether an environment may be one that the project registers, which may draw from a global generator."""
    registers = program.project.text.any_match(_REGISTERS, (b"register",))
    return registers is not False and not surely_draws(call)


def returns_more(reset: Site) -> bool:
    """Whether a reset gives more than the first observation, as it does since gym 0.26."""
    parent = reset.scope.facts.parents[reset.node]
    is_unpacked = isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Tuple)
    return is_unpacked or (isinstance(parent, ast.Subscript) and parent.value is reset.node)


def returns_info(reset: Site) -> bool:
    """Whether what a reset gives is unpacked into an observation and what is said of it: `state, _ = env.reset()`."""
    match reset.scope.facts.parents[reset.node]:
        case ast.Assign(targets=[ast.Tuple(elts=[_, ast.Name(id=name)])]):
            return name.startswith(("_", "info"))
    return False


def unpacked(step: Site) -> int | None:
    """Into how many names what a step gives is unpacked: five since gym 0.26, which tells apart whether an episode has
    ended or was cut off, and four before."""
    match step.scope.facts.parents[step.node]:
        case ast.Assign(targets=[ast.Tuple(elts=parts)]) if not any(isinstance(p, ast.Starred) for p in parts):
            return len(parts)
    return None


def unseeded(call: Call, program: Program) -> Unseeded | None:
    """Where an environment draws though all that is done with it can be seen, and nothing of it gives it a seed."""
    search = Follow(_POLICY, program)
    found: dict[str, list[Site]] = {}
    for use, site in search.found([Use(call.node, call.scope, None)]):
        found.setdefault(use, []).append(site)
    if search.escaped or "unclear" in found:
        return None
    spaces = {_method(site): site for site in reversed(found.get("space", ()))}
    are_known = spaces.keys().isdisjoint(("seed", "")) and "space seeded" not in found
    reset = found.get("reset", [None])[0] if "seeded" not in found else None
    sampled = spaces.get("sample") if are_known else None
    if sampled is None and are_known:
        sampled = next(iter(found.get("sampled", ())), None)
    steps = found.get("step", ()) if "adapted" not in found else ()
    return Unseeded(reset, sampled, tuple(found.get("seeded", ())), tuple(steps)) if reset or sampled else None


def _judge(use: Use[None], _: Edges) -> Steps | None:
    parent, method = use.parent, use.method
    if not isinstance(parent, ast.Attribute):
        return None
    if parent.attr in ("unwrapped", "env"):
        return (use.at(parent),)
    if parent.attr in _SPACES:
        return (_found("space", parent, use),)
    if parent.attr == "reset" and method is None:
        return (ESCAPED,)
    if parent.attr == "reset" and method is not None:
        return (_found("seeded" if _gives_seed(method[1]) else "reset", method[1], use),)
    if parent.attr == "seed" and method is not None:
        return (_found("seeded", method[1], use),)
    if parent.attr == "step" and method is not None:
        return (_found("step", method[1], use),)
    written = method[1] if method is not None else parent  # `envs.call("seed", 1)`
    return (_found("unclear", use.node, use),) if _speaks_of_seeds(written, use.scope) else STOP


def _found(use: str, node: ast.expr, at: Use[None]) -> Sink[tuple[str, Site]]:
    return Sink((use, Site(node, at.scope)))


def _gives_seed(call: ast.Call) -> bool:
    """Whether a call of `reset` gives a seed, or may."""
    given = [k.value for k in call.keywords if k.arg in ("seed", None)] + call.args
    return any(not (isinstance(value, ast.Constant) and value.value is None) for value in given)


def _passed(use: Use[None], argument: Argument, callee: str | Scope | None, edges: Edges) -> Steps | None:
    """A wrapper stands for what it is given."""
    match callee:
        case str() if callee.startswith(_wrappers()):
            made = use.at(argument.call)
            return STOP if callee.endswith(".__init__") else (*_adapted("Compatibility" in callee, use), made)
        case str() if callee in _LOOKED_AT:
            return STOP
        case str() if callee in _learners():
            return _learned(use, Call(argument.call, use.scope, callee, edges.program))
        case Scope(kind="class") if _wraps(callee, edges):
            is_adapted = edges.program.names.class_member(callee, "step") is not None
            made = use.at(argument.call)
            return (ESCAPED,) if _speaks_of_seeds(callee.node, callee) else (*_adapted(is_adapted, use), made)
    return None


def _learned(use: Use[None], learner: Call) -> Steps:
    """What learns in an environment resets it, and some sample actions from its space."""
    seed = learner.given("seed")
    if seed is not False:
        told = ("seeded", "space seeded") if seed is True else ("unclear",)
        return tuple(_found(what, learner.node, use) for what in told)
    draws = (_found("reset", learner.node, use),)
    return (*draws, _found("sampled", learner.node, use)) if _learners()[learner.name]["off_policy"] else draws


@cache
def _learners() -> Mapping[str, Mapping[str, Any]]:
    return catalogue.names("environments", "learners")


def _adapted(is_adapted: bool, use: Use[None]) -> Steps:
    """What is taken down of a wrapper that may give another interface than what it wraps has."""
    return (_found("adapted", use.node, use),) if is_adapted else ()


@cache
def _wrappers() -> tuple[str, ...]:
    return tuple(catalogue.table("environments")["wrappers"]["names"])


def _wraps(owner: Scope, edges: Edges) -> bool:
    bases = edges.program.names.bases(owner)
    return any(isinstance(base, str) and base.startswith(_wrappers()) for base in bases)


def _method(space: Site) -> str:
    """What of a space is read or called; nothing where it goes elsewhere as a whole."""
    parent = space.scope.facts.parents[space.node]
    return parent.attr if isinstance(parent, ast.Attribute) else ""


def _name(call: Call) -> str:
    """The name of the environment, where it is written out."""
    found = call.literal("env", 1) if call.name in _learners() else call.literal("id", 0)
    return found.rpartition("/")[2] if isinstance(found, str) else ""


def _is_steady(call: Call) -> bool:
    """Whether it begins in one state, and draws nothing."""
    worlds = catalogue.table("environments")["worlds"]
    given = (call.literal(name) is value for name, value in worlds["steady_with"].items())
    return any(given) or _name(call).startswith(tuple(worlds["steady"]))


def _may_seed(call: Call, argument: str) -> bool:
    """Whether the functions that make the parts of an environment may seed them, or cannot be seen."""
    functions = call.argument(argument, 0)
    if not isinstance(functions, Site) or _speaks_of_seeds(functions.node, functions.scope):
        return True
    nodes, program = list(walk(functions.node)), call.program
    named = [program.resolve(n, functions.scope) for n in nodes if isinstance(n, ast.Name | ast.Attribute)]
    called = [program.resolve(n.func, functions.scope) for n in nodes if isinstance(n, ast.Call)]
    parts = [target for target in named if isinstance(target, Scope)]
    known = (*catalogue.names("environments", "makers"), *_wrappers(), "builtins.")
    are_known = all(t.startswith(known) if isinstance(t, str) else t is not None for t in called)
    return not are_known or not (parts or called) or any(_speaks_of_seeds(part.node, part) for part in parts)


def _speaks_of_seeds(node: ast.AST, scope: Scope) -> bool:
    return _SEEDS.search(scope.facts.text(node)) is not None


_POLICY: Policy[None, tuple[str, Site]] = Policy("uses of an environment", _judge, passed=_passed, is_complete=True)
