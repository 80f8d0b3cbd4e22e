"""Other work beside the one that is measured: what is rare on an idle machine is less so on a busy one.

Busy threads take the CPU's cores; on a GPU, products of mixed sizes run in streams of other priorities, and the
measured stream waits for a random time before each run. Draws no number that a measured operation could notice.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from random import Random

import torch

from torchrepro_lint.pool import processors
from torchrepro_lint.verify.devices import module_of

_BLOCK = bytes(1 << 24)  # hashed without Python's lock, and so large that many threads seldom ask for it
_SIZES = (128, 512, 1024, 2048)
_LONGEST_WAIT = 200_000  # cycles of a GPU: about a tenth of a millisecond


@contextmanager
def stress(device: torch.device) -> Iterator[Callable[[], None]]:
    """Keeps the machine busy; yields what to call before each run."""
    with ExitStack() as stack:
        stack.enter_context(_threads([_hash] * processors()))
        if device.type == "cpu":
            yield lambda: None
        else:
            stack.enter_context(_threads([products(device, priority) for priority in (0, -1)]))
            yield jitter(module_of(device)._sleep)


def products(device: torch.device, priority: int) -> Callable[[], None]:
    """One round of matrix products of mixed sizes in a stream of their own."""
    module = module_of(device)
    stream = module.Stream(priority=priority)
    generator = torch.Generator(device=device).manual_seed(priority % 7)
    with module.stream(stream):
        squares = [torch.randn(size, size, device=device, generator=generator) for size in _SIZES]

    def multiply() -> None:
        with torch.no_grad(), module.stream(stream):
            for square in squares:
                torch.mm(square, square)
        stream.synchronize()

    return multiply


def jitter(sleep: Callable[[int], object]) -> Callable[[], None]:
    """Makes the current stream wait for a random number of cycles."""
    random = Random()

    def wait() -> None:
        sleep(random.randrange(_LONGEST_WAIT))

    return wait


def _hash() -> None:
    hashlib.sha256(_BLOCK).digest()


@contextmanager
def _threads(rounds: list[Callable[[], None]]) -> Iterator[None]:
    """Repeats each of them in a thread of its own until the block is left."""
    done = threading.Event()

    def until_done(one_round: Callable[[], None]) -> None:
        while not done.is_set():
            one_round()

    threads = [threading.Thread(target=until_done, args=(one_round,), daemon=True) for one_round in rounds]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()
