"""The program as a process: help, version, pipes, encodings, interrupts, what is imported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import PLAIN, TRAIN, Process, Run

from torchrepro_lint import __version__, cli
from torchrepro_lint.cli import run as check_run
from torchrepro_lint.cli.check import check
from torchrepro_lint.cli.options import Options
from torchrepro_lint.cli.program import program
from torchrepro_lint.cli.rule import rule

COMMAND = [sys.executable, "-m", "torchrepro_lint"]


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"torchrepro-lint {__version__}\n"
    assert run("-V").exit_code == 0


def test_help_shows_commands_and_examples(run: Run) -> None:
    done = run("--help")
    assert done.exit_code == 0
    for part in ("check", "rule", "torchrepro-lint src/ --fix", "`torchrepro-lint check --help` lists"):
        assert part in done.stdout
    assert "..." not in done.stdout.partition("Commands:")[2]  # each command's line is whole
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_a_current_folder_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    leave = f"cd {tmp_path / 'gone'} && rmdir {tmp_path / 'gone'} && exec {sys.executable} -m torchrepro_lint ."
    done = subprocess.run(["sh", "-c", leave], env=PLAIN, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "torchrepro-lint: the current folder does not exist any more\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [("--help",), ("rule", "--all"), ("check", "train.py")])
def test_a_full_disk_is_told_in_one_line(arguments: tuple[str, ...], project: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, *arguments], cwd=project, env=PLAIN, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == b"torchrepro-lint: cannot write the output: No space left on device\n"


def test_help_of_check_has_sections_examples_and_exit_codes(run: Run) -> None:
    for arguments in (("check", "--help"), ("src", "-h")):
        lines = run(*arguments).stdout.splitlines()
        sections = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
        assert sections == [
            *("Rules:", "Fixes:", "Output:", "What is reported:", "Exit code:", "Files:", "Settings:", "Other:"),
            *("Safe and unsafe:", "Examples:", "Exit codes:", "Environment:"),
        ]  # fmt: skip
        assert "  torchrepro-lint . --diff --unsafe-fixes | git apply" in lines
        assert "  1  something found at or above --fail-on" in lines


@pytest.mark.parametrize("command", [check, rule])
def test_every_option_is_explained(command: object) -> None:
    import click

    assert isinstance(command, click.Command)
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            assert parameter.help.endswith((".", "]")), parameter.name


def test_the_exit_codes_of_a_process(process: Process, project: Path) -> None:
    assert process("clean.py").returncode == 0
    assert process("train.py").returncode == 1
    assert process("nowhere").returncode == 2


def test_json_is_utf8_whatever_the_terminal_is(process: Process, project: Path) -> None:
    (project / "é漢😀.py").write_text(TRAIN)
    done = process(".", "--output-format", "json", env={"PYTHONIOENCODING": "latin-1"})
    paths = {finding["path"] for finding in json.loads(done.stdout.decode("utf-8"))}
    assert paths == {"train.py", "é漢😀.py"}


def test_text_that_the_terminal_cannot_show_is_escaped(process: Process, project: Path) -> None:
    (project / "é漢.py").write_text(TRAIN)
    done = process(".", env={"PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 1
    assert b" --> \xe9\\u6f22.py:5:1\n" in done.stdout


def test_a_file_name_that_is_not_text(process: Process, project: Path) -> None:
    name = os.fsencode(project) + b"/tr\xffin.py"
    try:
        Path(os.fsdecode(name)).write_text(TRAIN)
    except OSError:
        pytest.skip("the file system takes only text as names")
    assert b"tr\\udcffin.py:5:1" in process(".").stdout
    findings = json.loads(process(".", "--output-format", "json").stdout)
    assert {finding["path"] for finding in findings} == {"train.py", "tr\udcffin.py"}


def test_a_reader_that_goes_away_is_no_error(project: Path) -> None:
    for number in range(60):
        (project / f"train{number}.py").write_text(TRAIN * 4)
    running = subprocess.Popen([*COMMAND, "."], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN)
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.readline()
    running.stdout.close()
    errors = running.stderr.read()
    assert running.wait(60) == 1
    assert errors == b""
    running.stderr.close()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_exits_with_130(project: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    running = subprocess.Popen(
        [*COMMAND, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN
    )
    signal.signal(signal.SIGINT, before)
    assert running.stdin
    running.stdin.write(b"#" * 200_000)  # more than a pipe holds: it is reading when this returns
    running.stdin.flush()
    running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert b"Traceback" not in errors
    assert output == b""


@pytest.mark.skipif(sys.platform == "win32", reason="click expands patterns there")
@pytest.mark.parametrize("arguments", [[], ["a.py", "b"], ["check", "rule", "a.py"]])
def test_paths_alone_need_no_parser_and_are_what_it_makes_of_them(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Options] = []
    monkeypatch.setattr("torchrepro_lint.cli.run.run", lambda options: asked.append(options) or 0)
    monkeypatch.setattr("torchrepro_lint.cli.run.run", lambda options: asked.append(options) or 0)
    paths = cli.paths_alone(arguments)
    assert paths is not None
    check_run.check_paths(paths)
    program(arguments, standalone_mode=False)
    assert asked[0] == asked[1]


@pytest.mark.parametrize("arguments", [["rule", "TRP201"], ["-q"], ["a.py", "--fix"], ["-"], [""], ["--help"]])
def test_whatever_is_more_than_paths_is_parsed(arguments: list[str]) -> None:
    assert cli.paths_alone(arguments) is None


def test_a_crash_exits_with_2(project: Path) -> None:
    """A mistake of ours must not look like findings, whose exit code is 1."""
    program = (
        "import sys, torchrepro_lint.cli as cli, torchrepro_lint.cli.run as run\n"
        "sys.argv = ['torchrepro-lint', '.']\n"
        "del run.Request\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, env=PLAIN)
    assert done.returncode == 2
    assert b"NameError" in done.stderr
    assert b"please report" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_a_terminal_gets_colors_and_its_width(project: Path) -> None:
    import fcntl
    import pty
    import struct
    import termios

    (project / "train.py").write_text("import torch\ntorch.backends.cudnn.benchmark = True  # " + "x" * 100 + "\n")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    environment = {**PLAIN, "TERM": "xterm"}
    done = subprocess.run([*COMMAND, "train.py"], stdout=theirs, stderr=theirs, check=False, env=environment)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == 1
    assert "\x1b[1;33mTRP401 warning\x1b[0m" in shown
    (source,) = [line for line in shown.splitlines() if "# xxx" in line]
    assert len(source.replace("\x1b[1;34m", "").replace("\x1b[0m", "")) == 70
    assert "files" not in shown.replace("1 of 1 files", "")  # no progress bar in a short run


def test_help_and_version_import_no_engine(project: Path) -> None:
    program = (
        "import sys\n"
        "from torchrepro_lint.cli.program import program\n"
        "program(['--version'], standalone_mode=False)\n"
        "ours = ('engine', 'report', 'cards', 'settings')\n"
        "heavy = {'libcst', 'json', *(f'torchrepro_lint.{name}' for name in ours)} & set(sys.modules)\n"
        "sys.exit(str(sorted(heavy)) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, env=PLAIN)
    assert done.returncode == 0, done.stderr
