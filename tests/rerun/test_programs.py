"""Small programs with a known verdict: what made their runs part, the line of it, and the rule that predicted it.

A program says in comments what is expected of it: a line `# expect:` per cause, in order, and `# cause N` at the line.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from torchrepro_lint.cli.program import program

PROGRAMS = Path(__file__).parent / "programs"
FAST = ("seeded", "unseeded", "accumulate", "fails", "no_torch")  # the others are marked slow
SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/rerun.schema.json").read_text(encoding="utf-8"))
WHOLE = ("IDENTICAL", "HIDDEN_BY_TRACING", "PROGRAM_FAILED", "INCONCLUSIVE")
EXIT = {"IDENTICAL": 0, "PARTED": 1, "HIDDEN_BY_TRACING": 3, "INCONCLUSIVE": 3, "PROGRAM_FAILED": 4}


@dataclass(frozen=True)
class Expected:
    causes: list[dict[str, str]]
    verdict: str
    options: list[str]
    command: list[str]
    needs: str

    @classmethod
    def of(cls, path: Path) -> Expected:
        text = path.read_text(encoding="utf-8")
        told = [shlex.split(line) for line in re.findall(r"^# expect: (.*)$", text, re.M)]
        whole = told[0][0] in WHOLE
        return cls(
            [] if whole else [_cause(number, words, text) for number, words in enumerate(told, 1)],
            told[0][0] if whole else "PARTED",
            _words(text, "options", ""),
            _words(text, "command", "{file}"),
            "".join(_words(text, "needs", "")),
        )


def _cause(number: int, words: list[str], text: str) -> dict[str, str]:
    """What is told of a cause, and the line that is marked for it."""
    lines = [str(at) for at, line in enumerate(text.splitlines(), 1) if line.endswith(f"# cause {number}")]
    told = dict(word.split("=", 1) for word in words[1:])
    return {"verdict": words[0], **told, **({"line": lines[0]} if lines else {})}


def _words(text: str, name: str, default: str) -> list[str]:
    found = re.search(rf"^# {name}: (.*)$", text, re.M)
    return shlex.split(found[1] if found else default)


def is_missing(need: str) -> bool:
    return shutil.which("g++") is None if need == "compiler" else importlib.util.find_spec(need) is None


@pytest.fixture
def rerun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forks: None) -> Callable[..., Result]:
    """Run the command in this process and an empty project; the programs that it starts are forks."""
    pytest.importorskip("torch")
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)

    def invoke(options: list[str], command: list[str]) -> Result:
        launcher = {"torchrun": [sys.executable, "-m", "torch.distributed.run"]}
        words = [*launcher.get(command[0], [command[0]]), *command[1:]]
        return CliRunner().invoke(program, ["rerun", "--output-format", "json", *options, "--", *words])

    return invoke


def programs() -> list[Any]:
    names = sorted(path.stem for path in PROGRAMS.glob("*.py"))
    return [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", programs())
def test_the_verdict_the_line_and_the_rule(name: str, tmp_path: Path, rerun: Callable[..., Result]) -> None:
    expected = Expected.of(PROGRAMS / f"{name}.py")
    if expected.needs and is_missing(expected.needs):
        pytest.skip(f"needs {expected.needs}")
    shutil.copy(PROGRAMS / f"{name}.py", tmp_path / "train.py")
    done = rerun(expected.options, [word.replace("{file}", "train.py") for word in expected.command])
    assert done.stdout, done.stderr
    status, report = done.exit_code, json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    assert (report["verdict"], status) == (expected.verdict, EXIT[expected.verdict]), (
        report["reason"],
        report["causes"],
    )
    assert len(report["causes"]) == len(expected.causes), report["causes"]
    for cause, wanted in zip(report["causes"], expected.causes, strict=True):
        told = {key: str(cause[key]) for key in wanted if key != "rule"}
        assert told == {key: value for key, value in wanted.items() if key != "rule"}, cause
        assert "line" not in wanted or cause["path"] == "train.py"
        if "rule" in wanted:
            assert wanted["rule"] in [finding["code"] for finding in cause["predicted_by"]], cause


@pytest.mark.slow
def test_a_spawned_worker_is_observed_in_an_interpreter_of_its_own(tmp_path: Path) -> None:
    """As a user starts it: what `multiprocessing` spawns is no fork here, and observed all the same."""
    pytest.importorskip("torch")
    shutil.copy(PROGRAMS / "spawn_worker.py", tmp_path / "train.py")
    command = [sys.executable, "-m", "torchrepro_lint", "rerun", "--record", "run.trr", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / "run.trr") as recorded:
        worker = [json.loads(line) for line in recorded.read("main.mp-1.jsonl").splitlines()]
    assert [record["worker"] for record in worker if record["k"] == "ask"] == [0] * 4  # batches that it was asked for
