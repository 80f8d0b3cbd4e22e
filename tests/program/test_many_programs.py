"""A library that many programs share: which objects its classes were given is told by each program's own calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from program.small_project import SmallProject
from torchrepro_lint.index import Scope
from torchrepro_lint.loading.epochs import repeated_order
from torchrepro_lint.loading.samplers import training_samplers
from torchrepro_lint.seeding.seedings import seedings
from torchrepro_lint.seeding.unseeded import unseeded

MANY = 40
LIBRARY = """
    import torch


    class Base:
        def __init__(self, trainer):
            self.trainer = trainer

        def run(self):
            self._run()


    class Loop(Base):
        def _run(self):
            for _ in range(3):
                self.trainer.advance(torch.ones(2))


    class Trainer:
        def advance(self, batch):
            self.apply(batch)


    class Plain(Trainer):
        def apply(self, batch):
            print(batch)


    class Learning(Trainer):
        def __init__(self):
            self.layer = torch.nn.Linear(2, 2)

        def apply(self, batch):
            self.layer(batch).sum().backward()
"""
PROGRAM = """
    from library import {trainer}, Loop


    def start(loop):
        loop.run()


    if __name__ == "__main__":
        start(Loop(trainer={trainer}()))
"""


@pytest.mark.parametrize("count", [2, MANY])
def test_an_object_has_what_its_own_program_gives_it(count: int, tmp_path: Path) -> None:
    kinds = {f"run_{n}.py": "Learning" if n % 2 else "Plain" for n in range(count)}
    files = {name: PROGRAM.format(trainer=kind) for name, kind in kinds.items()}
    project = SmallProject(tmp_path, files | {"library.py": LIBRARY})
    for name in ("run_0.py", "run_1.py"):
        (seeding,) = seedings(project.facts(name), project.program)
        assert (unseeded(seeding, project.program) is not None) is (kinds[name] == "Learning")


METHODS = {"__init__": 1, "train": 1, "run": None}
TRAINER = """
    from torch.utils.data import DataLoader, DistributedSampler


    class Trainer:
        def __init__(self, data):
            self.loader = DataLoader(data, sampler=DistributedSampler(data))

        def train(self):
            for batch in self.loader:
                print(batch)

        def run(self):
            for epoch in range(10):
                self.train()


    def start(trainer):
        trainer.run()


    if __name__ == "__main__":
        start(Trainer(range(100)))
"""


@pytest.mark.parametrize("count", [2, MANY // 2])
def test_a_method_is_called_by_the_class_that_has_it(count: int, tmp_path: Path) -> None:
    project = SmallProject(tmp_path, {f"run_{n}.py": TRAINER for n in range(count)})
    (sampler,) = training_samplers(project.module("run_0.py"), project.program)
    assert repeated_order(project.program, sampler.call) is not None


def test_nobody_knows_who_calls_a_method_of_an_object_that_is_passed_on(tmp_path: Path) -> None:
    project = SmallProject(tmp_path, {f"run_{n}.py": TRAINER for n in range(MANY)})
    made, scope = project.call("Trainer", "run_0.py")
    trainer = project.program.resolve(made.func, scope)
    assert isinstance(trainer, Scope)
    callers = {name: project.program.callers_of(trainer.children[trainer.bindings[name][0].node]) for name in METHODS}
    assert {name: calls and len(calls) for name, calls in callers.items()} == METHODS
