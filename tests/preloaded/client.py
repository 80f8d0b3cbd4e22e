"""Has a process that has imported PyTorch run a program, and ends as the program ends.

Imports modules of C alone until a process must be started: the others would take longer than all that this does.
"""

import _signal
import _socket
import fcntl
import marshal
import os
import sys
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))


def seed():
    """The hash seed of the process to ask: without one, the runs of a rerun take turns, as hash seeds would differ."""
    folders = os.environ.get("TORCHREPRO_RERUN", "").split("/")[1:-1]
    run = [name[4:] for name in folders if name.startswith("run-") and name[4:].isdigit()]  # the last is the run's own
    return os.environ.get("PYTHONHASHSEED", "01"[int(run[-1]) % 2] if run else "1")


def connected(name):
    """A connection to the process of this name, which is started if it is not there."""
    path = os.path.join(FOLDER, name)
    connection = _socket.socket(_socket.AF_UNIX)
    try:
        connection.connect(path)
        return connection
    except (FileNotFoundError, ConnectionRefusedError):
        pass
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            start(name)
        for _ in range(6000):  # ten minutes: on a machine with much else to do, the import may take two
            try:
                connection.connect(path)
                return connection
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.1)
    sys.exit(f"no process that has imported PyTorch, see {path}.log")


def start(name):
    import subprocess

    text = "import sys; exec(compile(open(sys.argv[1]).read(), '<preloaded>', 'exec'))"
    known = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG")}
    with open(os.path.join(FOLDER, f"{name}.log"), "wb") as log:
        subprocess.Popen(
            [sys.executable, "-c", text, os.path.join(FOLDER, "server.py"), os.path.join(FOLDER, name)],
            env={**known, "PYTHONHASHSEED": name}, cwd=FOLDER, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip


def inherited():
    """What this process was started with and would hand on, as a program's new interpreter does."""
    there = map(int, os.listdir("/proc/self/fd"))  # with the one that lists them, which is closed again
    return [number for number in there if os.path.lexists(f"/proc/self/fd/{number}") and os.get_inheritable(number)]


def main():
    arguments = [word for word in sys.argv[1:] if word != "-u"]
    known = arguments and (arguments[0] in ("-m", "-c") or not arguments[0].startswith("-"))
    if not known or not seed().isdigit():
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
    wanted = {"argv": arguments, "folder": os.getcwd(), "environment": dict(os.environ), "executable": sys.argv[0]}
    wanted["files"] = files = inherited()
    asked = marshal.dumps(wanted)
    connection = connected(seed())
    handed = b"".join(number.to_bytes(4, sys.byteorder) for number in files)
    head = [len(asked).to_bytes(4, "big")]
    connection.sendmsg(head, [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, handed)])
    connection.sendall(asked)
    for number in (_signal.SIGTERM, _signal.SIGINT):  # for the program
        _signal.signal(number, lambda number, frame: connection.sendall(bytes([number])))
    told = b""
    while not told.endswith(b"\n") and (more := connection.recv(64)):
        told += more
    status = int(told or b"255")
    if status < 0:
        if -status != _signal.SIGKILL:  # which nobody can handle
            _signal.signal(-status, _signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


main()
