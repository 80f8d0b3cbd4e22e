"""What cannot be read or understood gets a clear message with its place; everything else goes on; the run ends 2."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import forked
from torchrepro_lint import ISSUES, __version__
from torchrepro_lint.checks import trp402_cudnn_nondeterministic
from torchrepro_lint.cli import run
from torchrepro_lint.source import SourceError, source_from_bytes

GOOD = "import torch\ntorch.backends.cudnn.benchmark = True\n"


def lint(*args: str, cwd: Path, before: Callable[[], object] | None = None) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("PRE_COMMIT", "FORCE_COLOR")}
    done = forked.lint(*args, cwd=cwd, env=environment, before=before)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def reported(folder: Path, *args: str) -> tuple[int, list[tuple[str, str, int, str]]]:
    """Exit status and (path, code, line, message) of each finding, with a good file beside what was given."""
    (folder / "good.py").write_text(GOOD)
    done = lint("check", ".", "--output-format", "json", *args, cwd=folder)
    rows = json.loads(done.stdout)
    return done.returncode, [(r["path"], r["code"], r["line"], r["message"]) for r in rows]


BROKEN = {
    "syntax.py": (b"def f(:\n    pass\n", 1),
    "null.py": (b"x = 1\ny = '\0'\n", 2),
    "cookie.py": (b"# -*- coding: no-such-codec -*-\nx = 1\n", 1),
    "latin.py": (b"x = 1\ny = '\xe9'\n", 2),
    "declared.py": (b"# coding: ascii\ny = '\xe9'\n", 2),
    "nested.py": (b"x = " + b"(" * 1000 + b")" * 1000 + b"\n", 1),
    "cut.ipynb": (b'{"cells": [\n  {"cell_type": "code", "source": [\n', None),
    "list.ipynb": (b"[]\n", 1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_reported_with_its_place_and_the_others_go_on(name: str, tmp_path: Path) -> None:
    content, line = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    status, findings = reported(tmp_path)
    assert status == 2
    broken = [f for f in findings if f[0] == name]
    assert [f[1] for f in broken] == ["TRP001"]
    assert line is None or broken[0][2] == line
    assert len(broken[0][3]) > 10
    assert [f[:2] for f in findings if f[0] == "good.py"] == [("good.py", "TRP401")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.py", b""),
        ("comment.py", b"# nothing"),
        ("bom.py", b"\xef\xbb\xbfx = 1\r\n"),
        ("feed.py", b"\x0cx = 1\n\x0c\ndef f():\n\x0c    pass\n"),
        ("tabs.py", b"if 1:\n\tx = 1\n"),
        ("deep.py", b"x" + b".a(1)" * 900 + b"\n"),
        ("long.py", b"f(1)\n" * 70_000),
        (
            "name.py",
            b"import os\ni = 0\nfor x in os.listdir('d'):\n i += 1\n y = "
            + b"'a' + " * 900
            + b"x\n save(y, load(x))\n",
        ),
        ("stub.pyi", b"def f(x: int) -> int: ...\n"),
    ],
)
def test_odd_files_are_no_problem(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    status, findings = reported(tmp_path)
    assert (status, [f[0] for f in findings]) == (1, ["good.py"])


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_what_is_no_file_is_not_waited_for(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket may not be long
    if kind == "pipe":
        os.mkfifo("odd.py")
    else:
        socket.socket(socket.AF_UNIX).bind("odd.py")
    (tmp_path / "good.py").write_text(GOOD)
    assert reported(tmp_path)[0] == 1  # in a folder it is passed over
    done = lint("check", "odd.py", "good.py", "--output-format", "concise", cwd=tmp_path)
    assert done.returncode == 2
    assert "odd.py:1:1: TRP001 error(certain) cannot be read: not a regular file" in done.stdout
    assert "TRP401" in done.stdout


@pytest.mark.parametrize("command", ["check", "explain", "verify"])
def test_an_empty_path_is_not_the_current_folder(command: str, tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    done = lint(command, "", cwd=tmp_path)
    assert done.returncode == 2
    assert "an empty path" in done.stderr
    assert done.stdout == ""


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    as_nobody = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if as_nobody and (not shutil.which("setpriv") or subprocess.run([*as_nobody, "true"], check=False).returncode):
        pytest.skip("root reads everything here")
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "locked.py").write_text("x = 1\n")
    (tmp_path / "locked.py").chmod(0)
    for paths in (["."], ["locked.py", "good.py"]):
        command = [*as_nobody, sys.executable, "-m", "torchrepro_lint", *paths, "--output-format", "concise"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 2
        assert "locked.py:1:1: TRP001 error(certain) cannot be read: Permission denied" in done.stdout
        assert "good.py:2:1: TRP401" in done.stdout


def test_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "locked.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "good.py").write_text(GOOD)
    done = lint("check", "locked.py", "good.py", "--output-format", "concise", cwd=tmp_path)
    assert done.returncode == 2
    assert "locked.py" in done.stdout + done.stderr
    assert "TRP401" in done.stdout


def test_a_folder_without_python_and_a_missing_path(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    empty = lint("check", ".", cwd=tmp_path)
    assert (empty.returncode, empty.stdout) == (2, "")
    assert "no Python files" in empty.stderr
    (tmp_path / "good.py").write_text(GOOD)
    missing = lint("check", "good.py", "no/such.py", "--output-format", "concise", cwd=tmp_path)
    assert missing.returncode == 2
    assert "no/such.py" in missing.stderr
    assert "TRP401" in missing.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.torchrepro-lint\n", "pyproject.toml:1"),
        ("[tool.torchrepro-lint]\nselekt = []\n", "'select'"),
        ("[tool.torchrepro-lint]\nselect = ['TRP4O1']\n", "TRP401"),
        ("[tool.torchrepro-lint]\nseed = 'x'\n", "whole number"),
    ],
)
def test_a_broken_configuration(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    (tmp_path / "good.py").write_text(GOOD)
    done = lint("check", ".", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_rule_is_named_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    done = lint("check", ".", "--select", "cudnn-benchmrk", cwd=tmp_path)
    assert done.returncode == 2
    assert "cudnn-benchmark" in done.stderr


def test_a_crash_of_a_check_is_one_finding_not_the_end(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "other.py").write_text("import torch\ntorch.backends.cudnn.deterministic = False\n")

    def check(module: object, program: object) -> Iterator[object]:
        raise KeyError("oops")
        yield

    def broken() -> None:
        trp402_cudnn_nondeterministic.check = check  # type: ignore[assignment]

    done = lint("check", ".", "--output-format", "concise", cwd=tmp_path, before=broken)
    assert done.returncode == 2
    assert "TRP003" in done.stdout
    assert "TRP402" in done.stdout
    assert "oops" in done.stdout
    assert "good.py:2:1: TRP401" in done.stdout
    (told,) = [line for line in done.stdout.splitlines() if "TRP003" in line and "other.py" in line]
    assert f"(at test_bad_input.py:{check.__code__.co_firstlineno + 1} < checking.py:" in told
    assert f"torchrepro-lint {__version__}, Python 3." in told
    assert f"please report this line at {ISSUES}, with the file" in told


def test_a_crash_of_the_command_says_where_to_report_it(tmp_path: Path) -> None:
    def crashing(options: object) -> int:
        raise KeyError("oops")

    def broken() -> None:
        run.run = crashing

    done = lint("check", ".", "--isolated", cwd=tmp_path, before=broken)
    assert done.returncode == 2
    assert "KeyError: 'oops'" in done.stderr
    assert done.stderr.rstrip().endswith(f"at {ISSUES}, with the command and, if you can, the files")


def test_a_broken_pyproject_without_our_table_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project.urls]\nHomepage = "" later\n')
    (tmp_path / "good.py").write_text(GOOD)
    done = lint("check", ".", "--output-format", "concise", cwd=tmp_path)
    assert done.returncode == 2
    assert "good.py:2:1: TRP401" in done.stdout
    assert "pyproject.toml: cannot be read: 2:15: broken TOML: " in done.stderr


def notebook(*cells: str) -> str:
    rows = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    return json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


BROKEN_CELL = "def f():\n    x = 1\n  return x\n"


def test_the_other_cells_of_a_notebook_are_checked_and_fixed(tmp_path: Path) -> None:
    book = tmp_path / "train.ipynb"
    book.write_text(notebook("import torch", BROKEN_CELL, "torch.backends.cudnn.benchmark = True"))
    done = lint("check", ".", "--fix", "--output-format", "concise", cwd=tmp_path)
    assert done.returncode == 2
    assert "train.ipynb:cell 2:3:" in done.stdout and "TRP001" in done.stdout
    assert book.read_text() == notebook("import torch", BROKEN_CELL, "torch.backends.cudnn.benchmark = False")


@pytest.mark.parametrize("cells", [[BROKEN_CELL + "torch.manual_seed(0)\n", GOOD], [BROKEN_CELL], [f"f({GOOD}", ")"]])
def test_a_cell_that_the_others_may_need_is_not_left_out(cells: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.ipynb").write_text(notebook(*cells))
    status, findings = reported(tmp_path)
    assert status == 2
    assert [f[1] for f in findings if f[0] == "train.ipynb"] == ["TRP001"]


def test_a_file_from_before_async_was_a_keyword_is_checked_and_fixed(tmp_path: Path) -> None:
    text = "import torch\n\ntorch.backends.cudnn.benchmark = {}\nx = torch.ones(2).cuda(async=True)\n"
    (tmp_path / "train.py").write_text(text.format(True))
    done = lint("check", ".", "--fix", "--output-format", "concise", cwd=tmp_path)
    assert done.returncode == 2
    assert re.search(r"^train\.py:4:\d+: TRP001 ", done.stdout, re.MULTILINE)
    assert (tmp_path / "train.py").read_text() == text.format(False)


NEWER = [
    'print(f"{names["a"]}, {", ".join(names)}")',
    "print(f'{chr(10).join(names)}{'\\n'.join(names)}')",
    'print(f"{len(\n    names\n)} of {names["a"]}")',
    'print(f"{{}} {f"{names["a"]!r:>{len("ab")}}"}")',
]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads them")
@pytest.mark.parametrize("line", NEWER)
def test_a_file_whose_formatted_strings_are_newer_is_checked_and_left_as_it_is(line: str, tmp_path: Path) -> None:
    text = f'import torch\n\nnames = {{"a": "b"}}\n{line}  # "it\'s"\ntorch.backends.cudnn.benchmark = True\n'
    (tmp_path / "train.py").write_text(text)
    done = lint("check", ".", "--fix", "--output-format", "concise", cwd=tmp_path)
    assert done.returncode == 2
    assert re.search(r"^train\.py:\d+:\d+: TRP001 ", done.stdout, re.MULTILINE)
    assert re.search(rf"^train\.py:{text.count(chr(10))}:\d+: TRP401 ", done.stdout, re.MULTILINE)
    assert (tmp_path / "train.py").read_text() == text


@pytest.mark.parametrize("text", ['print(f"{a["b"', 'f"{x # }"', 'f"{x}\n"', 'print("a\n")', 'f"{a["b"]}" * ('])
def test_what_is_no_newer_string_is_told_alone(text: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"import torch\ntorch.backends.cudnn.benchmark = True\n{text}\n")
    status, findings = reported(tmp_path)
    assert status == 2
    assert [f[1] for f in findings if f[0] == "train.py"] == ["TRP001"]


# -- files that are not files -----------------------------------------------------------------------------------
LISTS = [".gitignore", ".git/info/exclude", "requirements.txt", "requirements-dev.txt", "environment.yml"]
CONFIGURATIONS = ["pyproject.toml", "torchrepro-lint.toml"]


def special(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(3_000_000_000)  # takes no room


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_is_no_file_is_told_and_the_rest_goes_on(name: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    special(tmp_path / name, kind)
    (tmp_path / "good.py").write_text(GOOD)
    done = lint("check", ".", "--output-format", "concise", cwd=tmp_path)
    assert done.returncode == 2
    assert "good.py:2:1: TRP401" in done.stdout
    reason = "larger than 1 MB" if kind == "large" else "not a regular file"
    assert done.stderr == f"torchrepro-lint: {tmp_path / name}: cannot be read: {reason}\n"


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_that_is_no_file(name: str, kind: str, tmp_path: Path) -> None:
    special(tmp_path / name, kind)
    (tmp_path / "good.py").write_text(GOOD)
    done = lint("check", ".", cwd=tmp_path)
    reason = "larger than 1 MB" if kind == "large" else "not a regular file"
    assert (done.returncode, done.stdout, done.stderr) == (
        2, "", f"torchrepro-lint: {name}: cannot be read: {reason}\n"
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("evidence = 'odd'\n", "evidence"),
        ("baseline = 'odd'\n", "odd"),
        ("extend = 'odd'\n", "odd"),
        ("", "--evidence"),
    ],
)
def test_what_a_configuration_names_is_no_file(text: str, key: str, kind: str, tmp_path: Path) -> None:
    special(tmp_path / "odd", kind)
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "torchrepro-lint.toml").write_text(text)
    done = lint("check", ".", *(["--evidence", "odd"] if not text else []), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert key in done.stderr
    assert "larger than" in done.stderr if kind == "large" else "not a regular file" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["big.py", "big.ipynb"])
def test_a_file_above_the_limit_is_told_with_the_setting(name: str, tmp_path: Path) -> None:
    times = 10 if name.endswith("ipynb") else 1
    with (tmp_path / name).open("wb") as file:
        file.truncate(10_000_000 * times + 1)
    assert reported(tmp_path)[1][0] == (
        name, "TRP001", 1, f"cannot be read: larger than {10 * times} MB; the setting max-file-size allows more"
    )  # fmt: skip


def test_the_limit_of_a_file_is_a_setting(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(GOOD + "#" * 1_100_000)
    (tmp_path / "torchrepro-lint.toml").write_text("max-file-size = 1\n")
    assert ("long.py", "TRP001") in [row[:2] for row in reported(tmp_path)[1]]
    (tmp_path / "torchrepro-lint.toml").write_text("max-file-size = 2\n")
    assert ("long.py", "TRP401") in [row[:2] for row in reported(tmp_path)[1]]


# -- configuration that is meant to break things ------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("extend = '~nosuchuser/x'\n", "torchrepro-lint.toml extend: '~nosuchuser/x' names the folder of a user"),
        ('src = ["a\\u0000b"]\n', "torchrepro-lint.toml src: 'a\\x00b' has a null character"),
        ('evidence = "a\\u0000b"\n', "torchrepro-lint.toml evidence: 'a\\x00b' has a null character"),
        ('extend = "a\\u0000b"\n', "torchrepro-lint.toml extend: 'a\\x00b' has a null character"),
        ("select = " + "[" * 5000 + "]" * 5000 + "\n", "torchrepro-lint.toml: broken TOML"),
        ("a." * 5000 + "b = 1\n", "torchrepro-lint.toml"),
        ("seed = " + "9" * 5000 + "\n", "torchrepro-lint.toml"),
        ("seed = 1e400\n", "torchrepro-lint.toml seed: must be a whole number"),
        ("torch = '" + "9" * 5000 + "'\n", "torchrepro-lint.toml torch"),
        ("max-file-size = 0\n", "torchrepro-lint.toml max-file-size: must be a whole number of megabytes"),
        ("extend = '/dev/zero'\n", "/dev/zero: cannot be read: not a regular file"),
    ],
)
def test_a_hostile_configuration_gets_one_line_with_file_and_key(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "torchrepro-lint.toml").write_text(text)
    (tmp_path / "good.py").write_text(GOOD)
    done = lint("check", ".", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 500


def test_a_chain_of_thousands_of_configurations(tmp_path: Path) -> None:
    for number in range(2000):
        (tmp_path / f"{number}.toml").write_text(f"extend = '{number + 1}.toml'\n")
    (tmp_path / "2000.toml").write_text("")
    (tmp_path / "good.py").write_text(GOOD)
    done = lint("check", ".", "--config", "0.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "torchrepro-lint: 32.toml extend: more than 32 files in a row\n"


HOSTILE_LISTS = {
    "requirements.txt": "torch>=1" + " " * 20_000 + "x\n" + "torch" + " " * 20_000 + "'\n" + "torch==" + "9" * 20_000,
    "environment.yml": "- " + "a" * 20_000 + "'x\n" + "- torch=" + "9" * 20_000 + "\n",
    "pyproject.toml": "[tool.poetry.dependencies]\ntorch = '^" + "1" * 20_000 + "x'\n[project]\n"
    "dependencies = ['torch @ " + "a" * 20_000 + "']\n",
    ".gitignore": "*a*a*a*a*a*ab\n" + "**/a/" * 12 + "b\n" + "a" + " " * 50_000 + "b\n",
}


@pytest.mark.parametrize("name", HOSTILE_LISTS)
def test_text_that_is_slow_to_match_does_not_stall_a_run(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(HOSTILE_LISTS[name])
    folder = tmp_path.joinpath(*["a"] * 40, "c")
    folder.mkdir(parents=True)
    (folder / ("a" * 200 + ".py")).write_text("import torch\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / "good.py").write_text(GOOD)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = lint("check", ".", "--output-format", "concise", cwd=tmp_path)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 3
    assert (done.returncode, done.stderr) == (1, "")


ALIASES = sorted(
    set(__import__("encodings.aliases").aliases.aliases.values()) | {"idna", "punycode", "undefined", "mbcs"}
)


def test_every_codec_that_python_has_reads_a_file_or_refuses_it(tmp_path: Path) -> None:
    body = bytes(range(1, 256)).replace(b"\r", b"") + b"x" * 100 + b"\\u00e9+AOk-\xff"
    for name in ALIASES:
        try:
            source_from_bytes(f"# coding: {name}\n".encode() + body, tmp_path / "a.py", "a.py")
        except SourceError as error:
            assert len(error.message) > 10


@pytest.mark.parametrize("name", ["setup.cfg", "setup.py", "paths.py", "run.sh", "Dockerfile"])
def test_a_pipe_that_the_project_is_asked_for(name: str, tmp_path: Path) -> None:
    special(tmp_path / name, "pipe")
    (tmp_path / "good.py").write_text("import paths\n" + GOOD + "torch.use_deterministic_algorithms(True)\n")
    done = lint("good.py", "--output-format", "concise", "--torch-version", "2.4", cwd=tmp_path)
    told = f"torchrepro-lint: {tmp_path / name}: cannot be read: not a regular file\n"
    assert done.stderr == (told if name.startswith("setup") else "")
    assert {"TRP401", "TRP405"} <= {line.split()[1] for line in done.stdout.splitlines() if "good.py" in line}
    assert done.returncode == (2 if done.stderr else 1)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="nothing can interrupt")
def test_a_file_that_takes_too_long_is_named_and_the_others_are_checked(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "slow.py").write_text("import torch\ntorch.backends.cudnn.deterministic = False\n")
    (tmp_path / "torchrepro-lint.toml").write_text("max-file-seconds = 1\n")
    check = trp402_cudnn_nondeterministic.check

    def endless(module: Any, program: Any) -> object:
        if "slow.py" in str(module.facts.source.path):
            with suppress(Exception):
                while True:
                    pass
        return check(module, program)

    def slowed() -> None:
        trp402_cudnn_nondeterministic.check = endless  # type: ignore[assignment]

    for options in (["--output-format", "concise"], ["--fix"]):
        done = lint("check", ".", *options, cwd=tmp_path, before=slowed)
        told = "slow.py: not checked, since it takes longer than the 1 s that the setting max-file-seconds allows"
        assert done.stderr.splitlines()[0] == f"torchrepro-lint: {told}"
        assert done.returncode == 2
        assert options == ["--fix"] or "good.py:2:1: TRP401" in done.stdout
    assert "benchmark = False" in (tmp_path / "good.py").read_text()
