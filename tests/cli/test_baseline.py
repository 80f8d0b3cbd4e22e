"""Findings that a project lives with for now: listed once, silent from then on, and fewer with time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import TRAIN, Run

from repository import commit, git

HEADER = "# torchrepro-lint baseline, version 1: findings that are known. Made by `check --write-baseline`.\n"


def codes(stdout: str) -> list[str]:
    """The findings of a concise report as path and code."""
    rows = (re.match(r"([^:]*):.*?: (TRP\d+) ", line) for line in stdout.splitlines())
    return [f"{row[1]} {row[2]}" for row in rows if row]


@pytest.fixture
def known(run: Run, project: Path) -> Path:
    """The project's baseline, which has all its findings."""
    done = run(".", "--write-baseline", "known.txt")
    assert done.exit_code == 0
    assert done.stdout == "No problems in 2 files. Left out: 2 in the baseline.\n"
    assert done.stderr == "torchrepro-lint: known.txt: 2 known findings (2 added)\n"
    return project / "known.txt"


def check(run: Run, *arguments: str) -> list[str]:
    return codes(run(".", "--baseline", "known.txt", "--output-format", "concise", *arguments).stdout)


def test_it_is_a_sorted_text_without_line_numbers(known: Path) -> None:
    head, *lines = known.read_text().splitlines()
    assert head + "\n" == HEADER
    assert [(line.split("\t")[:2], line.split("\t")[3]) for line in lines] == [
        (["train.py", "TRP102"], "torch.manual_seed(int(time.time()))"),
        (["train.py", "TRP401"], "torch.backends.cudnn.benchmark=True"),
    ]


def test_what_is_known_is_silent_and_what_is_new_is_not(run: Run, known: Path, project: Path) -> None:
    assert run(".", "--baseline", "known.txt").exit_code == 0
    (project / "train.py").write_text(TRAIN + "torch.manual_seed(int(time.time()))\n")
    done = run(".", "--baseline", "known.txt", "--output-format", "concise")
    assert (done.exit_code, codes(done.stdout)) == (1, ["train.py TRP102"])
    assert "train.py:7:19: " in done.stdout  # of equal statements the last counts as new


@pytest.mark.parametrize(
    "changed",
    [
        "# a comment\n\n" + TRAIN.replace("\n\n", "\n\n\nx = 1\n"),
        TRAIN.replace("(int(time.time()))", "(\n    int(\n        time.time(),\n    )  # !\n)"),
        TRAIN.replace("= True", "= (\n    True\n)"),
        TRAIN.replace("\n", "\r\n"),
        "if True:\n    " + TRAIN.replace("\n", "\n    ").rstrip() + "\n",
    ],
    ids=["moved", "formatted", "parentheses", "newlines", "indented"],
)  # fmt: skip
def test_what_is_moved_or_formatted_stays_known(run: Run, known: Path, project: Path, changed: str) -> None:
    (project / "train.py").write_bytes(changed.encode())
    assert check(run) == []


def test_a_renamed_file_and_code_moved_to_another_file_stay_known(run: Run, known: Path, project: Path) -> None:
    (project / "train.py").rename(project / "main.py")
    assert check(run) == []
    (project / "main.py").write_text(TRAIN.replace("torch.backends.cudnn.benchmark = True\n", ""))
    (project / "flags.py").write_text("import torch\n\ntorch.backends.cudnn.benchmark = True\n")
    assert check(run) == []
    assert run(".", "--write-baseline", "known.txt").stderr == "torchrepro-lint: known.txt: 2 known findings\n"
    assert [line.split("\t")[0] for line in known.read_text().splitlines()[1:]] == ["flags.py", "main.py"]


def test_a_copy_is_new(run: Run, known: Path, project: Path) -> None:
    (project / "copy.py").write_text(TRAIN)
    assert check(run) == ["copy.py TRP401", "copy.py TRP102"]


def test_an_entry_for_an_entry_point_follows_only_a_file_that_is_gone(run: Run, project: Path) -> None:
    program = 'import torch\n\nif __name__ == "__main__":\n    torch.rand(2, requires_grad=True).sum().backward()\n'
    (project / "a.py").write_text(program)
    assert run("a.py", "--write-baseline", "known.txt").exit_code == 0
    (project / "a.py").write_text(program.replace("    torch", "    torch.manual_seed(0)\n    torch", 1))
    (project / "b.py").write_text(program)
    assert check(run, "--select", "TRP101") == ["b.py TRP101"]
    (project / "a.py").unlink()
    assert check(run, "--select", "TRP101") == []


def test_what_is_fixed_is_told_and_taken_out_and_nothing_is_put_in(run: Run, known: Path, project: Path) -> None:
    fixed = TRAIN.replace("= True", "= False")
    (project / "train.py").write_text(fixed + "torch.seed()\n")
    told = run(".", "--baseline", "known.txt").stderr
    assert told == (
        "torchrepro-lint: 1 known finding is not found any more: --write-baseline takes it out of known.txt\n"
    )
    done = run(".", "--write-baseline", "known.txt")
    assert done.exit_code == 1
    assert done.stderr == (
        "torchrepro-lint: known.txt: 1 known finding (1 taken out)\n"
        "torchrepro-lint: 1 new finding left as new: --extend-baseline would add them\n"
    )
    assert known.read_text().count("\t") == 3
    done = run(".", "--write-baseline", "known.txt", "--extend-baseline")
    assert (done.exit_code, done.stderr) == (0, "torchrepro-lint: known.txt: 2 known findings (1 added)\n")


