"""A process that runs probes: requests come as JSON lines on its standard input, answers go out the same way.

One process serves many requests, because importing PyTorch takes seconds. Whatever it does not expect ends it: the
process that started it reads why on the standard error, and starts another.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any, TextIO

_CUBLAS = "CUBLAS_WORKSPACE_CONFIG"


def main() -> None:
    """Say what there is, then answer until the input ends."""
    answers = _own_output()
    warnings.simplefilter("ignore")  # the last line of the standard error is to say what ended this process
    _settle_cublas()
    from torchrepro_lint.verify.devices import present, why_no_cuda
    from torchrepro_lint.verify.environment import manifest
    from torchrepro_lint.verify.repeat import deterministic

    with deterministic():  # for the first time it imports much: no probe's time
        pass
    environment, devices = manifest(), present()
    absent = {} if "cuda" in devices else {"cuda": why_no_cuda(environment["gpu"])}
    _send(answers, {"environment": environment, "devices": devices, "absent": absent})
    for line in sys.stdin:
        for answer in answer_to(json.loads(line)):
            _send(answers, answer)
        _send(answers, {"done": True})


def answer_to(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One measurement after the other, or why there is none."""
    import torch

    from torchrepro_lint.verify.experiment import Missing, Unsupported
    from torchrepro_lint.verify.failures import of_memory
    from torchrepro_lint.verify.measure import measure
    from torchrepro_lint.verify.probes import find
    from torchrepro_lint.verify.repeat import Effort
    from torchrepro_lint.verify.results import to_json

    probe = find(request["probe"])
    if probe is None:
        yield {"unsupported": f"there is no probe {request['probe']}"}
        return
    device = torch.device(request["device"])
    effort = Effort(request["repeats"], request["patience"])
    try:
        for experiment in probe(device, request["arguments"]):
            yield {"measurement": to_json(measure(experiment, device, effort, stressed=request["stress"]))}
    except Missing as missing:
        yield {"missing": str(missing)}
    except Unsupported as reason:
        yield {"unsupported": str(reason)}
    except (RuntimeError, MemoryError) as error:
        if not of_memory(error):
            raise
        wanted = re.search(r"tried to allocate ([\d.]+ \w+)", str(error), re.IGNORECASE)
        yield {"unsupported": "out of memory" + (f": {wanted[1]} were wanted" if wanted else "")}
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _own_output() -> TextIO:
    """The standard output for answers alone: what else is printed goes to the standard error."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(kept, "w", encoding="utf-8")


def _settle_cublas() -> None:
    """Before 2.10 PyTorch refuses cuBLAS under the flag without this, which hides what an operation does."""
    major, minor = metadata.version("torch").split(".")[:2]
    if (int(major), int(minor)) < (2, 10):
        os.environ.setdefault(_CUBLAS, ":4096:8")


def _send(answers: TextIO, answer: Mapping[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
