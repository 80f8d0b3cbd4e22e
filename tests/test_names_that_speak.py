"""Names of files and folders are a stranger's text: nothing that reads our output may obey them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import forked
from torchrepro_lint.report.escaping import as_json, github_message, github_property, visible
from torchrepro_lint.report.junit import escaped as as_xml

INJECTED = "::error file=x.py::injected"
NAMES = [
    f"a\n{INJECTED}",
    f"{INJECTED.replace('/', '')}",
    "a\x1b[31mred\x1b]0;title\x07",
    "a\x9b31m",
    "a\u202egnp.exe",
    "a\r\x1b[Kover",
    "##[error]legacy",
    "a##vso[task.complete result=Succeeded]",
]
FLAWED = (
    "import torch\n\n\ndef main():\n    torch.backends.cudnn.benchmark = True\n    print(torch.rand(2))\n\n\nmain()\n"
)
OBEYED = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|##\w*\[|^\s*::", re.MULTILINE)

OTHER_FORMATS = ("grouped", "markdown", "html", "junit", "rdjson", "sarif", "gitlab")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such names there")


def lint(*args: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    environment = {k: v for k, v in os.environ.items() if k not in ("PRE_COMMIT", "FORCE_COLOR")}
    return forked.lint(*args, cwd=cwd, env=environment)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    (root / "pyproject.toml").write_text("")
    for number, name in enumerate(NAMES):
        folder = root / name
        folder.mkdir()
        (folder / f"{name}.py").write_text(FLAWED)
        (folder / "broken.py").write_text(f"def f(:  # {number}\n")
        (folder / "pipe.py").symlink_to("/dev/zero")
        os.mkfifo(folder / ".gitignore")
    return root


@pytest.mark.parametrize(
    "command",
    [
        ["check", "."],
        ["check", ".", "--color", "never", "--output-format", "concise"],
        ["check", ".", "--output-format", "json"],
        ["check", ".", "--statistics"],
        ["check", ".", "--timings", "--quiet"],
        *(["check", ".", "--output-format", name] for name in OTHER_FORMATS),
        ["explain", "."],
        ["explain", ".", "--output-format", "json"],
        ["check", ".", "--show-files"],
        ["check", ".", "--show-settings"],
        ["check", ".", *(f"{name}/none" for name in NAMES)],
        ["check", ".", *(f"{name}/pipe.py" for name in NAMES), "--output-format", "concise"],
        ["check", ".", "--config", f"{NAMES[0]}/{NAMES[0]}.py"],
        ["check", ".", "--config", NAMES[0]],
        ["check", ".", "--select", NAMES[0]],
        ["check", ".", "--evidence", NAMES[0]],
    ],
    ids=lambda command: " ".join(command)[:40].encode("ascii", "replace").decode(),
)
def test_nothing_that_is_printed_is_obeyed(project: Path, command: list[str]) -> None:
    done = lint(*command, cwd=project)
    for output in (done.stdout, done.stderr):
        found = OBEYED.search(output.decode())
        assert found is None, output.decode()[max(found.start() - 80, 0) : found.end() + 80]
    assert done.stdout or done.stderr
    if "json" in command:
        paths = json.dumps(json.loads(done.stdout))
        assert all(json.dumps(name)[1:-1] in paths for name in NAMES)  # a program reads the very names


def test_a_workflow_gets_one_command_for_each_finding(project: Path) -> None:
    output = lint("check", ".", "--output-format", "github", cwd=project).stdout.decode()
    lines = output.splitlines()
    assert all(
        re.match(r"::(error|warning|notice) title=TRP\d{3} [\w-]+,file=[^:,]+,line=\d+,", line) for line in lines
    )
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]|##\w*\[", output)
    assert f"file=a%0A{'%3A%3Aerror file=x.py%3A%3Ainjected'}/a%0A" in output


def test_what_is_fixed_and_refused_is_told_without_commands(project: Path) -> None:
    done = lint("check", ".", "--fix-only", "--select", "TRP401", cwd=project)
    assert OBEYED.search(done.stderr.decode()) is None


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_escaping(text: str) -> None:
    assert OBEYED.search(visible(text).lstrip(" :")) is None
    assert json.loads(as_json(text)) == text
    assert OBEYED.search(as_json(text)) is None
    assert len(visible(text)) == len(text)
    xml = f"<name>{as_xml(text)}</name>"
    assert OBEYED.search(xml) is None
    read = ElementTree.fromstring(xml).text or ""
    assert read == re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", text)
    for escaped in (github_message(text), github_property(text)):
        assert "\n" not in escaped
        assert "\r" not in escaped
        assert visible(escaped) == escaped
