"""Runs programs, one after the other, each in a process of its own: one JSON request per line, one exit status back.

A small program spends most of its time on importing PyTorch, and torch._dynamo with its first optimizer. So with
`--preload` both are imported here, once, and a Python program is a fork of this process that takes the program's
file as its `__main__`, as a worker of a fork server does. Other commands, and all without `--preload`, are executed.
What forks share is the hash seed and the random state that PyTorch and NumPy start with, which are a machine's own.
"""

import json
import os
import runpy
import sys
from pathlib import Path
from types import ModuleType


def serve(preload):
    """Answers requests; in the forked child, is the program that was asked for."""
    if preload:
        import torch._dynamo  # noqa: F401
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            return start(request["argv"], request["folder"], request["out"], request["err"], preload)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    return None


def start(argv, folder, out, err, preload):
    os.chdir(folder)
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, opened in enumerate([os.open(os.devnull, os.O_RDONLY), os.open(out, write), os.open(err, write)]):
        os.dup2(opened, number)
    interpreter, what, *rest = argv
    if not preload or interpreter != sys.executable or what == "-c":
        os.execv(interpreter, argv)
    if what == "-m":
        sys.argv, sys.path[0] = rest, str(Path.cwd())
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        become(Path(what).absolute(), [what, *rest])


def become(script, argv):
    """Runs a file as `python FILE` does: its folder first on the path, and its names those of `__main__`."""
    sys.argv, sys.path[0] = argv, str(script.parent)
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__file__ = str(script)
    exec(compile(script.read_bytes(), str(script), "exec"), main.__dict__)


if __name__ == "__main__":
    serve("--preload" in sys.argv)
