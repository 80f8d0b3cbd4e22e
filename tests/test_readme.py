"""What the README shows is what the linter prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
PROGRAM = {
    "train.py": """\
import torch

from model import Net


def main():
    model = Net()
    model.head(torch.ones(1, 16)).sum().backward()


if __name__ == "__main__":
    main()
""",
    "model.py": """\
from torch import nn


class Net(nn.Module):

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(16, 2)
""",
}


def test_the_first_output(tmp_path: Path) -> None:
    for name, text in PROGRAM.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "torchrepro_lint", "check", "--color", "never", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    shown = re.search(r"^```text\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert done.stdout.startswith(shown[1] + "\nFound 1 certain problem")
