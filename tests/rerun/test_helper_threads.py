"""What helper threads do: which thread of a pool did it, and when, makes no difference; what it computed does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from torchrepro_lint.rerun.comparing import What, partings
from torchrepro_lint.rerun.inside.streams import Stream
from torchrepro_lint.rerun.streams import Streams

Done = tuple[str, str, str, str]
"""An operation: the thread, the operator, the digests of what went in and came out."""


def written(folder: Path, *operations: Done) -> Streams:
    folder.mkdir()
    stream = Stream(str(folder), {"digest": "xxh3", "mode": "traced"})
    for thread, name, given, left in operations:
        stream._add({"k": "thread", "name": thread})
        stream._add(["o", 0, name, 0, [given], "x", "", [left], None])
    stream.write({"k": "end"})
    stream.flush()
    return Streams(folder, folder)


def task(thread: str, item: str, noise: str = "") -> Sequence[Done]:
    return (thread, "aten::mul", item, f"2{item}{noise}"), (thread, "aten::sin", f"2{item}{noise}", f"sin{item}{noise}")


ORDERS = {
    "the same": (*task("pool_0", "a"), *task("pool_1", "b")),
    "other threads": (*task("pool_1", "a"), *task("pool_0", "b")),
    "another order": (*task("pool_0", "b"), *task("pool_0", "a")),
    "other numbers": (*task("pool_7", "a"), *task("pool_8", "b")),
    "between each other": (task("pool_0", "b")[0], *task("pool_1", "a"), task("pool_0", "b")[1]),
}


@pytest.mark.parametrize("order", ORDERS)
def test_which_thread_of_a_pool_did_it_is_no_difference(tmp_path: Path, order: str) -> None:
    one = written(tmp_path / "one", *ORDERS["the same"])
    other = written(tmp_path / "other", *ORDERS[order])
    assert partings(one, other) == []
    assert partings(other, one) == []


def test_what_a_thread_of_a_pool_computed_is_one(tmp_path: Path) -> None:
    one = written(tmp_path / "one", *task("pool_0", "a"), *task("pool_1", "b"), *task("pool_0", "c"))
    other = written(tmp_path / "other", *task("pool_1", "c"), *task("pool_0", "b", "!"), *task("pool_1", "a"))
    (parting,) = partings(one, other)
    assert (parting.what, parting.event.data[2], parting.event.data[4]) == (What.OUTPUT, "aten::mul", ["b"])


def test_how_far_it_is_ahead_at_the_end_is_none(tmp_path: Path) -> None:
    one = written(tmp_path / "one", *task("pool_0", "a"), *task("pool_1", "b"))
    other = written(tmp_path / "other", *task("pool_1", "a"))
    assert partings(one, other) == []
    assert partings(other, one) == []


def test_in_a_single_thread_the_order_counts(tmp_path: Path) -> None:
    one = written(tmp_path / "one", *task("", "a"), *task("", "b"))
    other = written(tmp_path / "other", *task("", "b"), *task("", "a"))
    (parting,) = partings(one, other)
    assert (parting.what, parting.event.data[4]) == (What.INPUT, ["a"])


def test_what_was_executed_first_comes_first_whichever_thread_it_was(tmp_path: Path) -> None:
    """The backward pass on a device has a thread of its own, whose first operation differs because of the forward
    pass, in which many operations were equal."""
    before = [("Dummy-1", "aten::exp", "1", "e"), *(("", "aten::add", str(n), str(n)) for n in range(9))]
    runs = [
        written(tmp_path / end, *before, ("", "aten::mul", "a", f"b{end}"), ("Dummy-1", "aten::exp", f"b{end}", end))
        for end in ("one", "other")
    ]
    first, second = partings(*runs)
    assert (first.thread, first.what, first.event.data[2]) == ("", What.OUTPUT, "aten::mul")
    assert (second.thread, second.what) == ("Dummy-#", What.INPUT)
