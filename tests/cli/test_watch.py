"""`check --watch`: a process that reports again when files change."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Run

pytest.importorskip("watchfiles", reason="needs the extra watch")


def _until(lines: Iterator[str], word: str) -> list[str]:
    seen = []
    for line in lines:
        seen.append(line.rstrip("\n"))
        if word in line:
            break
    return seen


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
def test_it_reports_again_when_the_report_is_another(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    seeds = tmp_path / "seeds.py"
    seeds.write_text("import torch\n\ntorch.seed()\n")
    command = [sys.executable, "-m", "torchrepro_lint", "check", "--watch", "--output-format", "concise", "-q"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        lines = iter(process.stdout)
        try:
            assert any("seeds.py:3:1" in line and "TRP102" in line for line in _until(lines, "watching"))
            seeds.write_text("import torch\n\ntorch.manual_seed(0)\n# the same\n")
            assert _until(lines, "watching") == ["torchrepro-lint: watching for changes; Ctrl-C ends it"]
            (tmp_path / "new.py").write_text("import torch\ntorch.seed()\n")
            assert any("new.py:2:1" in line for line in _until(lines, "watching"))
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 1
        finally:
            process.kill()


@pytest.mark.parametrize("arguments", [("--fix",), ("--diff",), ("--write-baseline", "known.txt"), ("-",)])
def test_it_only_reports(run: Run, arguments: tuple[str, ...]) -> None:
    done = run("--watch", *arguments)
    assert done.exit_code == 2 and "--watch" in done.stderr
