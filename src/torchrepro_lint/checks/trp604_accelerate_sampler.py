"""TRP604: accelerate shards a loader that shuffles without a sampler that is seeded for each epoch."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from torchrepro_lint import catalogue
from torchrepro_lint.checks.argument_edit import passing
from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.dataflow import UNKNOWN, Call, Module, Program, Site
from torchrepro_lint.loading.loaders import argument, lacks_generator, loaders, samplers, shuffling
from torchrepro_lint.model import Edit
from torchrepro_lint.syntax import import_from, with_argument

CONFIGURATION = "accelerate.utils.DataLoaderConfiguration"


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report a loader that shuffles where it is first prepared, by an Accelerator without a seedable sampler."""
    told: set[ast.AST] = set()
    for node, scope in module.facts.calls.get("prepare", ()):
        if not isinstance(node.func, ast.Attribute):
            continue
        makers = catalogue.names("frameworks", "accelerators")
        made = _made(Site(node.func.value, scope), makers, program)
        if not made or not all(map(_leaves_order, made)):
            continue
        passed = [Site(a, scope) for a in node.args if not isinstance(a, ast.Starred)]
        loader = next((c for p in passed for c in _made(p, loaders(), program) if _shuffles(c)), None)
        if loader is not None and loader.node not in told:
            told.add(loader.node)
            values = {"prepare": module.facts.text(node.func), "loader": loader.written}
            related = (
                Place(loader.facts, loader.node, "shuffled without a generator of its own"),
                *(Place(a.facts, a.node, "made without `use_seedable_sampler`") for a in made),
            )
            edits = (e for a in made for e in _edits(a)) if all(a.facts is module.facts for a in made) else ()
            yield Draft(node, values, related=related, edits=tuple(dict.fromkeys(edits)))


def _made(value: Site, names: Collection[str], program: Program) -> list[Call]:
    """The calls of these names that the value may come from."""
    return [
        Call(o.node, o.scope, o.callee, program)
        for o in program.results(*value)
        if isinstance(o.callee, str) and o.callee in names
    ]


def _configurations(accelerator: Call) -> list[Call] | None:
    """The calls that made the Accelerator's loader configuration; None where it is not known."""
    row = catalogue.names("frameworks", "accelerators")[accelerator.name]
    passed = accelerator.argument(row["configuration"])
    if passed is None:
        return []
    if passed is UNKNOWN:
        return None
    found = _made(passed, catalogue.names("frameworks", "loader_configurations"), accelerator.program)
    return found if len(found) == 1 else None


def _leaves_order(accelerator: Call) -> bool:
    """Whether `use_seedable_sampler` is surely off, in the configuration and in the Accelerator itself."""
    configurations = _configurations(accelerator)
    if configurations is None:
        return False
    name = catalogue.names("frameworks", "accelerators")[accelerator.name]["argument"]
    return all(call.literal(name, default=False) is False for call in (accelerator, *configurations))


def _shuffles(loader: Call) -> bool:
    """Whether a loader draws its order from the global generator, by itself or by its sampler."""
    if shuffling(loader) is not None:
        return lacks_generator(loader)
    sampler = argument(loader, "sampler")
    if not isinstance(sampler, Site):
        return False
    return any(map(lacks_generator, _made(sampler, samplers(), loader.program)))


def _edits(accelerator: Call) -> tuple[Edit, ...]:
    row = catalogue.names("frameworks", "accelerators")[accelerator.name]
    configurations = _configurations(accelerator)
    if configurations:
        made = configurations[0]
        return passing(made, row["argument"], "True") if made.facts is accelerator.facts else ()
    if accelerator.argument(row["argument"]) is not None:
        return passing(accelerator, row["argument"], "True")
    module, _, last = CONFIGURATION.rpartition(".")
    name = import_from(accelerator.facts, module, last, accelerator.scope, accelerator.node)
    value = f"{name.text}({row['argument']}=True)"
    return (
        *name.edits,
        with_argument(
            accelerator.facts, accelerator.node, row["configuration"], value, accelerator.program.project.style
        ),
    )
