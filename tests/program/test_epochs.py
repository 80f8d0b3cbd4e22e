"""Which loops are epochs, which samplers shuffle for training, and whether anything tells them the epoch."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.loading.epochs import EpochLoop, epoch_loop, repeated_order
from torchrepro_lint.loading.loaders import loaders
from torchrepro_lint.loading.same_order import is_made_for_each_epoch
from torchrepro_lint.loading.sampler_uses import SamplerUses
from torchrepro_lint.loading.samplers import is_evaluation, training_samplers

HEAD = "from torch.utils.data import DataLoader, DistributedSampler\n"


def loop_around(folder: Path, text: str) -> EpochLoop | None:
    project = SmallProject(folder, {"train.py": text})
    node, scope = project.call("work")
    return epoch_loop(project.program, node, scope, SamplerUses())


@pytest.mark.parametrize(
    ("header", "variable", "sure"),
    [
        ("for epoch in range(start, args.epochs)", "epoch", True),
        ("for e in range(num_epochs)", "e", True),
        ("for i in range(10)", "i", False),
        ("for epoch in tqdm(range(9))", "epoch", True),
        ("for epoch in trange(9)", "epoch", True),
        ("for epoch in itertools.count()", "epoch", True),
        ("for epoch in schedule", None, True),
        ("while epoch < last", None, True),
        ("while True", None, False),
    ],
)
def test_a_loop_that_counts_epochs(tmp_path: Path, header: str, variable: str | None, sure: bool) -> None:
    imports = "import itertools\nfrom tqdm import tqdm, trange\n"
    text = f"{imports}def main(args, start):\n    {header}:\n        work()\n"
    found = loop_around(tmp_path, text)
    assert found is not None
    assert (found.variable, found.sure) == (variable, sure)


@pytest.mark.parametrize(
    "text",
    [
        "def main():\n    for epoch in range(1):\n        work()\n",
        "def main():\n    for fold in range(5):\n        work()\n",
        "def main():\n    for name in names:\n        work()\n",
        "def main():\n    work()\n    for epoch in range(3):\n        pass\n",
        "def main():\n    for epoch in range(3):\n        with torch.no_grad():\n            work()\n",
        "def evaluate():\n    work()\ndef main():\n    for epoch in range(3):\n        evaluate()\n",
        "@torch.no_grad()\ndef score(): work()\ndef main():\n    for epoch in range(3):\n        score()\n",
    ],
)
def test_a_loop_that_counts_no_epochs(tmp_path: Path, text: str) -> None:
    assert loop_around(tmp_path, text) is None


def test_the_loop_may_be_around_a_call(tmp_path: Path) -> None:
    text = """
        class Trainer:
            def step(self):
                work()

            def epoch(self):
                self.step()

        def main():
            trainer = Trainer()
            for n in range(20):
                trainer.epoch()
    """
    found = loop_around(tmp_path, text)
    assert found is not None and found.variable == "n"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("val_sampler", True),
        ("self.test_sampler", True),
        ("dataset_val", True),
        ("testset", True),
        ("validation_data", True),
        ("train_sampler", False),
        ("trainval_set", False),
        ("sampler", False),
        ("latest", False),
        ("device_data", False),
        ("intervals", False),
    ],
)
def test_a_name_speaks_of_evaluation(name: str, expected: bool) -> None:
    assert is_evaluation(name) is expected


OWN = """
    class Plain(DistributedSampler):
        pass

    class OwnOrderSampler(DistributedSampler):
        def __iter__(self):
            return iter(range(10))

    class ByEpochSampler(DistributedSampler):
        def __iter__(self):
            return iter(shuffled(self.seed + self.epoch))

    class AdvancingSampler(DistributedSampler):
        def __iter__(self):
            self.epoch += 1
            return iter(shuffled(self.epoch))

    class ForwardingSampler(DistributedSampler):
        def __init__(self, data, *args, **kwargs):
            super().__init__(data, *args, **kwargs)

    class NeverSampler(DistributedSampler):
        def __init__(self, data):
            super().__init__(data, shuffle=False)
