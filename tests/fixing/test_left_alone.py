"""Programs that train and have findings, which a naive safe fix would break, or make do what their authors do not want:
`--fix` leaves them alone, or writes what is right there."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, check
from torchrepro_lint.repair import fix
from torchrepro_lint.settings import SettingsResolver

LOOP = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
_BLOCK = re.compile(r"^```python(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _page() -> dict[str, tuple[str, dict[str, str]]]:
    """Title -> the rule and the files, of each program on the page."""
    text = Path(__file__).with_name("left_alone.md").read_text()
    found: dict[str, tuple[str, dict[str, str]]] = {}
    for section in text.split("\n## ")[1:]:
        code, _, title = section.partition("\n")[0].partition(": ")
        found[title] = code, {name or "train.py": _whole(body) for name, body in _BLOCK.findall(section)}
    return found


def _whole(text: str) -> str:
    return re.sub(r"^( *)LOOP\n", lambda match: textwrap.indent(LOOP, match[1]), text, flags=re.MULTILINE)


PAGE = _page()
SHARED = """\
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
LOOP
"""


def _request(folder: Path, code: str, files: dict[str, str]) -> Request:
    (folder / "pyproject.toml").write_text("")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return Request((folder,), SettingsResolver(cards.codes(), isolated=True, overrides={"select": [code, "TRP003"]}))


@pytest.mark.parametrize(("code", "files"), PAGE.values(), ids=PAGE)
def test_a_program_that_is_left_alone(code: str, files: dict[str, str], tmp_path: Path) -> None:
    request = _request(tmp_path, code, files)
    assert {finding.code for finding in check(request).findings} <= {code}
    fix(request, unsafe=False, write=True)
    assert {name: (tmp_path / name).read_text() for name in files} == files


def test_an_iterator_that_two_loops_share_stays_one(tmp_path: Path) -> None:
    files = {"train.py": _whole(SHARED)}
    fix(_request(tmp_path, "TRP204", files), unsafe=False, write=True)
    listed = 'Path("data").iterdir()'
    assert (tmp_path / "train.py").read_text() == files["train.py"].replace(listed, f"iter(sorted({listed}))")
