"""Which generators the fix of TRP101 seeds: those that are missing where the process seeds others; else all that
something may draw from, seen or not.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.dataflow.abstract_values import Constant
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.options import outcome
from torchrepro_lint.dataflow.outcomes import Truth
from torchrepro_lint.index import Binding, ModuleFacts, Scope, walk
from torchrepro_lint.project.disk import required
from torchrepro_lint.project.versions import allowed_in, allows_from
from torchrepro_lint.rng import estimators
from torchrepro_lint.rng.draws import draw_at
from torchrepro_lint.rng.predicates import about_seed
from torchrepro_lint.seeding.discarded import is_besides
from torchrepro_lint.seeding.seeding import SEEDED, Seeding, SeedMet
from torchrepro_lint.seeding.unfollowed import may_use_tensors, named_code, uses_tensors
from torchrepro_lint.seeding.unseeded import Unseeded

_MAKERS = frozenset({"gym.make", "gymnasium.make"})
_NEW_TRANSFORMS = "torchvision.transforms.v2."
_SEEDS = frozenset({"generator", "random_state", "rng", "seed"})
SEED_CALLS = {"python": ("random", "seed"), "numpy": ("numpy", "random.seed"), "torch": ("torch", "manual_seed")}


def families_of(program: Program, seeding: Seeding, found: Unseeded, process: Scope | None) -> list[str]:
    """Those that are missing where the process seeds others; else all that something may draw from."""
    missing = {f for f, w in found.draws.items() if w.process is process} or set(found.named)
    if is_fresh(program, seeding, process):
        missing |= {"torch"} if uses_tensors(seeding) and not _leaves_torch_alone(seeding, found, program) else set()
        has = {"python": _has_random(program, seeding), "numpy": _has_numpy(program, seeding)}
        missing |= {f for f, is_there in has.items() if is_there and _may_draw(f, seeding, found, program)}
    return [family for family in SEED_CALLS if family in missing]


def is_fresh(program: Program, seeding: Seeding, process: Scope | None) -> bool:
    """Whether a process seeds no generator in any case."""
    seeds = (m for m in seeding.met if m.level == SEEDED and m.process is process)
    return all(may_be_left_out(program, m) for m in seeds)


def _leaves_torch_alone(seeding: Seeding, found: Unseeded, program: Program) -> bool:
    """Whether a file that does not import torch starts a program that is known all through, draws from others, and
    reaches nothing that computes gradients."""
    is_known = seeding.complete and bool(found.draws) and "torch" not in found.draws
    if not is_known or "torch" in seeding.entry.facts.packages:
        return False
    computing = program.project.text.containing("backward")
    run = {facts.source.path for facts in seeding.visited}.union(
        program.project.reachable(seeding.entry.facts.source.path)
    )
    return computing is not None and run.isdisjoint(computing)


def _has_random(program: Program, seeding: Seeding) -> bool:
    """Whether the program imports `random`, or may compute with tensors: what prepares these may draw from it."""
    return any("random" in facts.packages for facts in seeding.visited) or may_use_tensors(seeding, program)


def _has_numpy(program: Program, seeding: Seeding) -> bool:
    """Whether the program or a library that it uses imports numpy: a program may run where it is not installed."""
    with_it = catalogue.table("rng")["numpy"]["imported_by"]
    if any(not facts.packages.isdisjoint(with_it) for facts in seeding.visited):
        return True
    naming = program.project.text.mentioning("numpy")
    return bool(naming) and not program.project.reachable(seeding.entry.facts.source.path).isdisjoint(naming or ())


def _may_draw(family: str, seeding: Seeding, found: Unseeded, program: Program) -> bool:
    """Whether anything may draw from a generator out of sight: a function that is called only by its name, a library
    that is not known for not doing so, or what the program chooses at run time."""
    named = named_code(seeding, program)
    if named is None or not (found.draws or named) or not seeding.complete:
        return True
    known = _known(family)
    return any(
        facts in named or seeding.runs(node, facts.scope_of(node))
        for facts in (*seeding.visited, *named)
        for node in (*_known_draws(family, facts, program), *_reads(family, facts, known, program))
    )


@cache
def _known(family: str) -> re.Pattern[str]:
    """What is known for drawing nothing from a generator out of sight."""
    rows = catalogue.table("rng")["draws_in_sight"]
    in_sight = (*sys.stdlib_module_names, "numpy", *rows["both"], *rows[family])
    names = (r"\w*".join(map(re.escape, name.split("*"))) for name in in_sight)
    return re.compile(rf"(?:{'|'.join(names)})(?:\.|$)")


def _known_draws(family: str, facts: ModuleFacts, program: Program) -> Iterator[ast.Call]:
    """Calls by which a known library draws from a generator, some of them in some of its versions only."""
    rows = catalogue.table("rng")["draws_in_sight"]
    for package, names in rows["unless"][family].items():
        if package in facts.packages:
            sites = (site for name in names for site in facts.calls.get(name, ()))
            yield from (call for call, scope in sites if _is_of(package, call, scope, program) and not _is_seeded(call))
    for row in rows["before"]:
        if row["family"] == family and row["package"] in facts.packages and _may_be_older(row, facts, program):
            calls = (call for name in row["names"] for call, _ in facts.calls.get(name, ()))
            yield from (call for call in calls if {k.arg for k in call.keywords}.isdisjoint(row["unless"]))
    if family == "numpy":
        yield from (call.node for call in estimators.unseeded(Module(facts, program)))


def _may_be_older(row: Mapping[str, Any], facts: ModuleFacts, program: Program) -> bool:
    """Whether the package may be older than the release of a row: by what the project asks for, or by the PyTorch that
    goes with it."""
    if allowed_in(program.project.torch_version, row["torch"]) != "none":
        return True
    folders = [folder for folder in facts.source.path.parents if folder.is_relative_to(program.project.root)]
    asked = (item for folder in folders for item in program.project.disk(required, str(folder), row["package"]))
    return any(not allows_from(item.specifier, row["release"]) for item in asked)


def _is_of(package: str, call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a call may be of a package: not of another, as `random.sample` beside pandas, nor of what torchvision has
    anew, which draws from torch alone: `v2.RandomChoice`."""
    name = program.callee(call, scope)
    return name is None or (name.startswith(f"{package}.") and not name.startswith(_NEW_TRANSFORMS))


