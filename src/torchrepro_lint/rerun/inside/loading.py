"""Observes data loaders: each batch that they yield, and in their workers what each fetch was asked for and gave."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import ModuleType
from typing import Any

from torchrepro_lint.rerun.inside.recorder import Recorder, wrap


def install(recorder: Recorder, dataloader: ModuleType) -> None:
    """Put the observers in place; the module of the loaders was just imported."""
    several = dataloader._MultiProcessingDataLoaderIter

    def batch(original: Callable[..., Any], iterator: Any) -> Any:
        # Tensors come from workers in the order of arrival, and the operations that rebuild them are no work of
        # the program's.
        with recorder.paused() if isinstance(iterator, several) else nullcontext():
            value = original(iterator)
        if not recorder.is_paused:
            with recorder.paused():
                workers = getattr(iterator, "_num_workers", 0)
                digests = recorder.digests
                recorder.note("batch", d=digests.value(value), rows=digests.rows(value), workers=workers)
        return value

    def pinning(original: Callable[..., Any], *args: Any) -> None:
        # Where there is a device, a thread takes over from the workers, in the order of arrival too.
        with recorder.paused():
            original(*args)

    wrap(dataloader._utils.pin_memory, "_pin_memory_loop", pinning)
    wrap(dataloader._BaseDataLoaderIter, "__next__", batch)
    fetch = dataloader._utils.fetch
    for fetcher in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
        wrap(fetcher, "fetch", _fetches(recorder, dataloader._utils.worker.get_worker_info))


def _fetches(recorder: Recorder, worker_info: Callable[[], Any]) -> Callable[..., Any]:
    def around(original: Callable[..., Any], fetcher: Any, index: Any) -> Any:
        if worker_info() is None:
            return original(fetcher, index)
        with recorder.paused():
            asked, before = recorder.digests.value(index), recorder.generators.states()
            recorder.note("ask", d=asked, rng=before, worker=worker_info().id)
        value = original(fetcher, index)
        with recorder.paused():
            recorder.note("fetch", d=recorder.digests.value(value), rows=recorder.digests.rows(value))
            recorder.stream.flush()
        return value

    return around
