"""Programs that train and have findings, which a naive safe fix would break, or make do what their authors do not want:
`--fix` leaves the lines alone, or writes what is right there."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request
from torchrepro_lint.repair import fix
from torchrepro_lint.settings import SettingsResolver

TRAINS = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

LEFT_ALONE: dict[str, tuple[str, dict[str, str]]] = {
    "another sorted": (
        "TRP205",
        {
            "train.py": """\
                import torch
                from tools import sorted

                torch.manual_seed(0)
                names = "cat dog bird".split()
                classes = {name: i for i, name in enumerate(set(names))}
                loader = [(torch.randn(1, 4), torch.tensor([classes[n]])) for n in names]
                model = torch.nn.Linear(4, 3)
                """,
            "tools.py": "def sorted(items, key):\n    return list(items)\n",
        },
    ),
    "sorted is a variable": (
        "TRP204",
        {
            "train.py": """\
                import os

                import torch

                sorted = False
                torch.manual_seed(0)
                loader = [torch.load(name) for name in os.listdir("data")]
                model = torch.nn.Linear(4, 3)
                """
        },
    ),
    "an iterator that is closed": (
        "TRP204",
        {
            "train.py": """\
                from pathlib import Path

                import torch

                torch.manual_seed(0)
                files = Path("data").rglob("*.pt")
                loader = []
                for path in files:
                    loader.append(torch.load(path))
                    if len(loader) > 10:
                        break
                files.close()
                model = torch.nn.Linear(4, 3)
                """
        },
    ),
    "a property makes the loader": (
        "TRP201",
        {
            "train.py": """\
                import torch
                from torch.utils.data import DataLoader, TensorDataset


                class Data:
                    def __init__(self):
                        self.data = TensorDataset(torch.ones(8, 4), torch.zeros(8).long())

                    @property
                    def train(self):
                        return DataLoader(self.data, 4, shuffle=True)


                torch.manual_seed(0)
                data = Data()
                model = torch.nn.Linear(4, 2)
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                for epoch in range(3):
                    for x, y in data.train:
                        torch.nn.functional.cross_entropy(model(x), y).backward()
                        optimizer.step()
                """
        },
    ),
    "the arguments hold a generator": (
        "TRP201",
        {
            "train.py": """\
                import torch
                from torch.utils.data import DataLoader, TensorDataset

                torch.manual_seed(0)
                options = {"batch_size": 4}
                for key, value in (("generator", torch.Generator()), ("num_workers", 0)):
                    options.setdefault(key, value)
                model = torch.nn.Linear(4, 2)
                data = TensorDataset(torch.randn(8, 4), torch.zeros(8).long())
                loader = DataLoader(data, shuffle=True, **options)
                """
        },
    ),
    "the arguments are copied key by key": (
        "TRP201",
        {
            "train.py": """\
                import torch
                from torch.utils.data import DataLoader, TensorDataset

                torch.manual_seed(0)
                options = {"batch_size": 4}
                for key, value in {"generator": torch.Generator()}.items():
                    options[key] = value
                model = torch.nn.Linear(4, 2)
                data = TensorDataset(torch.randn(8, 4), torch.zeros(8).long())
                loader = DataLoader(data, shuffle=True, **options)
                """
        },
    ),
}

FIXED: dict[str, tuple[str, str, str, str]] = {
    "an iterator that two loops share": (
        "TRP204",
        """\
            from pathlib import Path

            import torch

            torch.manual_seed(0)
            files = Path("data").iterdir()
            loader, rest = [], []
            for path in files:
                loader.append(torch.load(path))
                if len(loader) == 3:
                    break
            for path in files:
                rest.append(torch.load(path))
            model = torch.nn.Linear(4, 3)
            """,
        'Path("data").iterdir()',
        'iter(sorted(Path("data").iterdir()))',
    ),
}


def _fixed(folder: Path, code: str, files: dict[str, str]) -> dict[str, str]:
    """The files after all safe fixes of a rule."""
    (folder / "pyproject.toml").write_text("")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": [code, "TRP001", "TRP003"]})
    fix(Request((folder,), resolver), unsafe=False, write=True)
    return {name: (folder / name).read_text() for name in files}


def _whole(name: str, text: str) -> str:
    text = textwrap.dedent(text)
    return text + TRAINS if name == "train.py" and "SGD" not in text else text


@pytest.mark.parametrize(("code", "files"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_a_line_that_is_left_alone(code: str, files: dict[str, str], tmp_path: Path) -> None:
    whole = {name: _whole(name, text) for name, text in files.items()}
    assert _fixed(tmp_path, code, whole) == whole


@pytest.mark.parametrize(("code", "text", "before", "after"), FIXED.values(), ids=FIXED)
def test_what_is_right_there(code: str, text: str, before: str, after: str, tmp_path: Path) -> None:
    whole = _whole("train.py", text)
    assert _fixed(tmp_path, code, {"train.py": whole}) == {"train.py": whole.replace(before, after)}
