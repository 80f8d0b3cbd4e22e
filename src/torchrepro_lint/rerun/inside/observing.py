"""Puts the observers in place as the program imports what they observe."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from torchrepro_lint.rerun.inside.imports import AfterImport
from torchrepro_lint.rerun.inside.recorder import Recorder, wrap
from torchrepro_lint.rerun.inside.sites import absolute, is_users


def observe(settings: Mapping[str, Any]) -> None:
    """Observe this process from here on. Called once, before any of the user's code runs."""
    from torchrepro_lint.rerun.inside import generators, outside_world, tracebacks

    recorder = Recorder(settings)
    imports = AfterImport()
    sys.meta_path.insert(0, imports)
    tracebacks.leave_out_our_frames()
    outside_world.install(recorder)
    generators.install(recorder, imports)
    imports.when("torch", lambda torch: _torch(recorder, imports, torch))
    _at_exit(recorder)


def _torch(recorder: Recorder, imports: AfterImport, torch: ModuleType) -> None:
    from torchrepro_lint.rerun.inside import loading, training

    recorder.is_capturing = lambda: torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()
    training.install(recorder, torch)
    imports.when("torch.utils.data.dataloader", lambda module: loading.install(recorder, module))
    pipelines = "torch.distributed.pipelining.stage"
    imports.when(pipelines, lambda module: training.leave_out_shape_inference(recorder, module))
    if recorder.settings.get("deterministic"):
        torch.use_deterministic_algorithms(True)
    if recorder.traced:
        from torchrepro_lint.rerun.inside import tracing

        tracing.install(recorder)


def _users_files() -> list[str]:
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return sorted({absolute(path) for path in files if isinstance(path, str) and is_users(path)})


def _at_exit(recorder: Recorder) -> None:
    """Write what is left, however the process ends. A process without records writes no stream."""
    lines = None
    if recorder.traced:
        from torchrepro_lint.rerun.inside.coverage import Lines

        lines = Lines()
        lines.start()
    stream, own = recorder.stream, threading.get_ident()

    def end() -> None:
        with recorder.paused():
            if lines is not None and threading.get_ident() == own:
                lines.write(recorder)
            if not stream.is_empty:
                for path in _users_files() if lines is None else ():
                    stream.write({"k": "file", "path": path})
                stream.write({"k": "end"})
            stream.flush()

    atexit.register(end)

    def leave(original: Any, status: int) -> None:
        end()
        original(status)

    wrap(os, "_exit", leave)  # so ends a process that multiprocessing forked
