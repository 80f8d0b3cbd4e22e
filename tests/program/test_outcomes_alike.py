"""Whether a value is true is worked out alike for a loader, a sampler and a switch."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.kernels.switches import stated
from torchrepro_lint.loading.loaders import loader_calls, shuffling
from torchrepro_lint.loading.samplers import training_samplers
from torchrepro_lint.model import Certainty

HEAD = """
import argparse

import torch
from torch.utils.data import DataLoader, DistributedSampler

ON, OFF, NOTHING = True, False, None
parser = argparse.ArgumentParser()
parser.add_argument("--fast", action="store_true")
args = parser.parse_args()
data = [1, 2, 3]
"""
VALUES = {
    "True": True,
    "False": False,
    "ON": True,
    "not OFF": True,
    "not ON": False,
    "not (not OFF)": False,
    "ON and not OFF": True,
    "OFF or not ON": False,
    "ON and unknown": None,
    "OFF and unknown": False,
    "ON or unknown": True,
    "NOTHING is None": True,
    "data is None": False,
    "parser is not None": True,
    "torch.load(path) is None": None,
    "1 > 0": True,
    "len(data) > 2": None,
    "args.fast": None,
    "not args.fast": None,
    "unknown": None,
    "True if ON else False": True,
    "False if ON else True": False,
    "True if unknown else False": None,
}


@pytest.fixture
def program(tmp_path: Path, value: str) -> SmallProject:
    lines = (
        f"DataLoader(data, shuffle={value})",
        f"sampler = DistributedSampler(data, shuffle={value})",
        f"torch.backends.cudnn.benchmark = {value}",
    )
    return SmallProject(tmp_path, {"train.py": HEAD + "\n".join(lines) + "\n"})


@pytest.mark.parametrize(("value", "expected"), VALUES.items())
def test_a_value_is_read_alike_everywhere(program: SmallProject, expected: bool | None) -> None:
    module = program.module()
    as_certainty = {True: Certainty.CERTAIN, False: None, None: Certainty.LIKELY}
    assert [shuffling(call) for call in loader_calls(module.facts, program.program)] == [as_certainty[expected]]
    found = {True: [True], False: [], None: [False]}
    assert [sampler.certain for sampler in training_samplers(module, program.program)] == found[expected]
    assert [state for _, state in stated(module, "torch.backends.cudnn", "benchmark").settings] == [expected]
