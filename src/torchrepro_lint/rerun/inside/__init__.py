"""What runs inside the user's processes: observers that write digests of what the program computes to a stream.

Python imports `boot/sitecustomize.py` when a process starts, which calls `install`. Nothing else of the tool is
imported there but `verify.bits`, and PyTorch, NumPy and `random` only if and when the program imports them itself.
"""

from __future__ import annotations

import json
import os

VARIABLE = "TORCHREPRO_RERUN"
"""The environment variable that names the file of the arm's settings; without it `install` does nothing."""


def install() -> None:
    """Observe this process as the arm's settings say."""
    path = os.environ.get(VARIABLE)
    if not path:
        return
    try:
        with open(path, encoding="utf-8") as file:
            settings = json.load(file)
    except FileNotFoundError:  # a process that outlived its run
        return
    from torchrepro_lint.rerun.inside.observing import observe

    observe(settings)
