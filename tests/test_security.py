"""What SECURITY.md says of a `check`: which files it opens, and that it starts no process and opens no socket; and that
it speaks of every command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path

import click
import pytest

from torchrepro_lint import cards
from torchrepro_lint.cli.program import program

HOOK = """
import json, os, sys
seen = {"files": set(), "other": []}
WATCHED = ("subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "pty.", "socket.",
           "ctypes.dlopen", "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.", "shutil.rmtree", "os.startfile")
def hook(event, arguments):
    if event in ("open", "os.listdir", "os.scandir"):
        if isinstance(arguments[0], (str, bytes, os.PathLike)):
            seen["files"].add(os.path.abspath(os.fsdecode(arguments[0])))
    elif event.startswith(WATCHED):
        seen["other"].append([event, repr(arguments)])
sys.addaudithook(hook)
from torchrepro_lint.cli.program import program
try:
    program([*sys.argv[2:]], standalone_mode=False)
finally:
    with open(sys.argv[1], "w") as file:
        json.dump({"files": sorted(seen["files"]), "other": seen["other"]}, file)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Bad examples of every card, with a configuration, and links and lists that lead elsewhere."""
    root = tmp_path / "around/project"
    for code, card in cards.load_cards().items():
        bad = (example for example in card.examples() if example.kind == "bad")
        for number, example in enumerate(islice(bad, 2)):
            for name, text in example.sources():
                path = root / f"{code}_{number}" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
    (tmp_path / "shared.toml").write_text("seed = 3\n")
    (root / "pyproject.toml").write_text(
        "[project]\nname = 'x'\ndependencies = ['torch']\n"
        "[tool.torchrepro-lint]\nselect = ['ALL']\nextend = '../../shared.toml'\n"
    )
    (root / "requirements.txt").write_text("-r ../../elsewhere/requirements.txt\ntorch\n")
    return root


RUNS = ["check . --jobs 1", "check . --fix --unsafe-fixes", "check . --diff", "check TRP101_0", "explain ."]


@pytest.mark.parametrize("arguments", RUNS)
def test_a_run_opens_files_of_the_project_and_nothing_else(project: Path, arguments: str, tmp_path: Path) -> None:
    opened, other, _ = watched(project, arguments, tmp_path)
    assert project / "pyproject.toml" in opened
    assert tmp_path / "shared.toml" in opened
    assert _outside(opened, project, tmp_path) == []
    assert other == []


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A project whose imports lead through links to files elsewhere."""
    root, secret = tmp_path / "project", tmp_path / "elsewhere/secret.py"
    root.mkdir()
    (root / "pyproject.toml").write_text("")
    secret.parent.mkdir()
    secret.write_text("import torch\n\n\ndef draw():\n    return torch.rand(2)  # swordfish\n")
    (secret.parent / "__init__.py").write_text("password = 'swordfish'(\n")
    (root / "link.py").symlink_to(secret)
    (root / "linked").symlink_to(secret.parent)
    (root / "uses.py").write_text(
        "import link\nfrom linked import secret\n\nif __name__ == '__main__':\n    print(link.draw(), secret.draw())\n"
    )
    return root


@pytest.mark.parametrize("arguments", ["check .", "check uses.py", "explain .", "check . --output-format json"])
def test_nothing_of_a_file_that_a_link_leads_to_is_told(linked: Path, arguments: str, tmp_path: Path) -> None:
    output = watched(linked, arguments, tmp_path)[2]
    assert "swordfish" not in output
    assert "secret.py:" not in output


def test_a_file_that_a_link_leads_to_is_not_opened(linked: Path, tmp_path: Path) -> None:
    assert _outside(watched(linked, "check uses.py", tmp_path)[0], linked, tmp_path) == []


@pytest.mark.parametrize("arguments", ["rule TRP101", "ops", "completion zsh"])
def test_what_runs_no_process(project: Path, arguments: str, tmp_path: Path) -> None:
    assert watched(project, arguments, tmp_path)[1] == []


def test_every_command_has_a_row() -> None:
    told = (Path(__file__).parents[1] / "SECURITY.md").read_text()
    commands = program.list_commands(click.Context(program))
    rows = [line.split("|")[1] for line in told.splitlines() if line.startswith("| `")]
    assert {words.split()[0] for row in rows for words in re.findall("`([a-z].*?)`", row)} == set(commands)


def watched(project: Path, arguments: str, tmp_path: Path) -> tuple[list[Path], list[list[str]], str]:
    """The files and folders that a run opens, the processes and sockets, and what it prints."""
    log = tmp_path / "log.json"
    command = [sys.executable, "-c", HOOK, str(log), *arguments.split()]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, env=environment)
    seen = json.loads(log.read_text())
    other = [event for event in seen["other"] if not _is_extension(event)]
    return [Path(name) for name in seen["files"]], other, done.stdout + done.stderr


def _outside(opened: list[Path], project: Path, tmp_path: Path) -> list[Path]:
    """What is neither of the project nor of the installation, nor named by the configuration."""
    ours = Path(__file__).parents[1]
    python = (Path(name) for name in {sys.prefix, sys.base_prefix, *filter(None, sys.path)} if name != str(Path.cwd()))
    allowed = [path.resolve() for path in (project, ours / "src", ours / "rules", *python)]
    named = [tmp_path / "shared.toml", Path(os.devnull), tmp_path / "log.json"]
    return [p for p in opened if p not in named and not any(p.resolve().is_relative_to(a) for a in allowed)]


def _is_extension(event: list[str]) -> bool:
    """Libraries that imports of the installation load."""
    return event[0] == "ctypes.dlopen" and "site-packages" in event[1]
