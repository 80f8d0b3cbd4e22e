"""Digests tell everything apart that a difference of two runs may be, on the host and in the way of a device."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchrepro_lint.rerun.inside import digests as digests_of_devices  # noqa: E402
from torchrepro_lint.rerun.inside.digests import Digests, Late, _Buffer, multilinear  # noqa: E402


class _Stream:
    """Stands for a stream of a device."""

    device = torch.device("xpu")


def of(digests: Digests, value: Any) -> Any:
    found = digests.value(value)
    digests.resolve()
    return found.text if isinstance(found, Late) else found


@pytest.fixture(params=[False, True], ids=["host", "device"])
def digests(request: pytest.FixtureRequest) -> Digests:
    return Digests(on_device=request.param)


def edits(x: torch.Tensor) -> dict[str, torch.Tensor]:
    signs = torch.ones_like(x)
    signs[1] = signs[3] = -1
    swapped = x.clone()
    swapped[[2, 5]] = x[[5, 2]]
    ulp = x.clone()
    ulp[7] = torch.nextafter(x[7], x[7] + 1)
    return {
        "permuted": x.flip(0),
        "two swapped": swapped,
        "two signs": x * signs,
        "negated": -x,
        "one ulp": ulp,
        "shape": x.reshape(2, -1),
        "dtype": x.view(torch.int32 if x.dtype is torch.float32 else torch.int64),
        "longer by a zero": torch.cat([x, x.new_zeros(1)]),
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_edit_changes_the_digest(digests: Digests, dtype: torch.dtype) -> None:
    x = torch.randn(64, dtype=dtype, generator=torch.Generator().manual_seed(0))
    assert of(digests, x) == of(digests, x.clone())
    assert [name for name, edited in edits(x).items() if of(digests, edited) == of(digests, x)] == []


def test_zeros_and_ones_minus_zero_and_the_payload_of_a_nan_count(digests: Digests) -> None:
    nans = torch.tensor([0x7FC00000, 0x7FC00001], dtype=torch.int32).view(torch.float32)
    values = [torch.zeros(4), torch.ones(4), -torch.zeros(4), nans[:1], nans[1:]]
    assert len({of(digests, value) for value in values}) == len(values)


def test_strides_do_not_count_and_odd_sizes_do(digests: Digests) -> None:
    x = torch.arange(12, dtype=torch.uint8).reshape(3, 4)
    assert of(digests, x[:, ::2]) == of(digests, x[:, ::2].contiguous())
    assert of(digests, x.t()) != of(digests, x.reshape(4, 3))
    assert len({of(digests, x.reshape(-1)[:n]) for n in range(8)}) == 8
    assert len({of(digests, x.reshape(-1)[n : n + 5]) for n in range(5)}) == 5


def test_no_two_of_many_small_changes_collide(digests: Digests) -> None:
    x = torch.zeros(64)
    found = set()
    for place in range(64):
        for value in (1.0, -1.0, 2.0, 1e-45):
            changed = x.clone()
            changed[place] = value
            found.add(of(digests, changed))
    assert len(found) == 256


def test_nested_values_and_their_keys_count() -> None:
    digests = Digests()
    values = [{"x": 1}, {"y": 1}, {"x": 1.0}, {"x": "1"}, [1, 2], [2, 1], [[1], 2], (torch.ones(1), 2), None]
    assert len({digests.value(value) for value in values}) == len(values)


def test_the_rows_of_a_batch_are_the_same_in_another_order() -> None:
    digests = Digests()
    x, y = torch.arange(12.0).reshape(4, 3), torch.arange(4)
    rows = digests.rows([x, y])
    assert len(set(rows)) == 4
    assert digests.rows([x.flip(0), y.flip(0)]) == rows[::-1]
    assert digests.rows([x, y[:3]]) == []


def test_more_numbers_than_the_buffer_has_places_all_come_back() -> None:
    digests = Digests(on_device=True)
    late = [digests.tensor(torch.full((3,), float(number))) for number in range(5000)]
    digests.resolve()
    assert len({digest.text for digest in late}) == 5000
    number = digests.number(torch.tensor(1.5))
    digests.resolve()
    assert number.text == 1.5


def test_the_digest_on_a_device_does_not_depend_on_how_sums_are_ordered() -> None:
    x = torch.randn(1 << 21)
    threads = torch.get_num_threads()
    found = set()
    for count in (1, 2, 8):
        torch.set_num_threads(count)
        found.add(int(multilinear(x, 7)))
    torch.set_num_threads(threads)
    assert len(found) == 1


def test_a_device_is_never_waited_for() -> None:
    """A tensor without bytes goes the whole way into the buffer: nothing on it asks for a value."""
    there = torch.device("meta")
    word = multilinear(torch.empty(1001, dtype=torch.float16, device=there), 7)
    assert (word.device, word.dtype, word.shape) == (there, torch.int64, torch.Size())
    _Buffer(there, None).put(word, Late())


def test_what_lies_at_an_odd_address_has_the_digest_of_its_copy(digests: Digests) -> None:
    odd = torch.frombuffer(bytearray(range(33)), dtype=torch.uint8, offset=1)
    assert of(digests, odd) == of(digests, odd.clone())


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_tensors_of_unequal_parts_have_digests(digests: Digests, layout: torch.layout) -> None:
    parts = [[1.0, 1.0], [1.0, 1.0], [1.0, 2.0]], [[1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0]], [[1.0, 1.0], [1.0]]
    found = [of(digests, torch.nested.nested_tensor([torch.tensor(p) for p in rows], layout=layout)) for rows in parts]
    assert len(set(found)) == 3
    assert found[2] == found[3]


def test_each_stream_of_a_device_has_a_buffer_that_is_copied_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one stream writes, another does not wait for."""
    current: list[Any] = []
    entered = []

    @contextmanager
    def inside(stream: Any) -> Iterator[None]:
        entered.append(stream)
        yield

    monkeypatch.setattr(digests_of_devices, "_stream", lambda device: current[-1])
    monkeypatch.setattr(torch.xpu, "stream", inside)
    digests, plain = Digests(on_device=True), Digests(on_device=True)
    both = _Stream(), _Stream()
    found = []
    for number in range(6):
        current.append(both[number % 2])
        found.append(digests.tensor(torch.full((3,), float(number))))
    digests.resolve()
    assert entered == [*both]
    current.append(None)
    assert [late.text for late in found] == [of(plain, torch.full((3,), float(number))) for number in range(6)]


