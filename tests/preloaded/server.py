"""Forks once per connection; the child becomes the program that was asked for. Executed under the name <preloaded>.

What is not as in a new interpreter: PyTorch's and NumPy's modules are there, and those of SLOW; the environment
variables that those, or Python itself, read at their start have no effect; `/proc` shows the command and environment of
this process, which is the parent. A program whose client is killed is killed. What it starts by `multiprocessing` is a
fork as well. Where this process has asked for GPUs, and there are, no fork could use them: there the program gets a new
interpreter.
"""

import atexit
import fcntl
import gc
import importlib
import inspect
import marshal
import multiprocessing.spawn
import os
import random
import runpy
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from functools import partial
from types import ModuleType

import numpy
import torch
import torch._dynamo
import torch._inductor.compile_fx
import torch._inductor.cpu_vec_isa
import torch.distributed.run
import torch.utils.data

FILES = 250  # that a program is started with; the system hands on 253 at once
SLOW = {  # what is imported, or found out, for programs that name it
    b"sklearn": partial(importlib.import_module, "sklearn.model_selection"),
    b"lightning": partial(importlib.import_module, "lightning"),
    b"torch.compile": torch._inductor.cpu_vec_isa.valid_vec_isa_list,  # starts programs: half of a compilation
}


def serve(path):
    """Answers until its owner ends; in the forked child, what was asked for."""
    with open(os.path.join(os.path.dirname(path), "owner")) as file:
        owner = os.pidfd_open(int(file.read()))
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    gc.freeze()  # what is there now is looked through in no fork
    programs = {}  # the file descriptor of a process -> its number, and who waits for it
    while True:
        waiting = {connection: process for process, (_, connection) in programs.items()}
        ready, _, _ = select.select([owner, listening, *programs, *waiting], [], [])
        for found in ready:
            if found is owner:
                os._exit(0)
            elif found is listening:
                connection, _ = listening.accept()
                asked = received(connection)
                prepare(asked[0])
                number = os.fork()
                if not number:
                    return asked
                for outer in asked[1]:
                    os.close(outer)
                programs[os.pidfd_open(number)] = number, connection
            elif found in programs:
                answer(found, *programs.pop(found))
            elif waiting[found] in programs:
                pass_on(found, programs[waiting[found]][0])


def received(connection):
    head, files, _, _ = socket.recv_fds(connection, 4, FILES)
    data = b""
    while len(data) < int.from_bytes(head, "big"):
        data += connection.recv(1 << 16)
    return marshal.loads(data), files


def prepare(asked):
    """Does, once for all programs, what takes the one that is asked for long."""
    with suppress(OSError), open(os.path.join(asked["folder"], asked["argv"][0]), "rb") as program:
        text, path = program.read(), [*sys.path]
        for word in [word for word in SLOW if word in text]:
            with suppress(ImportError):
                SLOW.pop(word)()
        sys.path[:] = path  # to which setuptools adds
        gc.freeze()


def pass_on(connection, number):
    """A signal for the program; where its client was killed, it is killed with all that it has started."""
    told = connection.recv(1)
    for send in (os.kill,) if told else (os.killpg, os.kill):  # it may not yet have a group of its own
        with suppress(ProcessLookupError):
            send(number, told[0] if told else signal.SIGKILL)


def answer(process, number, connection):
    status = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    os.close(process)
    with suppress(BrokenPipeError):
        connection.sendall(f"{status}\n".encode())
    connection.close()


def put(files, numbers):
    """Gives files the numbers that they have in the client, and closes all others."""
    aside = [fcntl.fcntl(file, fcntl.F_DUPFD, 512) for file in files]
    os.closerange(0, 512)
    for file, number in zip(aside, numbers, strict=True):
        os.dup2(file, number)
    os.closerange(512, 1024)


def become(asked, files):
    os.setsid()
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    put(files, asked["files"])
    if torch.cuda._is_in_bad_fork() and torch.cuda.is_available():
        os.execv(sys.executable, [sys.executable, *asked["argv"]])
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.executable = asked["executable"]
    multiprocessing.spawn.set_executable(sys.executable)
    random.seed()
    numpy.random.seed()
    torch.seed()
    if "OMP_NUM_THREADS" in os.environ:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    first, *rest = asked["argv"]
    sys.path[0] = {"-m": os.getcwd(), "-c": ""}.get(first, os.path.dirname(os.path.abspath(first)))
    folders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[1:1] = folders
    customize(folders)
    # `inspect` would look for the modules of these among all, for each frame of each stack that the launchers record.
    inspect.modulesbyfile.update({"<preloaded>": "__main__", "<string>": "__main__", "<frozen runpy>": "runpy"})
    if first == "-m":
        sys.argv = rest
        return lambda: runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    main = sys.modules["__main__"] = ModuleType("__main__")
    if first == "-c":
        sys.argv = ["-c", *rest[1:]]
        code = compile(rest[0], "<string>", "exec")
    else:
        sys.argv = [first, *rest]
        main.__file__ = os.path.abspath(first)
        with open(first, "rb") as file:
            code = compile(file.read(), os.path.abspath(first), "exec")
    return lambda: exec(code, main.__dict__)


def customize(folders):
    """Runs the `sitecustomize` that stands on PYTHONPATH, as Python does when it starts."""
    sys.modules.pop("sitecustomize", None)
    if any(os.path.exists(os.path.join(folder, "sitecustomize.py")) for folder in folders):
        __import__("sitecustomize")


def status_of(program):
    """Runs the program; its exit status."""
    try:
        program()
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return (ended.code or 0) & 0xFF
        print(ended.code, file=sys.stderr)
        return 1
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == "<preloaded>":
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 1
    return 0


def end(status):
    """Ends as an interpreter does, but does not take its modules apart: of a fork, all memory would be copied first."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(status)


end(status_of(become(*serve(sys.argv[2]))))
