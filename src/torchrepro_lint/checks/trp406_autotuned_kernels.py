"""TRP406: kernels are chosen by timing them while the program runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.switch_edit import is_after_speed, is_announced, is_handed_on, with_value
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.elements import Certainty
from torchrepro_lint.kernels.determinism import turned_on_anywhere
from torchrepro_lint.kernels.flags import Setting, assigned
from torchrepro_lint.kernels.tuning import compile_modes, options, tuned_kernels, variables
from torchrepro_lint.project.versions import may_be
from torchrepro_lint.rng.predicates import is_unrequested
from torchrepro_lint.seeding.training import is_trained
from torchrepro_lint.syntax import quoted, replace

_SAYS = re.compile(r"\b(?:compil|fast|perform|speed|tun(?:e|ing)\b)", re.IGNORECASE)
WORDS = ("autotune", "AUTOTUNE", "coordinate_descent", "COORDINATE_DESCENT", "benchmark_limit")


def check(module: Module, program: Program) -> Iterator[Draft]:
    """torch.compile modes, inductor options, the benchmark limit of cuDNN, and hand-written autotuned
    kernels."""
    facts = module.facts
    if not any(word in facts.source.text for word in WORDS):
        return
    inductor = [d for d in _inductor(module) if not is_unrequested(d.node, facts.scope_of(d.node), program)]
    if inductor and not _switched_off(module, program):
        yield from inductor
    for setting in assigned(module, "torch.backends.cudnn", "benchmark_limit"):
        yield Draft(setting.node, {"written": setting.written}, "limit", depends=("`cudnn.benchmark` is on",))
    for decorator, kernel in tuned_kernels(module):
        yield Draft(decorator, {"kernel": kernel.name}, "triton", certainty=Certainty.LIKELY)


def _inductor(module: Module) -> Iterator[Draft]:
    facts = module.facts

    def is_for_use() -> bool:
        return is_after_speed(facts, module.program) or not is_trained(facts, module.program)

    for setting, other in compile_modes(module):
        edits = (
            with_value(setting, quoted(facts, other, module.program.project.style))
            if not _is_tried_again(setting)
            else ()
        )
        unsafe = is_for_use() or is_announced(setting, _SAYS) or is_handed_on(setting)
        yield Draft(setting.node, {"written": setting.written}, edits=edits, unsafe=unsafe)
    for setting in options(module):
        edits = with_value(setting, "False")
        yield Draft(setting.node, {"written": setting.written}, "option", edits=edits, unsafe=is_for_use())
    for item in variables(module):
        edits = (replace(facts, item.written, '"0"'),)
        yield Draft(item.node, {"written": facts.text(item.node)}, "option", edits=edits, unsafe=is_for_use())


def _is_tried_again(setting: Setting) -> bool:
    """Whether another mode has failed before this one is tried."""
    return any(isinstance(n, ast.ExceptHandler) for n in setting.facts.ancestors(setting.node))


def _switched_off(module: Module, program: Program) -> bool:
    """Newer inductors do not time kernels while deterministic algorithms are on."""
    since = catalogue.table("backend_flags")["autotune"]["switched_off_by_determinism"]
    return may_be(program.project.torch_version, since) and turned_on_anywhere(module, program, inductor=True)