"""


@pytest.mark.parametrize(
    ("construction", "certain"),
    [
        ("DistributedSampler(d)", True),
        ("DistributedSampler(d, 2, 0, True)", True),
        ("DistributedSampler(d, shuffle=False)", None),
        ("DistributedSampler(d, shuffle=args.shuffle)", False),
        ("DistributedSampler(d, **options)", None),
        ("DistributedSampler(val_set)", None),
        ("Plain(d)", True),
        ("OwnOrderSampler(d)", None),
        ("ByEpochSampler(d)", True),
        ("AdvancingSampler(d)", None),
        ("ForwardingSampler(d)", True),
        ("ForwardingSampler(d, shuffle=False)", None),
        ("NeverSampler(d)", None),
    ],
)
def test_which_samplers_shuffle(tmp_path: Path, construction: str, certain: bool | None) -> None:
    text = f"from torch.utils.data import DistributedSampler\n{OWN}\n    x = {construction}\n"
    project = SmallProject(tmp_path, {"train.py": text.replace("\n    ", "\n")})
    found = [
        s
        for s in training_samplers(project.module(), project.program)
        if s.call.facts.text(s.call.node) == construction
    ]
    assert [s.certain for s in found] == ([] if certain is None else [certain])


def told(folder: Path, train: str, **others: str) -> bool:
    """Whether the sampler's epochs are accounted for, or cannot be."""
    project = SmallProject(folder, {"train.py": HEAD + train, **{f"{k}.py": HEAD + v for k, v in others.items()}})
    (sampler,) = training_samplers(project.module(), project.program)
    return repeated_order(project.program, sampler.call) is None


TRAIN = """
class Trainer:
    def __init__(self, d):
        self.train_loader = DataLoader(d, sampler=DistributedSampler(d))
    def fit(self):
        for epoch in range(9):
            for b in self.train_loader: pass
"""


def test_a_sampler_that_nothing_tells_the_epoch(tmp_path: Path) -> None:
    assert not told(tmp_path, TRAIN)


def test_another_sampler_is_told(tmp_path: Path) -> None:
    other = "def f(x):\n    s = DistributedSampler(x)\n    s.set_epoch(3)\n"
    assert not told(tmp_path, TRAIN, other=other)


def test_an_unknown_trainer_elsewhere_may_be_this_one(tmp_path: Path) -> None:
    assert told(tmp_path, TRAIN, hooks="def hook(t, n):\n    t.train_loader.sampler.set_epoch(n)\n")


def test_an_unrelated_program_is_not_this_one(tmp_path: Path) -> None:
    assert not told(tmp_path, TRAIN, other="def hook(t, n):\n    t.samples.sampler.set_epoch(n)\n")


def test_a_loop_over_unknown_things_in_the_same_file_may_tell_it(tmp_path: Path) -> None:
    assert told(tmp_path, TRAIN + "def tell(things, n):\n    for t in things: t.set_epoch(n)\n")


def test_setting_the_attribute_tells_it(tmp_path: Path) -> None:
    assert told(tmp_path, TRAIN.replace("for b in", "self.train_loader.sampler.epoch = epoch\n            for b in"))


LIGHTNING = """
import lightning as L
from torch.utils.data import DataLoader

class Digits(L.LightningDataModule):
    def {hook}(self):
        return DataLoader(self.data, shuffle=True)

trainer = L.Trainer({options})
"""


@pytest.mark.parametrize(
    ("hook", "options", "expected"),
    [
        ("train_dataloader", "", False),
        ("train_dataloader", "reload_dataloaders_every_n_epochs=1", True),
        ("train_dataloader", "reload_dataloaders_every_n_epochs=0", False),
        ("make_loader", "reload_dataloaders_every_n_epochs=1", False),
    ],
)
def test_lightning_makes_the_training_loader_again_where_it_is_told_to(
    hook: str, options: str, expected: bool, tmp_path: Path
) -> None:
    project = SmallProject(tmp_path, {"train.py": LIGHTNING.format(hook=hook, options=options)})
    (loader,) = project.module().calls(loaders().keys())
    assert is_made_for_each_epoch(loader) is expected
