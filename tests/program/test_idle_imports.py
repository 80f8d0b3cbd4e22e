"""What importing a module runs: a decorator of another file does nothing where making it only defines a function."""

from __future__ import annotations

from pathlib import Path

import pytest

from program.small_project import SmallProject
from torchrepro_lint.seeding.seedings import seedings

TRAIN = "import models\n\nif __name__ == '__main__':\n    print(1)\n"
MODELS = "from registry import register\n\n@register('net')\nclass Net:\n    pass\n"
MAKERS = [
    ("def register(name):\n    def apply(cls):\n        return cls\n    return apply\n", False),
    ("import torch\ndef register(name):\n    torch.manual_seed(0)\n    return lambda cls: cls\n", True),
    ("def register(name):\n    return made(name)\n", True),
    ("from elsewhere import register\n", True),
    ("", True),
]


@pytest.mark.parametrize(("registry", "runs"), MAKERS)
def test_a_module_with_a_decorator(registry: str, runs: bool, tmp_path: Path) -> None:
    project = SmallProject(tmp_path, {"train.py": TRAIN, "models.py": MODELS, "registry.py": registry})
    (seeding,) = seedings(project.facts(), project.program)
    assert (project.facts("models.py") in seeding.visited) is runs
