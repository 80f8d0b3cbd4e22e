"""TRP402: cuDNN is allowed to use nondeterministic kernels."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.checks.configured import placed
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.switch_edit import is_handed_on, is_set_back, with_value
from torchrepro_lint.dataflow import Module, Program, Site
from torchrepro_lint.dataflow.reachability import cleans_up
from torchrepro_lint.elements import Level
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
            edits, unsafe = with_value(setting, "True"), is_set_back(setting, program) or is_handed_on(setting)
            draft = Draft(setting.node, {"written": setting.written}, edits=edits, unsafe=unsafe)
            yield placed(draft, Site(setting.value, setting.value_scope), program, "True", lambda value: not value)
