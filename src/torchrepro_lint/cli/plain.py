"""`check` of paths without any option, as it is run most: nothing is there to be parsed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from torchrepro_lint.cli.ending import exit_code
from torchrepro_lint.cli.options import Options
from torchrepro_lint.cli.run import run


def check(paths: Sequence[str]) -> int:
    """The exit code."""
    return exit_code(partial(run, Options(tuple(map(Path, paths)))))