def test_what_was_not_looked_at_stays(run: Run, known: Path, project: Path) -> None:
    before = known.read_text()
    assert run("clean.py", "--write-baseline", "known.txt").exit_code == 0
    assert run(".", "--select", "TRP4", "--write-baseline", "known.txt").exit_code == 0
    assert run(".", "--min-certainty", "certain", "--write-baseline", "known.txt").exit_code == 0
    assert known.read_text() == before


def test_the_setting_counts_from_its_file_and_can_be_switched_off(
    run: Run, known: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "torchrepro-lint.toml").write_text('baseline = "known.txt"\n')
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    assert run("..").exit_code == 0
    assert run("..", "--no-baseline").exit_code == 1
    assert run("..", "--isolated").exit_code == 1
    (project / "known.txt").unlink()
    done = run("..")
    assert done.exit_code == 2
    assert done.stderr.startswith("torchrepro-lint: baseline: ")
    assert done.stderr.endswith(
        "known.txt: no such file; `--write-baseline " + str(project / "known.txt") + "` makes it\n"
    )


def test_fixes_leave_alone_what_is_known(run: Run, known: Path, project: Path) -> None:
    (project / "train.py").write_text(TRAIN + "torch.backends.cudnn.benchmark = True\n")
    assert run(".", "--fix", "--baseline", "known.txt").exit_code == 0
    assert (project / "train.py").read_text() == TRAIN + "torch.backends.cudnn.benchmark = False\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "<<<<<<< HEAD\n", "known.txt:2: a merge conflict is not resolved; keep the lines of both sides"),
        (HEADER + "train.py TRP102\n", "known.txt:2: not a line of a baseline: 'train.py TRP102'"),
        (HEADER.replace("version 1", "version 2"), "known.txt:1: version 2 of baselines is not known to this release"),
        ("\udcff", "known.txt: is not UTF-8"),
    ],
)
def test_a_baseline_that_cannot_be_used_ends_the_run(run: Run, project: Path, text: str, message: str) -> None:
    (project / "known.txt").write_bytes(text.encode("utf-8", "surrogateescape"))
    for option in ("--baseline", "--write-baseline"):
        done = run(".", option, "known.txt")
        assert (done.exit_code, done.stdout) == (2, "")
        assert message in done.stderr


def test_two_branches_that_fix_and_add_merge_line_by_line(run: Run, known: Path, project: Path) -> None:
    lines = known.read_text().splitlines(keepends=True)
    known.write_text("".join([lines[0], lines[2], lines[1], lines[1]]))  # in another order, and one twice
    assert check(run) == []


@pytest.mark.parametrize("name", ["#a\tb.py", "<<<<<<< x.py", "back\\slash\n\x1b[31m.py", "漢\u202e字.py", "\udcff.py"])
def test_hostile_names_are_kept(run: Run, project: Path, name: str) -> None:
    (project / name).write_text(TRAIN)
    assert run(".", "--write-baseline", "known.txt").exit_code == 0
    text = (project / "known.txt").read_text()
    assert text.count("\n") == 1 + 4
    assert "\x1b" not in text and "\u202e" not in text
    assert run(".", "--baseline", "known.txt").exit_code == 0


def test_a_file_that_cannot_be_read_is_never_known(run: Run, project: Path) -> None:
    (project / "broken.py").write_text("x = (\n")
    assert run(".", "--write-baseline", "known.txt").exit_code == 2
    done = run(".", "--baseline", "known.txt")
    assert (done.exit_code, "TRP001" in done.stdout) == (2, True)


def test_branches_that_take_entries_out_and_put_some_in_merge(run: Run, project: Path) -> None:
    for name in ("a.py", "b.py", "c.py", "d.py"):
        (project / name).write_text(TRAIN)
    run(".", "--write-baseline", "known.txt")
    commit(project)
    git(project, "switch", "--quiet", "--create", "topic")
    (project / "a.py").write_text("x = 1\n")
    run(".", "--write-baseline", "known.txt")
    commit(project)
    git(project, "switch", "--quiet", "main")
    (project / "c.py").write_text(TRAIN + "torch.seed()\n")
    (project / "d.py").write_text("x = 1\n")
    run(".", "--write-baseline", "known.txt", "--extend-baseline")
    commit(project)
    git(project, "merge", "--quiet", "--no-edit", "topic")
    done = run(".", "--baseline", "known.txt")
    assert (done.exit_code, done.stderr) == (0, "")
    before = (project / "known.txt").read_text()
    run(".", "--write-baseline", "known.txt")
    assert (project / "known.txt").read_text() == before
