"""What the tests of the command line share."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

from click.testing import Result

Run = Callable[..., Result]
Process = Callable[..., subprocess.CompletedProcess[bytes]]

TRAIN = """\
import time

import torch

torch.backends.cudnn.benchmark = True
torch.manual_seed(int(time.time()))
"""
PLAIN = {
    key: value
    for key, value in os.environ.items()
    if key not in ("NO_COLOR", "FORCE_COLOR", "PRE_COMMIT", "COLUMNS", "GITHUB_WORKSPACE", "TERM")
}
