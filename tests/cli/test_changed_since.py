"""A pull request hears of what it changed: real repositories, and the real git."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import PLAIN, TRAIN, Run
from test_baseline import codes

from repository import AUTHOR, commit, git

DATA = "def batches(items):\n    return list(items)\n"
MAIN = """\
import torch
from data import batches

torch.backends.cudnn.benchmark = True

if __name__ == "__main__":
    torch.manual_seed(0)
    for batch in batches([1.0, 2.0]):
        torch.tensor(batch, requires_grad=True).backward()
"""


@pytest.fixture
def repository(project: Path) -> Path:
    """A program in two files with one finding, and a file with two; all committed on main."""
    (project / "main.py").write_text(MAIN)
    (project / "data.py").write_text(DATA)
    commit(project)
    return project


def changed(run: Run, *arguments: str, since: str = "main") -> list[str]:
    return codes(run(".", "--changed-since", since, "--output-format", "concise", *arguments).stdout)


def test_nothing_changed_nothing_reported(run: Run, repository: Path) -> None:
    done = run(".", "--changed-since", "main")
    assert (done.exit_code, done.stdout) == (
        0, "No problems in 4 files. Left out: 3 older than the changes since main.\n",
    )  # fmt: skip


def test_a_change_in_one_file_whose_finding_is_in_another(run: Run, repository: Path) -> None:
    (repository / "data.py").write_text("import numpy as np\n\n\n" + DATA.replace("list", "np.random.permutation"))
    assert changed(run) == ["main.py TRP101"]


def test_a_seed_that_is_taken_out_of_another_file(run: Run, repository: Path) -> None:
    helper = "import torch\n\n\ndef fix():\n    torch.manual_seed(0)\n"
    (repository / "seeds.py").write_text(helper)
    program = "import torch\nfrom seeds import fix\n\nif __name__ == '__main__':\n    fix()\n    "
    (repository / "other.py").write_text(program + "torch.rand(2, requires_grad=True).sum().backward()\n")
    commit(repository)
    (repository / "seeds.py").write_text(helper.replace("torch.manual_seed(0)", "pass"))
    assert changed(run) == ["other.py TRP101"]


def test_staged_unstaged_and_untracked_changes_count(run: Run, repository: Path) -> None:
    (repository / "train.py").write_text("\n" + TRAIN + "torch.seed()\n")
    assert changed(run) == ["train.py TRP102"]
    git(repository, "add", "train.py")
    assert changed(run) == ["train.py TRP102"]
    (repository / "new.py").write_text(TRAIN)
    assert changed(run) == ["new.py TRP401", "new.py TRP102", "train.py TRP102"]


def test_commits_on_the_branch_count_and_those_on_main_do_not(run: Run, repository: Path) -> None:
    git(repository, "switch", "--quiet", "--create", "topic")
    (repository / "new.py").write_text(TRAIN)
    commit(repository)
    git(repository, "switch", "--quiet", "main")
    (repository / "train.py").write_text("x = 1\n")
    commit(repository)
    git(repository, "switch", "--quiet", "topic")
    assert changed(run) == ["new.py TRP401", "new.py TRP102"]


def test_moved_code_and_renamed_files_are_no_change(run: Run, repository: Path) -> None:
    git(repository, "mv", "train.py", "again.py")
    (repository / "again.py").write_text("# one\n# two\n" + TRAIN)
    assert changed(run) == []


def test_a_statement_of_which_a_line_is_taken_out(run: Run, repository: Path) -> None:
    text = (
        "from torch.utils.data import DataLoader\n\n"
        "DataLoader(\n    [1],\n    generator=GENERATOR,\n    shuffle=True,\n)\n"
    )
    (repository / "loader.py").write_text(text)
    commit(repository)
    (repository / "loader.py").write_text(text.replace("    generator=GENERATOR,\n", ""))
    assert changed(run, "--select", "TRP201") == ["loader.py TRP201"]


def test_a_rule_that_is_switched_on_is_no_change_of_the_code(run: Run, repository: Path) -> None:
    (repository / "torchrepro-lint.toml").write_text('ignore = ["TRP4"]\n')
    commit(repository)
    (repository / "torchrepro-lint.toml").write_text("")
    assert changed(run) == []


def test_in_a_folder_of_the_repository(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "part").mkdir()
    (project / "part" / "pyproject.toml").write_text(
        '[tool.torchrepro-lint]\nper-file-ignores = {"t*.py" = ["TRP4"]}\n'
    )
    for name in ("train.py", "main.py"):
        (project / "part" / name).write_text(TRAIN)
    commit(project)
    (project / "part" / "main.py").write_text(TRAIN + "torch.seed()\n")
    monkeypatch.chdir(project / "part")
    assert changed(run) == ["main.py TRP102"]


def test_a_notebook_is_compared_by_its_code(run: Run, repository: Path) -> None:
    def notebook(*cells: str, outputs: int) -> str:
        rows = [
            {
                "cell_type": "code",
                "source": cell,
                "metadata": {},
                "outputs": [{"n": outputs}],
                "execution_count": outputs,
            }
            for cell in cells
        ]
        return json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)

    first, second = (
        "import torch\ntorch.backends.cudnn.benchmark = True\n",
        "import time\ntorch.manual_seed(int(time.time()))",
    )
    (repository / "nb.ipynb").write_text(notebook(first, outputs=1))
    commit(repository)
    (repository / "nb.ipynb").write_text(notebook(first, second, outputs=2))
    assert changed(run) == ["nb.ipynb TRP102"]


def test_fixes_touch_only_what_changed(run: Run, repository: Path) -> None:
    (repository / "train.py").write_text(TRAIN + "torch.backends.cudnn.benchmark = True\n")
    run(".", "--fix", "--changed-since", "main")
    assert (repository / "train.py").read_text() == TRAIN + "torch.backends.cudnn.benchmark = False\n"
    assert (repository / "main.py").read_text() == MAIN


def test_names_that_git_quotes(run: Run, repository: Path) -> None:
    for name in ("a b.py", "漢字.py", 'quote".py', "tab\t.py", "line\n.py"):
        (repository / name).write_text(TRAIN)
    commit(repository)
    assert changed(run) == []
    (repository / "漢字.py").write_text(TRAIN + "torch.seed()\n")
    (repository / "line\n.py").write_text(TRAIN + "torch.seed()\n")
    assert len(changed(run)) == 2


@pytest.mark.parametrize("revision", ["nowhere", "origin/main", "--output=x", "main..HEAD", ""])
def test_an_unknown_revision_ends_the_run_and_says_what_to_do(run: Run, repository: Path, revision: str) -> None:
    done = run(".", f"--changed-since={revision}")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"torchrepro-lint: --changed-since: git knows no revision {revision!r}; `git fetch")


def test_no_repository_no_commit_and_no_git(run: Run, project: Path) -> None:
    done = run(".", "--changed-since", "main")
    assert (done.exit_code, done.stderr) == (
        2,
        f"torchrepro-lint: --changed-since: {project} is in no git repository\n",
    )
    git(project, "init", "--quiet")
    assert "git knows no revision 'HEAD'" in run(".", "--changed-since", "HEAD").stderr
    done = run(".", "--changed-since", "main", env={"PATH": str(project)})
    assert (done.exit_code, done.stderr) == (
        2, "torchrepro-lint: --changed-since: git is not installed, or not on PATH\n",
    )  # fmt: skip


def test_a_shallow_clone_says_how_to_get_the_rest(project: Path, repository: Path, tmp_path: Path) -> None:
    first = git(repository, "rev-parse", "HEAD").strip()
    commit(repository, "second")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", str(clone))
    command = [sys.executable, "-m", "torchrepro_lint", ".", "--changed-since", first]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, env=PLAIN)
    assert done.returncode == 2
    assert "this clone is shallow: `git fetch --unshallow`, or `fetch-depth: 0`" in done.stderr


def test_in_a_hook_of_git(repository: Path) -> None:
    (repository / "sub").mkdir()
    (repository / "sub" / "pyproject.toml").write_text("")
    (repository / "sub" / "new.py").write_text(TRAIN)
    hook = repository / ".git" / "hooks" / "pre-commit"
    tool = f'"{sys.executable}" -m torchrepro_lint sub --changed-since HEAD --output-format concise'
    hook.write_text(f"#!/bin/sh\n{tool} > found.txt\n")
    hook.chmod(0o755)
    git(repository, "add", "--all")
    done = subprocess.run(
        ["git", "commit", "-m", "x"], cwd=repository, env={**os.environ, **AUTHOR}, capture_output=True
    )
    assert done.returncode == 1
    assert codes((repository / "found.txt").read_text()) == ["sub/new.py TRP401", "sub/new.py TRP102"]


@pytest.mark.skipif(sys.platform == "win32", reason="a script of Unix")
def test_git_is_given_no_monitor_of_the_repository(run: Run, repository: Path) -> None:
    script = repository / "monitor.sh"
    script.write_text("#!/bin/sh\ntouch was-run\n")
    script.chmod(0o755)
    git(repository, "config", "core.fsmonitor", "./monitor.sh")
    assert changed(run) == []
    assert not (repository / "was-run").exists()
