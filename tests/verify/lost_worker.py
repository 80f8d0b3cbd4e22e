"""A worker process without PyTorch that is lost in the way in which the request's probe is named."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback

from torchrepro_lint.verify.results import Arm, Measurement, to_json

ASSERTED = """CUDA error: device-side assert triggered
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.
"""


def send(answer: object, end: str = "\n") -> None:
    sys.stdout.write(json.dumps(answer) + end)
    sys.stdout.flush()


def main() -> None:
    if "stillborn" in sys.argv:
        raise OSError("libtorch.so: cannot open shared object file")
    send({"environment": {"pid": os.getpid()}, "devices": ["cpu"]})
    for line in sys.stdin:
        probe = json.loads(line)["probe"]
        send({"measurement": to_json(Measurement(probe, "00", Arm(("a", "b"))))})
        if probe == "hanging":
            time.sleep(60)
        elif probe == "forking":
            if os.fork() == 0:
                time.sleep(30)
                os._exit(0)
            time.sleep(30)
        elif probe == "closing":
            os.close(1)
            time.sleep(30)
        elif probe == "slow":
            for _ in range(3):
                time.sleep(1)
                send({"going": "on"})
        elif probe == "crashing":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif probe == "killed":
            os.kill(os.getpid(), signal.SIGKILL)  # as the system does when memory runs out
        elif probe == "failing":
            raise AttributeError("no such method")
        elif probe == "asserting":
            raise RuntimeError(ASSERTED)
        elif probe == "aborting":
            try:
                raise RuntimeError(ASSERTED)
            except RuntimeError:
                traceback.print_exc()
                print("terminate called after throwing an instance of 'c10::AcceleratorError'", file=sys.stderr)
            os.kill(os.getpid(), signal.SIGABRT)
        elif probe == "leaving":
            send({"measurement": {}}, end="")
            sys.exit(0)
        send({"done": True})


if __name__ == "__main__":
    main()
