"""A git repository in a folder, for the tests of what has changed in one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

AUTHOR = {f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
NO_CONFIG = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def git(folder: Path, *arguments: str) -> str:
    """Run git in `folder`; what it prints."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, **AUTHOR, **NO_CONFIG},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def commit(folder: Path, message: str = "all") -> str:
    """Commit everything in `folder`, which becomes a repository if it is none; the revision."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(folder, "rev-parse", "HEAD").strip()
