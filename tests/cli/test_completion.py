"""Words completed by the real shells, where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import PLAIN, Run


def completed(number: int, *words: str, cwd: Path | None = None) -> list[str]:
    """What bash is offered for the word of that number, as click tells it: the value of each."""
    env = {
        **PLAIN, "_TORCHREPRO_LINT_COMPLETE": "bash_complete",
        "COMP_WORDS": "\n".join(("torchrepro-lint", *words)), "COMP_CWORD": str(number),
    }  # fmt: skip
    command = [sys.executable, "-m", "torchrepro_lint"]
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (("",), {"plain,check", "plain,rule", "plain,completion", "file,"}),
        (("ver",), {"plain,verify"}),
        (("--fix",), {"plain,--fix", "plain,--fix-only"}),
        (("rule", "TRP20"), {"plain,TRP201", "plain,TRP207"}),
        (("rule", "loader-with"), {"plain,loader-without-generator"}),
        (("ops", "scat"), {"plain,scatter-reduce-sum"}),
        (("check", "--select", "TRP1,trp2"), {"plain,TRP1,TRP201", "plain,TRP1,TRP2"}),
        (("--ignore", "AL"), {"plain,ALL"}),
        (("src", "--output-format", "sa"), {"plain,sarif"}),
        (("-o", "x"), {"file,x"}),
        (("tr",), {"file,tr"}),
    ],
)
def test_what_is_offered(words: tuple[str, ...], some: set[str]) -> None:
    found = completed(len(words), *words)
    assert some <= set(found)
    last = words[-1].lower()
    assert [line for line in found if not line.partition(",")[2].lower().startswith(last)] == []


def test_a_revision(project: Path) -> None:
    from repository import commit, git

    assert completed(2, "--changed-since", "", cwd=project) == []
    commit(project)
    git(project, "branch", "topic")
    assert completed(2, "--changed-since", "to", cwd=project) == ["plain,topic"]


@pytest.fixture
def on_path(tmp_path: Path) -> dict[str, str]:
    """The command as a program on PATH."""
    script = tmp_path / "bin" / "torchrepro-lint"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m torchrepro_lint "$@"\n')
    script.chmod(0o755)
    return {**PLAIN, "PATH": f"{script.parent}:{os.environ['PATH']}"}


SESSIONS = {
    "bash": 'eval "$(torchrepro-lint completion bash)"; COMP_WORDS=(torchrepro-lint rule TRP20); COMP_CWORD=2; '
    '_torchrepro_lint_completion torchrepro-lint; printf "%s\\n" "${COMPREPLY[@]}"',
    "fish": 'torchrepro-lint completion fish | source; complete --do-complete "torchrepro-lint rule TRP20"',
    "zsh": 'autoload -U compinit; compinit -u -D; eval "$(torchrepro-lint completion zsh)"; '
    "compadd() { print -rl -- $* }; _describe() { print -rl -- ${(P)3} }; "
    "words=(torchrepro-lint rule TRP20); CURRENT=3; _torchrepro_lint_completion",
}


@pytest.mark.parametrize("shell", SESSIONS)
def test_the_script_in_its_shell(shell: str, on_path: dict[str, str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    options = {"zsh": ["-f"], "bash": ["--norc"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *options, "-c", SESSIONS[shell]], env=on_path, capture_output=True, text=True, check=False
    )
    assert "TRP201" in done.stdout, done.stderr
    assert "TRP101" not in done.stdout


def test_an_unknown_shell(run: Run) -> None:
    done = run("completion", "csh")
    assert (done.exit_code, "'bash', 'zsh', 'fish'" in done.stderr) == (2, True)
