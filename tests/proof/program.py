"""One program of the proof: a folder of files as a user has them, and a `proof.toml` that says how it is run.

- command: how a user starts it; python, torchrun and jupyter-execute are those of the interpreter that is given
- saves: the files that a run must leave behind, which are compared byte for byte
- flaws: the rules that must have something to say before the fix
- prepare: a command that makes the data, run once in the program's folder before any run
- unsafe: true where the flaws need --unsafe-fixes
- needs: modules without which the program cannot run
"""

from __future__ import annotations

import importlib.util
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROGRAMS = Path(__file__).parent / "programs"
LAUNCHERS = {
    "python": [],
    "torchrun": ["-m", "torch.distributed.run"],
    "jupyter-execute": ["-c", "from nbclient.cli import main; main()"],
}


@dataclass(frozen=True)
class Program:
    name: str
    command: str
    saves: list[str]
    flaws: list[str]
    prepare: str = ""
    unsafe: bool = False
    needs: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, name: str) -> Program:
        return cls(name, **tomllib.loads((PROGRAMS / name / "proof.toml").read_text(encoding="utf-8")))

    @property
    def folder(self) -> Path:
        return PROGRAMS / self.name

    @property
    def missing(self) -> list[str]:
        """The modules that it needs and this environment does not have."""
        return [module for module in ["torch", *self.needs] if importlib.util.find_spec(module) is None]


def names() -> list[str]:
    return sorted(found.parent.name for found in PROGRAMS.glob("*/proof.toml"))


def argv(command: str, python: str) -> list[str]:
    """A command line as a user types it, as the arguments to start it with this interpreter."""
    first, *rest = shlex.split(command)
    return [python, *LAUNCHERS[first], *rest]
