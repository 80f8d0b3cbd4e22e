"""The walk-through in rules/README.md is true: what it shows, put in place, is a working rule, row and probe."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / "rules" / "README.md").read_text(encoding="utf-8")
NAME = "machine-dependent-workers"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package, its rules and what is generated from them."""
    for folder in ("src", "rules", "scripts", "docs"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "README.md", tmp_path)
    return tmp_path


def run(copy: Path, *arguments: str) -> str:
    """What Python prints, with the package of the copy."""
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    done = subprocess.run([sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def test_the_example_is_a_working_rule(copy: Path) -> None:
    for target, text in _files(README).items():
        (copy / target).write_text(text, encoding="utf-8")
    shutil.copy(REPOSITORY / "tests" / "test_card_examples.py", copy)
    tested = run(copy, "-m", "pytest", "-q", "-k", "TRP299", "-p", "no:cacheprovider", str(copy))
    assert re.search(r"^3 passed", tested, re.MULTILINE), tested  # bad, fixed and good
    assert run(copy, "scripts/generate") == "README.md: written\n"
    assert f"TRP299-{NAME}.md" in (copy / "README.md").read_text(encoding="utf-8")


def test_the_row_of_a_seed_function_works(copy: Path) -> None:
    with (copy / "rules" / "catalogue" / "rng.toml").open("a", encoding="utf-8") as table:
        table.write("\n" + _blocks("Add a seed function", "toml")[0])
    program = """\
import numpy, random, torch
from lab_tools.repro import fix_generators

if __name__ == "__main__":
    fix_generators("run", base=7)
    torch.nn.Linear(2, numpy.random.randint(3))(torch.rand(2, 2)).sum().backward()
    random.random()
"""
    (copy / "train.py").write_text(program)
    found = run(copy, "-m", "torchrepro_lint", "train.py", "--select", "TRP101", "--output-format", "concise")
    assert "TRP101" in found
    assert "python generator" in found
    assert "torch generator" not in found
    assert "numpy generator" not in found


def test_the_row_of_an_operation_and_its_probe_work(copy: Path) -> None:
    row, signature = _blocks("Add an operation", "toml")
    table = copy / "rules" / "catalogue" / "ops" / "third-party.toml"
    text = table.read_text(encoding="utf-8").replace("[signatures]\n", "[signatures]\n" + signature, 1)
    table.write_text(f"{text}\n{row}", encoding="utf-8")
    with (copy / "src/torchrepro_lint/verify/probes/third_party.py").open("a", encoding="utf-8") as probes:
        probes.write("\n\n" + _blocks("Add an operation", "python")[0])
    written = run(copy, "scripts/generate")
    names = ["rules/catalogue/compiled.json", "rules/catalogue/ops/triggers.txt", "docs/operations.md"]
    assert written == "".join(f"{name}: written\n" for name in names)
    call = "import nbody, torch\n\n\ndef step(positions, masses):\n    return nbody.forces(positions, masses, {})\n"
    for passed, reported in (("False", True), ("True", False)):
        (copy / "simulate.py").write_text(call.format(passed))
        arguments = ("-m", "torchrepro_lint", "simulate.py", "--select", "TRP504", "--output-format", "concise")
        assert ("its forward pass (forces_kernel) adds the forces" in run(copy, *arguments)) == reported
    (copy / "nbody.py").write_text(
        "def forces(positions, masses, exact=False):\n    return positions * masses[:, None]\n"
    )
    probed = (
        "import torch; from torchrepro_lint.verify.probes import find;"
        "[e] = find('nbody-forces')(torch.device('cpu'), {}); print(e.summary, e.operation(*e.inputs).shape)"
    )
    assert "(2000, 3) float32 torch.Size([2000, 3])" in run(copy, "-c", probed)


def _blocks(heading: str, language: str) -> list[str]:
    """The fenced blocks of a section."""
    section = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


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
