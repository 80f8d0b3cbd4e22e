"""TRP403: a program seeds, trains with convolutions on a GPU, and never asks for deterministic kernels."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Draft, Fix, Place
from torchrepro_lint.dataflow import CallSite, Module, NodeSite, Program, remembered
from torchrepro_lint.index import AttributeSet, ModuleFacts, Scope, last_name
from torchrepro_lint.project.entries import is_tried_out
from torchrepro_lint.seeding.seedings import seedings

if TYPE_CHECKING:
    from torchrepro_lint.rng.draws import Seeder
    from torchrepro_lint.seeding.seeding import Seeding

REQUESTS = ("use_deterministic_algorithms", "set_deterministic_debug_mode", "set_deterministic",
            "enable_full_determinism", "set_determinism", "fill_uninitialized_memory")  # fmt: skip

_WITHOUT_GRADIENTS = ("no_grad", "inference_mode")
_TRAINS = re.compile(r"(?:^|_)(?:train|fit|learn|backward)(?:_|$)")
_CHECKS = frozenset({"gradcheck", "gradgradcheck"})  # whose numbers have to be near enough, not the same
# What takes the best of its actions if it is `deterministic`: `policy.act(state, deterministic=True)`.
_ACTS = frozenset({"act", "action", "actions", "predict", "sample", "forward", "step", "evaluate", "policy", "actor"})


def check(module: Module, program: Program) -> Iterator[Draft]:
    for seeding in seedings(module.facts, program):
        from torchrepro_lint.rng.entropy import is_new_in_every_run
        from torchrepro_lint.seeding.frameworks import calls_in  # most files start no program
        from torchrepro_lint.seeding.unfollowed import may_train

        every = (*seeding.seeders, *seeding.conditional.values())
        seeders = [s for s in every if "torch" in s.families and not _restores(s)]
        if not seeders or not seeding.complete or seeding.is_launcher:
            continue
        if not (seeding.trains or may_train(seeding, program)):
            continue
        if any(_requests(facts, program) for facts in seeding.visited):
            continue
        if next(calls_in(seeding.visited, program, "trainers"), None) is not None or _instantiates(module, program):
            continue  # TRP602 reports the Trainer
        own_first = sorted(seeders, key=lambda seeder: _comes_with_an_import(seeder, module.facts))
        seed = next((s for s in own_first if not is_new_in_every_run(s, program)), None)
        kernel = _kernel_on_gpu(seeding, program) if seed is not None else None
        if seed is not None and kernel is not None:
            yield _draft(module, program, seeding, seed, kernel)


def _instantiates(module: Module, program: Program) -> bool:
    """Whether Hydra makes a Trainer here."""
    from torchrepro_lint.dataflow.instantiated import instantiated_calls

    return any(True for _ in instantiated_calls(module, program, catalogue.names("frameworks", "trainers")))


def _comes_with_an_import(seeder: Seeder, facts: ModuleFacts) -> bool:
    """Whether a module that the program imports seeds at its top, as one of a model may for its own sake."""
    return seeder.scope.function.kind == "module" and seeder.scope.facts is not facts


def _restores(seeder: Seeder) -> bool:
    """`torch.set_rng_state(checkpoint["rng_state"])` makes a run go on as it was, not repeatable."""
    return last_name(seeder.node.func).endswith("state")


def _kernel_on_gpu(seeding: Seeding, program: Program) -> NodeSite | None:
    """The first call whose kernel is chosen at run time, in a program that uses a GPU."""
    from torchrepro_lint.dataflow.naming import named_by, part_of
    from torchrepro_lint.kernels import convolutions
    from torchrepro_lint.kernels.programs import uses_gpu

    files = seeding.visited
    if not uses_gpu(files, program):
        return None
    is_looked_up = any(convolutions.looks_up(facts, program) for facts in files)
    named = set() if is_looked_up else named_by(seeding.entry.facts, files, seeding.entered)

    def runs(site: NodeSite) -> bool:
        node, scope = site
        return is_looked_up or scope.facts not in seeding.files or part_of(scope.facts, node) in named

    return (
        next(filter(runs, convolutions.kernels(files, program)), None)
        or next(convolutions.kernels(convolutions.files_chosen_by_name(files, program), program), None)
        or next(convolutions.imported_kernels(files, runs, program), None)
        or next((site for site in convolutions.attending(files, program) if _is_made(site, seeding)), None)
    )


def _is_made(site: NodeSite, seeding: Seeding) -> bool:
    """Whether a layer is made by code that is known to run."""
    function = site[1].function
    return function in seeding.entered or function.kind == "module"


def _draft(module: Module, program: Program, seeding: Seeding, seed: Seeder, kernel: NodeSite) -> Draft:
    from torchrepro_lint.checks.switch_edit import (
        convolutions_settled,
        determinism_asked_for,
        is_turned_off,
    )  # few get here
    from torchrepro_lint.kernels.convolutions import is_attention
    from torchrepro_lint.seeding.processes import starts_fresh_processes

    asked_for = determinism_asked_for if is_attention(kernel) else convolutions_settled
    is_set = any("deterministic" in f.attribute_sets or _calls(f) for f in seeding.visited)  # off, or never reached
    seeded = seed.scope.facts
    may_seed = {met.scope.facts for met in seeding.met if met.seeder is not None and not met.sure}
    is_one_of_several = seeded in may_seed and len(may_seed) > 1  # files, of which the program may run this one
    fix = asked_for(seed.node, seed.scope, program) if not (is_set or is_one_of_several) else Fix()
    is_of_parent = any(met.seeder is seed and met.process is None for met in seeding.met)
    here = seeded is module.facts
    elsewhere = () if here else (Place(seeded, seed.node, "torch is seeded here"),)
    return Draft(
        seed.node if here else seeding.entry.node,
        {"seed": seeded.text(seed.node)},
        related=(*elsewhere, Place(kernel[1].facts, kernel[0], "its kernels are chosen here")),
        edits=fix.edits,
        unsafe=fix.unsafe
        or _only_tries(seeding, program)
        or is_turned_off(seeding.visited)
        or _is_for_inference(seed, program)
        or (is_of_parent and starts_fresh_processes(seeding, program)),  # which know nothing of the flag
    )


def _is_for_inference(seed: Seeder, program: Program) -> bool:
    """Whether a function seeds that only uses a model, as for the same noise each time: what is trained before would be
    without the flag, and what is trained after it with it."""
    from torchrepro_lint.rng.updates import leads_to_update

    function = seed.scope.function
    if function.kind != "function":
        return False
    called = {last_name(call.func) for call, _ in function.calls if call.args or last_name(call.func) == "backward"}
    names = {last_name(call.func) for call, _ in function.calls}
    is_use = not names.isdisjoint(_WITHOUT_GRADIENTS) and not any(map(_TRAINS.search, called))
    return is_use and not leads_to_update(function, program)


def _only_tries(seeding: Seeding, program: Program) -> bool:
    """Whether a program checks gradients, or is how a module is tried out that others import."""
    from torchrepro_lint.seeding.training import is_said_to_be_tried  # few programs get here

    is_tried = is_tried_out(seeding.entry.facts, program.project) or is_said_to_be_tried(seeding.entry.facts)
    return is_tried or not seeding.reached.isdisjoint(_CHECKS)


@remembered
def _requests(facts: ModuleFacts, program: Program) -> bool:
    """Whether a file asks for determinism, by a flag or a call, or lets an argument decide that something passes; or
    does without cuDNN. A flag that is spelt `determinstic` TRP407 reports."""
    if any(map(_switches_off, facts.attribute_sets.get("enabled", ()))):
        return True
    names = (name for name in facts.attribute_sets if name.startswith("determin"))
    written = (s for name in names for s in facts.attribute_sets[name] if not s.scope.is_self(s.target.value))
    for node, scope in (*((s.statement, s.scope) for s in written if _may_be_on(s.value)), *_calls(facts)):
        from torchrepro_lint.dataflow.options import is_never_reached

        if not is_never_reached(node, scope, program):
            return True
    return facts.source.matches("deterministic") and any(
        keyword.arg == "deterministic" and _may_be_on(keyword.value) and not _is_of_project(call, scope, program)
        for call, scope in facts.every_call()
        if _ACTS.isdisjoint(last_name(call.func).lower().split("_"))
        for keyword in call.keywords
    )


def _switches_off(found: AttributeSet) -> bool:
    """`torch.backends.cudnn.enabled = False`"""
    is_off = isinstance(found.value, ast.Constant) and found.value.value is False
    return is_off and last_name(found.target.value) == "cudnn"


def _calls(facts: ModuleFacts) -> list[CallSite]:
    return [site for name in REQUESTS for site in facts.calls.get(name, ())]


def _is_of_project(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a call runs functions of the project alone, which are asked themselves."""
    callees = program.values.callees(call, scope)
    return bool(callees) and all(isinstance(callee, Scope) for callee in callees)


def _may_be_on(value: ast.expr | None) -> bool:
    return value is None or not (isinstance(value, ast.Constant) and not value.value)
