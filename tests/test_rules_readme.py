"""The walk-through in rules/README.md is true: its card and check, put in place, are a working rule."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
NAME = "machine-dependent-workers"


def test_the_example_is_a_working_rule(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("src", "rules"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder, ignore=ignored)
    for target, text in _files((REPOSITORY / "rules" / "README.md").read_text(encoding="utf-8")).items():
        (tmp_path / target).write_text(text, encoding="utf-8")
    for test in ("conftest.py", "test_card_examples.py"):
        if (REPOSITORY / "tests" / test).exists():
            shutil.copy(REPOSITORY / "tests" / test, tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", "TRP299", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"\b3 passed", done.stdout), done.stdout  # bad, fixed and good


def _files(readme: str) -> dict[str, str]:
    card = re.search(r"^````markdown\n(.*?)^````$", readme, re.MULTILINE | re.DOTALL)
    second = readme.partition("### 2. The check")[2]
    check = re.search(r"^```python\n(.*?)^```$", second, re.MULTILINE | re.DOTALL)
    assert card and check
    module = f"trp299_{NAME.replace('-', '_')}"
    return {
        f"rules/TRP2-data-loading/TRP299-{NAME}.md": card[1],
        f"src/torchrepro_lint/checks/{module}.py": check[1],
    }
