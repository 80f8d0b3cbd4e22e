"""A process that runs probes: requests come as JSON lines on its standard input, answers go out the same way.

One process serves many requests, because importing PyTorch takes seconds. Whatever it does not expect ends it: the
process that started it reads why on the standard error, and starts another. It ends with the process that started it,
also in the middle of an operation.
"""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import torch

    from torchrepro_lint.verify.experiment import Experiment

Send = Callable[[dict[str, Any]], None]

_CUBLAS = "CUBLAS_WORKSPACE_CONFIG"
_PR_SET_PDEATHSIG = 1


def main(devices: Sequence[str] = ()) -> None:
    """Say what there is of these devices (by default of all kinds), then answer until the input ends."""
    send, requests = _own_output(), _requests()
    warnings.simplefilter("ignore")  # the last line of the standard error is to say what ended this process
    _settle_cublas()
    from torchrepro_lint.verify.devices import settle
    from torchrepro_lint.verify.environment import manifest
    from torchrepro_lint.verify.repeat import deterministic
    from torchrepro_lint.verify.tasks import KINDS

    with deterministic():  # for the first time it imports much: no probe's time
        pass
    devices = devices or KINDS
    environment = manifest(cuda=next((name for name in devices if name.startswith("cuda")), None))
    present, absent = settle(devices, environment["gpu"])
    gc.collect()
    gc.freeze()  # what is imported stays: no collection between probes looks through all of PyTorch
    send({"environment": environment, "devices": present, "absent": absent})
    while True:
        answer(json.loads(requests.get()), send)
        send({"done": True})


def answer(request: Mapping[str, Any], send: Send) -> None:
    """Send one measurement after the other, or why there is none: of one experiment, or of all that are left."""
    import torch

    from torchrepro_lint.verify.experiment import Missing, Unsupported
    from torchrepro_lint.verify.failures import REFUSALS, of_device
    from torchrepro_lint.verify.given import Given
    from torchrepro_lint.verify.probes import find
    from torchrepro_lint.verify.tasks import MODULE
    from torchrepro_lint.verify.user_module import user_module

    probe = user_module if request["probe"] == MODULE else find(request["probe"])
    if probe is None:
        send({"unsupported": f"there is no probe {request['probe']}"})
        return
    device, given = torch.device(request["device"]), Given(request["arguments"])
    try:
        if "script" in request:
            from torchrepro_lint.verify.script import script

            wanted = (request["script"], request["title"], request["seen"], request["repeats"])
            send({"text": script(probe, device, given, *wanted)})
        elif request.get("plan"):
            from torchrepro_lint.verify.estimate import planned

            for item in planned(probe, device, given, request["repeats"]):
                send({"planned": item})
        else:
            for experiment in probe(device, given):
                _attempt(experiment, device, request, send)
        send({"not_followed": given.unread})
    except Missing as missing:
        send({"missing": str(missing)})
    except Unsupported as reason:
        send({"unsupported": str(reason)})
    except REFUSALS as error:
        if of_device(error):
            raise
        send({"unsupported": _words(error)})
    _clear(device)


def _attempt(experiment: Experiment, device: torch.device, request: Mapping[str, Any], send: Send) -> None:
    """One experiment: what it cannot do costs no other."""
    from torchrepro_lint.verify.experiment import Missing, Unsupported
    from torchrepro_lint.verify.failures import REFUSALS, of_device, of_kernel
    from torchrepro_lint.verify.measure import measure
    from torchrepro_lint.verify.repeat import Effort
    from torchrepro_lint.verify.results import to_json

    effort = Effort(request["repeats"], request["patience"])
    try:
        found = measure(experiment, device, effort, stressed=request["stress"], step=lambda: send({"going": "on"}))
        send({"measurement": to_json(found)})
    except (Missing, Unsupported) as reason:
        send({"failed": experiment.summary, "reason": str(reason)})
    except REFUSALS as error:
        if of_device(error):
            raise
        if not (experiment.optional and of_kernel(error)):
            send({"failed": experiment.summary, "reason": _words(error)})
        _clear(device)


def _words(error: BaseException) -> str:
    from torchrepro_lint.verify.failures import in_short, of_memory

    if not of_memory(error):
        return in_short(error)
    wanted = re.search(r"tried to allocate ([\d.]+ \w+)", str(error), re.IGNORECASE)
    return "out of memory" + (f": {wanted[1]} were wanted" if wanted else "")


def _clear(device: torch.device) -> None:
    import torch

    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _own_output() -> Send:
    """The standard output for answers alone: what else is printed goes to the standard error."""
    kept = os.dup(1)
    os.dup2(2, 1)
    output: TextIO = os.fdopen(kept, "w", encoding="utf-8")

    def send(message: dict[str, Any]) -> None:
        output.write(json.dumps(message) + "\n")
        output.flush()

    return send


def _requests() -> SimpleQueue[str]:
    """The lines of the standard input. Where it ends, so does this process, whatever it is doing then."""
    _end_with_parent()
    lines: SimpleQueue[str] = SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        _end()

    threading.Thread(target=read, daemon=True).start()
    return lines


def _end_with_parent() -> None:
    """Also where no thread of Python's runs, because a kernel holds its lock: Linux kills."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _end() -> None:
    """With the processes that this one has started, where they are a group."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _settle_cublas() -> None:
    """Before 2.10 PyTorch refuses cuBLAS under the flag without this, which hides what an operation does."""
    major, minor = metadata.version("torch").split(".")[:2]
    if (int(major), int(minor)) < (2, 10):
        os.environ.setdefault(_CUBLAS, ":4096:8")


if __name__ == "__main__":
    main(sys.argv[1:])
