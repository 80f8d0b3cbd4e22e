"""Settings of back-end switches: every spelling, their values, and what undoes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.kernels.flags import assigned, passed, state
from torchrepro_lint.kernels.switches import MAX_OTHERS, stated

OWNER = "torch.backends.cudnn"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch\ntorch.backends.cudnn.benchmark = True", [True]),
        ("import torch.backends.cudnn as c\nc.benchmark = False", [False]),
        ("from torch.backends import cudnn as c\nON = 1\nc.benchmark = ON", [True]),
        ("import torch\nc = torch.backends.cudnn\nc.enabled = c.benchmark = True", [True]),
        ("import torch\nb = torch.backends\nb.cudnn.benchmark, x = False, True", [False]),
        ("from torch.backends import cudnn\nsetattr(cudnn, 'benchmark', True)", [True]),
        ("from torch.backends import cudnn\ncudnn.benchmark = args.fast", [None]),
        ("from torch.backends import cudnn\ncudnn.benchmark = True if x else False", [None]),
        ("from torch.backends import cudnn\ncudnn.benchmark, y = (True, 1) if x else (True, 2)", [True]),
        ("from torch.backends import cudnn\ncudnn.benchmark: bool = True", [True]),
        ("cudnn = object()\ncudnn.benchmark = True", []),
        ("from mine import cudnn\ncudnn.benchmark = True", []),
    ],
)
def test_a_switch_is_read_in_every_spelling(tmp_path: Path, text: str, expected: list[bool | None]) -> None:
    project = SmallProject(tmp_path, {"train.py": text, "mine.py": "class cudnn:\n    benchmark = False\n"})
    found = list(assigned(project.module(), OWNER, "benchmark"))
    assert [state(project.program, s) for s in found] == expected


def test_arguments_and_how_they_are_shown(tmp_path: Path) -> None:
    text = """
        from torch.backends.cudnn import flags
        options = {"benchmark": True}
        flags(True, True)
        flags(enabled=True, benchmark=False)
        flags(**options)
        flags(**unknown)
        flags(enabled=True)
    """
    project = SmallProject(tmp_path, {"train.py": text})
    row = {"argument": "benchmark", "position": 1}
    found = list(passed(project.module(), {f"{OWNER}.flags": row}))
    assert [state(project.program, s) for s in found] == [True, False, True]
    assert [s.written for s in found] == [
        "flags(True, True)",
        "flags(..., benchmark=False)",
        "flags(benchmark=True)",
    ]


@pytest.mark.parametrize(("others", "undone"), [(MAX_OTHERS, False), (MAX_OTHERS + 1, True)])
def test_a_switch_that_is_set_too_often_to_look_through_may_be_undone(
    tmp_path: Path, others: int, undone: bool
) -> None:
    text = "from torch.backends import cudnn\ncudnn.benchmark = True\n" + "train()\ncudnn.benchmark = False\n" * others
    project = SmallProject(tmp_path, {"train.py": text})
    switch = stated(project.module(), OWNER, "benchmark")
    assert switch.undone(switch.settings[0][0], True) is undone


@pytest.mark.parametrize(("between", "temporary"), [("run(net)", True), ("", False)])
def test_a_switch_that_a_function_puts_back_after_its_work(tmp_path: Path, between: str, temporary: bool) -> None:
    text = f"""
        from torch.backends import cudnn
        def measure(net):
            cudnn.benchmark = False
            {between}
            cudnn.benchmark = True
    """
    switch = stated(SmallProject(tmp_path, {"train.py": text}).module(), OWNER, "benchmark")
    assert switch.temporary(switch.settings[1][0], True) is temporary
