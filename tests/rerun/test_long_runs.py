"""A run of a thousand steps: its stream is on the disk and small, and nobody keeps it in memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torchrepro_lint.rerun.comparing import partings  # noqa: E402
from torchrepro_lint.rerun.inside.tracing import Storages  # noqa: E402
from torchrepro_lint.rerun.streams import Streams  # noqa: E402

from .tracing import ROOT, traced  # noqa: E402

STEPS = 1000
OPERATIONS = 4  # in each step


def resident() -> int:
    """Bytes of memory that this process has at the moment."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def train(folder: Path) -> int:
    """How much memory is taken between the hundredth step and the last."""
    with traced(folder) as recorder:
        weight = torch.zeros(16)
        for step in range(STEPS):
            for _ in range(OPERATIONS):
                weight.add_(1.0)
            recorder.note("step", grads=None, params=recorder.digests.tensor(weight), rng={})
            recorder.step += 1
            recorder.stream.flush()
            if step == 100:
                before = resident()
        return resident() - before


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_it_lies_on_the_disk_takes_little_there_and_is_compared_line_by_line(tmp_path: Path) -> None:
    _, taken = [train(tmp_path / name) for name in ("one", "other")]  # the first meets what is loaded when it is used
    assert taken < 4_000_000
    one, other = Streams(tmp_path / "one", ROOT), Streams(tmp_path / "other", ROOT)
    operations = sum(event.kind == "o" for event in one.events("main"))
    assert operations >= OPERATIONS * STEPS
    assert (one.folder / "main.jsonl").stat().st_size <= 1_000 * operations  # 1 MB for 1,000 operations
    before = resident()
    assert partings(one, other) == []
    assert resident() - before < 4_000_000


def test_what_the_program_frees_is_forgotten_soon() -> None:
    """A freed storage that is remembered keeps a small block on the heap, between the large ones that were freed."""
    storages = Storages()
    alive = [torch.empty(1) for _ in range(100)]
    for tensor in alive:
        storages.mark(tensor, "made")
    for _ in range(5000):
        storages.mark(torch.empty(1), "made")
    assert len(storages._known) <= 500
    assert {storages.of(tensor) for tensor in alive} == {("made", False)}
