"""What git says of a working tree: what has changed since a revision, and what files held then.

Runs git and reads its output. Knows nothing of Python code or findings.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_MAX_DATA = 1_000_000  # bytes; a configuration is smaller, a data set is not needed
_CODE = (".py", ".pyi", ".ipynb")
_CONFIGURATION = (".toml", ".cfg", ".ini", ".txt", ".yaml", ".yml", ".json", ".in", ".sh", ".gitignore")


class GitError(Exception):
    """Git cannot answer; the text says why, and what to do."""


class Blob(NamedTuple):
    """A file of a revision: its path from the top of the repository, its bytes, and whether it may be executed."""

    path: str
    data: bytes
    executable: bool


class Repository:
    """The repository that `folder` lies in; `prefix` leads from its top to `folder` and ends with `/`, or is empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            self.prefix = os.fsdecode(self._run("rev-parse", "--show-prefix").rstrip(b"\n"))
        except GitError as error:
            if "not a git repository" in str(error):
                raise GitError(f"{folder} is in no git repository") from None
            raise

    def merge_base(self, revision: str) -> str:
        """The commit in which the current one and `revision` part."""
        if revision.startswith("-") or not self._knows(revision):
            raise GitError(f"git knows no revision {revision!r}{self._remedy(revision)}")
        try:
            return self._run("merge-base", revision, "HEAD").decode().strip()
        except GitError:
            if not self._knows("HEAD"):
                raise GitError("the repository has no commit yet") from None
            raise GitError(f"{revision!r} and HEAD have no commit in common{self._remedy(revision)}") from None

    def changed(self, revision: str) -> dict[str, str | None]:
        """The files that are not as in `revision`, staged or not, and new ones that git does not ignore, each with
        its path there; None for one that did not exist. Paths count from the top of the repository."""
        listed = self._run("diff", "--name-status", "-z", "-M", "--no-ext-diff", "--ignore-submodules", revision)
        fields = iter(os.fsdecode(listed).split("\0"))
        changed: dict[str, str | None] = {}
        for status in fields:
            if status[:1] in ("R", "C"):
                old, new = next(fields), next(fields)
                changed[new] = old
            elif status:
                path = next(fields)
                changed[path] = None if status[0] == "A" else path
        untracked = self._run("ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/")
        return changed | dict.fromkeys(filter(None, os.fsdecode(untracked).split("\0")))

    def names(self) -> Iterator[str]:
        """Branches and tags, as one would write them."""
        listed = self._run("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
        return iter(os.fsdecode(listed).split())

    def read(self, revision: str, path: str) -> bytes:
        """The bytes of one file in a revision."""
        return self._run("cat-file", "blob", f"{revision}:{path}")

    def source_files(self, revision: str) -> Iterator[Blob]:
        """The code and configuration that a revision has, as a program of it would be read."""
        wanted: list[tuple[str, str, bool]] = []
        for line in os.fsdecode(self._run("ls-tree", "-r", "-z", "-l", "--full-tree", revision)).split("\0"):
            if not line:
                continue
            (mode, kind, name, size), path = line.partition("\t")[0].split(), line.partition("\t")[2]
            if kind == "blob" and mode != "120000" and _is_read(path, int(size)):
                wanted.append((path, name, mode == "100755"))
        held = self._run("cat-file", "--batch", stdin="".join(f"{name}\n" for _, name, _ in wanted).encode())
        at = 0
        for path, _, executable in wanted:
            end = held.index(b"\n", at)
            length = int(held[at:end].rpartition(b" ")[2])
            yield Blob(path, held[end + 1 : end + 1 + length], executable)
            at = end + length + 2

    def _knows(self, revision: str) -> bool:
        try:
            self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        except GitError:
            return False
        return True

    def _remedy(self, revision: str) -> str:
        if self._run("rev-parse", "--is-shallow-repository").strip() == b"true":
            return (
                "; this clone is shallow: `git fetch --unshallow`, or `fetch-depth: 0` for actions/checkout and "
                "`GIT_DEPTH: 0` in GitLab, gets the rest"
            )
        remote, slash, branch = revision.partition("/")
        if slash and self._run("remote").split().count(remote.encode()):
            return f"; `git fetch {remote} {branch}` gets it"
        return "; `git fetch` gets what the remote has, and `git branch --all` lists it"

    def _run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        command = ["git", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false", *arguments]
        environment = {**os.environ, **_absolute_places(), "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
        try:
            done = subprocess.run(command, cwd=self._folder, input=stdin, capture_output=True, env=environment)
        except FileNotFoundError:
            raise GitError("git is not installed, or not on PATH") from None
        if done.returncode:
            told = done.stderr.decode(errors="replace").strip().splitlines()
            raise GitError(f"git {arguments[0]} failed: {told[0].removeprefix('fatal: ') if told else done.returncode}")
        return done.stdout


def _absolute_places() -> dict[str, str]:
    """What a git hook is told about its repository, for a command that is run in another folder."""
    names = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE")
    return {name: os.path.abspath(os.environ[name]) for name in names if os.environ.get(name)}  # noqa: PTH100


def _is_read(path: str, size: int) -> bool:
    """Whether a file may be part of a program: code, configuration, or a script without a suffix. A path that leads
    out of the repository, or into git's own folder, is none that git would write."""
    name = path.rpartition("/")[2]
    if path.startswith("/") or not {"..", ".git"}.isdisjoint(path.split("/")):
        return False
    if name.endswith(_CODE):
        return True
    return size <= _MAX_DATA and (name.endswith(_CONFIGURATION) or "." not in name)


__all__ = ["Blob", "GitError", "Repository"]
