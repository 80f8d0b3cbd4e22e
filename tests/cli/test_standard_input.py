"""`-`: source on the standard input."""

from __future__ import annotations

from pathlib import Path

from command_line import TRAIN, Process, Run

FIXED = TRAIN.replace("True", "False").replace("int(time.time())", "0").replace("import time\n\n", "")


def test_findings_name_the_given_file(run: Run) -> None:
    done = run("-", "--stdin-filename", "src/model.py", stdin=TRAIN.encode())
    assert done.exit_code == 1
    assert " --> src/model.py:5:1\n" in done.stdout
    assert "torch.backends.cudnn.benchmark = True" in done.stdout


def test_without_a_name(run: Run) -> None:
    assert " --> stdin.py:5:1\n" in run("-", stdin=TRAIN.encode()).stdout


def test_the_text_stands_in_for_the_file(run: Run, project: Path) -> None:
    done = run("-", "--stdin-filename", "train.py", stdin=b"x = 1\n")
    assert (done.exit_code, done.stdout) == (0, "No problems in 1 file.\n")


def test_the_fixed_source_goes_to_stdout_and_the_report_to_stderr(run: Run, project: Path) -> None:
    done = run("-", "--stdin-filename", "train.py", "--fix", stdin=TRAIN.encode())
    assert (done.exit_code, done.stdout) == (0, FIXED)
    assert done.stderr == "Fixed 2 problems, none remain in 1 file.\n"
    assert (project / "train.py").read_text() == TRAIN


def test_what_has_no_fix_comes_back_as_it_was(process: Process) -> None:
    source = "\ufeffx = 'é'\r\n".encode()
    assert process("-", "--fix", stdin=source).stdout == source


def test_encodings_and_newlines_survive_a_fix(process: Process) -> None:
    source = "# -*- coding: latin-1 -*-\r\nimport torch  # é\r\ntorch.backends.cudnn.benchmark = True\r\n"
    done = process("-", "--fix", stdin=source.encode("latin-1"))
    assert done.stdout == source.replace("True", "False").encode("latin-1")


def test_a_diff_of_the_standard_input(run: Run) -> None:
    done = run("-", "--stdin-filename", "train.py", "--diff", stdin=TRAIN.encode())
    assert done.exit_code == 1
    assert done.stdout.startswith("--- a/train.py\n+++ b/train.py\n")


def test_bytes_that_are_not_text_exit_with_2(run: Run) -> None:
    done = run("-", "--stdin-filename", "train.py", stdin=b"x = 1\ny = '\xff'\n")
    assert done.exit_code == 2
    assert done.stderr.startswith("torchrepro-lint: train.py:2:6: ")


def test_a_syntax_error_exits_with_2_and_its_place(run: Run) -> None:
    done = run("-", stdin=b"x = (\n")
    assert done.exit_code == 2
    assert "TRP001 error" in done.stdout
    assert " --> stdin.py:1:5\n" in done.stdout