def test_threads_share_a_buffer_without_taking_each_others_places() -> None:
    digests, plain = Digests(on_device=True), Digests(on_device=True)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: digests.tensor(torch.full((3,), float(number))), range(5000)))
    digests.resolve()
    some = range(0, 5000, 500)
    assert [found[number].text for number in some] == [of(plain, torch.full((3,), float(number))) for number in some]
    assert len({late.text for late in found}) == 5000


def test_a_forked_child_leaves_its_parents_buffers_alone() -> None:
    digests = Digests(on_device=True)
    late = digests.tensor(torch.ones(3))
    digests.forget()
    digests.resolve()
    assert late.text is None
    assert of(digests, torch.ones(3)) == of(Digests(on_device=True), torch.ones(3))


on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.cuda
@on_cuda
def test_a_cuda_tensor_has_the_digest_of_its_copy_and_no_one_waits_for_it() -> None:
    digests, on_host = Digests(), Digests(on_device=True)
    x = torch.randn(1000)
    torch.cuda.set_sync_debug_mode("error")
    try:
        found = digests.tensor(x.cuda(non_blocking=True))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert isinstance(found, Late)
    digests.resolve()
    assert found.text == of(on_host, x)


@pytest.mark.cuda
@on_cuda
def test_what_a_side_stream_computes_late_has_the_digest_of_its_copy() -> None:
    digests, on_host = Digests(), Digests(on_device=True)
    x = torch.randn(1000)
    on_device = x.cuda()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(100_000_000)
        found = digests.tensor(on_device * 2)
    digests.resolve()
    assert isinstance(found, Late)
    assert found.text == of(on_host, x * 2)


@pytest.mark.cuda
@on_cuda
def test_the_host_may_wait_where_the_program_forbids_it_to_itself() -> None:
    digests = Digests()
    found = digests.tensor(torch.ones(3, device="cuda"))
    torch.cuda.set_sync_debug_mode("error")
    try:
        digests.resolve()
        assert torch.cuda.get_sync_debug_mode() == 2
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert isinstance(found, Late)
    assert found.text == of(Digests(on_device=True), torch.ones(3))