def _is_seeded(call: ast.Call) -> bool:
    """Whether a call is given a seed of its own."""
    return any(
        k.arg in _SEEDS and not (isinstance(k.value, ast.Constant) and k.value.value is None) for k in call.keywords
    )


def _reads(
    family: str, facts: ModuleFacts, known: re.Pattern[str], program: Program
) -> Iterator[ast.Name | ast.Attribute | ast.stmt]:
    """Where a file reads the module of a generator, or a library that is no file of the project, nor `known`."""
    reads, module = facts.reads(facts.tree), {"python": "random", "numpy": "numpy.random"}[family]
    if family == "numpy":
        yield from (n for n in reads.of_attribute("random") if _may_be_numpy(n.value, facts))
    for binding in facts.imports:
        target = binding.target
        is_own = target == module or target.startswith(f"{module}.")
        if is_own or not (known.match(target) or _is_file(binding, facts, program)):
            for name in _bound_names(binding):
                names = reads.of_name(name)
                yield from (n for n in names if not _is_known(n, target, known, facts, program))
    for star in facts.star_imports:
        is_known = known.match(star.target) or _is_file(star, facts, program)
        has_all = star.target == module or (family == "numpy" and star.target.rpartition(".")[2] == "pylab")
        if has_all or not is_known:
            yield facts.statement(star.node)


def _may_be_numpy(owner: ast.expr, facts: ModuleFacts) -> bool:
    """Whether this may stand for numpy in `owner.random`, which an option `args.random` is not."""
    if not isinstance(owner, ast.Name):
        return True
    made = facts.scope_of(owner).bindings_of(owner)
    return owner.id not in ("random", "torch") and (not made or any(b.kind == "import" for b in made))


