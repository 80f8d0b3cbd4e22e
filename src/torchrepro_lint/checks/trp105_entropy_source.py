"""TRP105: the operating system's entropy decides what is drawn, picked or shuffled."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.project.roles import of_file
from torchrepro_lint.rng.unseedable import decisions

_DATA = frozenset({"torch", "torchvision", "torchaudio", "numpy", "pandas", "sklearn", "datasets", "lightning",
                   "pytorch_lightning", "transformers", "PIL", "cv2"})  # fmt: skip


def check(module: Module, program: Program) -> Iterator[Draft]:
    if not module.facts.packages & _DATA or of_file(module.facts.source.rel, trains="backward" in module.facts.calls):
        return
    for found in decisions(module, program):
        facts = found.scope.facts
        elsewhere = found.site is not found.call and found.site.lineno != found.call.lineno  # type: ignore[attr-defined]
        yield Draft(
            found.call,
            {"call": facts.text(found.call.func)},
            found.effect,
            related=(Place(facts, found.site, "used here"),) if elsewhere and facts is module.facts else (),
        )
