"""TRP402: cuDNN is allowed to use nondeterministic kernels."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.checks.configured import placed
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.switch_edit import (
    is_after_speed,
    is_explained,
    is_handed_on,
    is_of_measuring,
    is_set_back,
    with_value,
)
from torchrepro_lint.dataflow import Module, Program, Site
from torchrepro_lint.dataflow.enclosing import block_of
from torchrepro_lint.dataflow.reachability import cleans_up
from torchrepro_lint.elements import Level
from torchrepro_lint.kernels.flags import Setting
from torchrepro_lint.kernels.switches import stated
from torchrepro_lint.rng.predicates import is_unrequested, needs_option

OWNER, NAME = "torch.backends.cudnn", "deterministic"


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Every place that turns `cudnn.deterministic` off."""
    switch = stated(module, OWNER, NAME)
    for setting, value in switch.settings:
        if value is not False or cleans_up(setting.node, setting.scope, program):
            continue
        if is_unrequested(setting.node, setting.scope, program):
            continue
        if switch.undone(setting, value) or switch.chosen(setting, value):
            continue
        if needs_option("benchmark", setting.node, setting.scope):  # on is for speed, off by default
            yield Draft(setting.node, {"written": setting.written}, "depends", depends=("the program is told to",))
        elif switch.temporary(setting, value):
            yield Draft(setting.node, {"written": setting.written}, "temporary", level=Level.NOTE)
        else:
            edits = with_value(setting, "True")
            unsafe = (
                is_set_back(setting)
                or is_handed_on(setting)
                or _is_explained(setting, module)
                or is_after_speed(setting.facts, program)
                or is_of_measuring(setting, program)
            )
            draft = Draft(setting.node, {"written": setting.written}, edits=edits, unsafe=unsafe)
            yield placed(draft, Site(setting.value, setting.value_scope), program, "True", lambda value: not value)


def _is_explained(setting: Setting, module: Module) -> bool:
    """Whether a comment above the switch, or above that of the autotuner right next to it, may say why it is off."""
    block = block_of(setting.facts, setting.statement)
    index = block.index(setting.statement)
    near = block[max(index - 1, 0) : index + 2]
    tuners = (s for s, value in stated(module, OWNER, "benchmark").settings if value and s.statement in near)
    return any(is_explained(s) for s in (setting, *tuners))
