"""Interpreters that have imported PyTorch, of which a small program is a fork: most of its time would be that import.

`client.py` is the command that is rerun: it hands its arguments, environment, folder and output to such an interpreter
and ends with the program's exit status. Each interpreter has a hash seed of its own; the even runs go to one and the
odd ones to another, those with PYTHONHASHSEED=0 to the third. Everything else of a run is as without them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SEEDS = {"even": "1", "odd": "2", "fixed": "0"}


class Interpreters:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        text = f"exec(compile(open({str(HERE / 'server.py')!r}).read(), '<preloaded>', 'exec'))"
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-c", text, str(folder / name)], env={**os.environ, "PYTHONHASHSEED": seed}
            )
            for name, seed in SEEDS.items()
        ]

    def command(self, *words: str) -> list[str]:
        return [sys.executable, str(HERE / "client.py"), str(self.folder), *words]

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