def _is_file(binding: Binding, facts: ModuleFacts, program: Program) -> bool:
    """Whether an import is of a Python file of the project; an extension module, in a package of its, is none."""
    found = program.project.finder.find(binding.target, binding.level, str(facts.source.path))
    return found is not None and "." not in found[1]


def _bound_names(binding: Binding) -> Iterator[str]:
    """The names that an import binds for what it stands for: `import os, random` has two."""
    for alias in getattr(binding.node, "names", ()):
        if binding.target in (alias.name, alias.name.partition(".")[0]) or binding.target.endswith(f".{alias.name}"):
            yield alias.asname or alias.name.partition(".")[0]


def _is_known(name: ast.Name, target: str, known: re.Pattern[str], facts: ModuleFacts, program: Program) -> bool:
    """Whether what is read through a name that stands for `target` draws nothing, as `scipy.io.loadmat`, what makes an
    environment with a generator of its own, or for a name of the run."""
    dotted = _dotted(name, target, facts)
    if dotted.startswith("random."):
        return _is_besides(name, facts, program)
    is_known = dotted != "random" and (known.match(dotted) or known.match(_of_package(dotted))) is not None
    return is_known or (dotted in _MAKERS and _makes_known(name, facts, program))


def _of_package(dotted: str) -> str:
    """A class by its package, whichever module has it: `transformers.BertModel`."""
    package, *parts = dotted.split(".")
    first = next((i for i, part in enumerate(parts) if part[:1].isupper()), 0)
    return ".".join((package, *parts[first:]))


def _is_besides(name: ast.Name, facts: ModuleFacts, program: Program) -> bool:
    call = next((n for n in facts.ancestors(name) if not isinstance(n, ast.Attribute)), None)
    if not isinstance(call, ast.Call):
        return False
    scope = facts.scope_of(call)
    draw = draw_at(call, scope, program)
    return draw is not None and is_besides(draw, program)


def _makes_known(name: ast.Name, facts: ModuleFacts, program: Program) -> bool:
    node = facts.parents.get(name) if isinstance(facts.parents.get(name), ast.Attribute) else name
    call = facts.parents.get(node) if node is not None else None
    if not isinstance(call, ast.Call) or not call.args:
        return False
    ids = re.compile(rf"(?:{'|'.join(catalogue.table('rng')['draws_in_sight']['environments'])})-v\d+")
    made = program.origins(call.args[0], facts.scope_of(call))
    return bool(made) and all(isinstance(o, Constant) and ids.fullmatch(str(o.value)) for o in made)


def _dotted(name: ast.Name, target: str, facts: ModuleFacts) -> str:
    """What is read through a name that stands for `target`: `scipy.io.loadmat`."""
    node = facts.parents.get(name)
    while isinstance(node, ast.Attribute):
        target, node = f"{target}.{node.attr}", facts.parents.get(node)
    return target


def may_be_left_out(program: Program, met: SeedMet) -> bool:
    """Whether a program may go on without a seed, whatever its number: its function may return before it, as where
    only under a launcher it goes on, or it stands under a test without another arm, as where data are prepared once; or
    only one of several data sets seeds as it is made."""
    if not met.sure and met.scope.function.own_name == "__init__":
        return True
    tests = [c for c in conditions(met.node, met.scope) if isinstance(c.owner, ast.If) and not about_seed(c.test)]
    left = [c for c in tests if any(isinstance(n, ast.Return) for n in walk(c.owner))]
    sites = ((step.node, step.scope) for step in met.chain if step.scope.kind == "module")
    left += [c for c in tests if met.scope.kind == "module" and _has_one_arm(c.owner)]
    left += [c for site in sites for c in conditions(*site) if _has_one_arm(c.owner) and not about_seed(c.test)]
    return any(outcome(c.test, met.scope, program) is Truth.UNKNOWN for c in left)


def _has_one_arm(test: ast.AST) -> bool:
    return isinstance(test, ast.If) and not test.orelse
