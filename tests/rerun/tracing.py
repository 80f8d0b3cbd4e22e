"""Runs a function under the tracer in this process, and gives what it wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from torchrepro_lint.rerun.comparing import Parting, partings
from torchrepro_lint.rerun.inside.generators import Generators
from torchrepro_lint.rerun.inside.recorder import Recorder
from torchrepro_lint.rerun.inside.tracing import Storages, Tracer
from torchrepro_lint.rerun.streams import Event, Streams

ROOT = Path(__file__).parent


@contextmanager
def traced(folder: Path, **settings: Any) -> Iterator[Recorder]:
    """Trace the body into a stream in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    recorder = Recorder({"folder": str(folder), "mode": "traced", **settings})
    recorder.generators = generators = Generators(recorder)
    generators.watch_states(torch)
    recorder.is_capturing = lambda: torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()
    with Tracer(recorder, Storages()):
        yield recorder
    recorder.stream.write({"k": "end"})
    recorder.stream.flush()


def events(folder: Path) -> list[Event]:
    streams = Streams(folder, ROOT)
    return [event for name in streams.names() for event in streams.events(name)]


def compared(tmp_path: Path, body: Callable[[int], None]) -> Parting | None:
    """Where two traced runs of `body` part; it is given the number of the run."""
    for number in (0, 1):
        with traced(tmp_path / str(number)):
            body(number)
    found = partings(Streams(tmp_path / "0", ROOT), Streams(tmp_path / "1", ROOT))
    return found[0] if found else None
