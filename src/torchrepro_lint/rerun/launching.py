"""Starts the user's program as the user would, observed, and leaves no process of it behind.

The program gets its own folder, output and exit status; of its environment only what `environment` says is changed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchrepro_lint.rerun.inside import VARIABLE

_BOOT = Path(__file__).parent / "inside" / "boot"
_GRACE = 5.0  # seconds for a program to end by itself once it was asked to
_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".git", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache")
_TAIL = 4000  # characters of output that are shown of a program that failed


@dataclass(frozen=True)
class Run:
    """A run that has ended: its exit status (negative: a signal), and where its output and streams lie."""

    status: int
    folder: Path
    root: Path
    seconds: float
    timed_out: bool = False

    @property
    def streams(self) -> Path:
        return self.folder / "streams"

    def tail(self) -> str:
        """The end of what the program printed."""
        data = (self.folder / "output.txt").read_bytes()[-4 * _TAIL :]
        return data.decode("utf-8", "replace")[-_TAIL:]


def copied(folder: Path, to: Path) -> Path:
    """A copy of a folder, without caches, environments, git's own files, and what the copy itself lies in."""

    def left_out(inside: str, names: list[str]) -> set[str]:
        return {*_LEFT_OUT(inside, names), *(name for name in names if to.is_relative_to(Path(inside) / name))}

    return Path(shutil.copytree(folder, to, ignore=left_out, symlinks=True))


def command_of(words: Sequence[str]) -> list[str]:
    """The command that runs a program: a Python file is run by the Python that runs us, a notebook by the Jupyter
    beside it, anything else as it is. Raises FileNotFoundError where a notebook has no Jupyter."""
    if words[0].endswith(".py") and Path(words[0]).is_file():
        return [sys.executable, *words]
    if words[0].endswith(".ipynb") and Path(words[0]).is_file():
        beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        jupyter = shutil.which("jupyter-execute", path=beside)
        if jupyter is None:
            raise FileNotFoundError("a notebook is run by jupyter-execute: install nbclient and ipykernel")
        return [jupyter, *words]
    return list(words)


def notebook_of(command: Sequence[str], root: Path) -> str | None:
    """The notebook that a command runs, if it does."""
    return next((str(root / word) for word in command if word.endswith(".ipynb") and (root / word).is_file()), None)


def environment(settings: Path, pins: Sequence[str], deterministic: bool) -> dict[str, str]:
    """The environment of a run: ours, observed, and with what the pins fix."""
    path = os.environ.get("PYTHONPATH")
    changed = {"PYTHONPATH": os.pathsep.join([str(_BOOT), *([path] if path else [])]), VARIABLE: str(settings)}
    if "hash" in pins:
        changed["PYTHONHASHSEED"] = "0"
    if deterministic:
        changed["CUBLAS_WORKSPACE_CONFIG"] = os.environ.get("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    return {**os.environ, **changed}


def run(command: Sequence[str], root: Path, folder: Path, settings: Mapping[str, Any], timeout: float | None) -> Run:
    """Run a command in `root` to its end, or for `timeout` seconds; streams and output go below `folder`."""
    (folder / "streams").mkdir(parents=True)
    path = folder / "settings.json"
    told = {**settings, "folder": str(folder / "streams"), "notebook": notebook_of(command, root)}
    path.write_text(json.dumps(told), encoding="utf-8")
    variables = environment(path, settings.get("pins", ()), bool(settings.get("deterministic")))
    started = time.monotonic()
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            command, cwd=root, env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        timed_out = False
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            _end(process, path)
    return Run(process.returncode, folder, root, time.monotonic() - started, timed_out)


def _end(process: subprocess.Popen[bytes], token: Path) -> None:
    """End a program and everything that it started: launchers give their children sessions of their own."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    left = list(_of_run(token))
    if left:  # a moment for children that are about to end with their parent
        time.sleep(0.2)
    for pid in _of_run(token):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
    process.wait()


def _of_run(token: Path) -> Iterator[int]:
    """The processes whose environment names the settings of this run; on Linux, where that can be read."""
    wanted = f"{VARIABLE}={token}".encode()
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in entry.read_bytes().split(b"\0"):
                pid = int(entry.parent.name)
                if (entry.parent / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                    yield pid
