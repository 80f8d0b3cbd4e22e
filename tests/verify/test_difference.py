"""Bytes, digests, and how far two results lie apart."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torchrepro_lint.verify.bits import as_bytes, digest, first_different, same  # noqa: E402
from torchrepro_lint.verify.difference import difference, distance  # noqa: E402

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.parametrize("dtype", FLOATS)
def test_neighbours_are_one_apart(dtype: torch.dtype) -> None:
    words = {2: torch.int16, 4: torch.int32, 8: torch.int64}[torch.finfo(dtype).bits // 8]
    for value in (1.0, -1.0, 0.0, 1e-5, 3.25):
        one = torch.tensor([value], dtype=dtype)
        nearby = (one.view(words) + 1).view(dtype)
        assert distance(one, nearby) == 1


@pytest.mark.parametrize("dtype", FLOATS)
def test_both_zeros_are_at_the_same_place_and_are_not_the_same(dtype: torch.dtype) -> None:
    zero = torch.zeros(1, dtype=dtype)
    assert distance(zero, -zero) == 0
    assert not same(zero, -zero)
    found = difference("output", zero, -zero)
    assert (found.fraction, found.max_ulp, found.max_relative) == (1.0, 0, 0)


def test_distances_across_all_doubles() -> None:
    largest = torch.tensor([torch.finfo(torch.float64).max], dtype=torch.float64)
    assert distance(largest, -largest) == pytest.approx(2 * 0x7FEFFFFFFFFFFFFF)


def test_a_relative_difference_of_doubles_does_not_overflow() -> None:
    largest = torch.tensor([torch.finfo(torch.float64).max], dtype=torch.float64)
    assert difference("output", largest, -largest).max_relative == 2.0


def test_nan_has_no_distance_but_a_payload() -> None:
    quiet = torch.tensor([0x7FC00000, 0x7FC00001], dtype=torch.int32).view(torch.float32)
    assert distance(quiet[:1], quiet[1:]) is None
    assert not same(quiet[:1], quiet[1:])
    assert same(quiet[:1], quiet[:1].clone())


def test_measures_are_over_the_elements_that_differ() -> None:
    one = torch.tensor([1.0, 2.0, 4.0, 8.0])
    found = difference("output", one, one + torch.tensor([0.0, 0.0, 1.0, 0.0]))
    assert (found.part, found.fraction, found.max_relative) == ("output", 0.25, pytest.approx(0.2))


@pytest.mark.parametrize(
    "other",
    [torch.ones(2, 3, dtype=torch.float64), torch.ones(3, 2), torch.ones(6), torch.ones(2, 3).to_sparse()],
)
def test_type_shape_and_layout_count(other: torch.Tensor) -> None:
    assert not same(torch.ones(2, 3), other)
    assert digest({"output": torch.ones(2, 3)}) != digest({"output": other})


def test_strides_do_not_count() -> None:
    one = torch.arange(6.0).reshape(2, 3)
    other = one.t().contiguous().t()
    assert one.stride() != other.stride()
    assert same(one, other)
    assert digest({"output": one}) == digest({"output": other})


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor(1.0), torch.empty(0, 3), torch.tensor([True, False]), torch.tensor([1 + 2j]),
        torch.tensor([1 + 2j]).conj(), torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr(),
        torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), torch.ones(3, dtype=torch.bfloat16),
        torch.ones(4, 2)[::2].t(),
    ],
)  # fmt: skip
def test_every_kind_of_tensor_is_the_same_as_its_copy(tensor: torch.Tensor) -> None:
    assert same(tensor, tensor.clone())
    assert digest({"output": tensor}) == digest({"output": tensor.clone()})
    assert difference("output", tensor, tensor.clone()).max_ulp is None


@pytest.mark.parametrize("name", ["swap", "negate", "signs", "step"])
def test_what_sums_and_xor_miss(name: str) -> None:
    one = torch.arange(1.0, 9.0)
    other = one.clone()
    match name:
        case "swap":
            other[[0, 1]] = other[[1, 0]]
        case "negate":
            other = -other
        case "signs":
            other[:2] *= -1
        case _:
            other[3] = torch.nextafter(other[3], torch.tensor(100.0))
    assert not same(one, other)
    assert digest({"output": one}) != digest({"output": other})


def test_every_byte_of_a_large_result_counts_and_its_place() -> None:
    one = torch.arange(3 << 18, dtype=torch.int32)  # three pieces
    swapped = torch.cat([one[1 << 18 : 1 << 19], one[: 1 << 18], one[1 << 19 :]])
    others = [swapped, one[:-1], torch.cat([one, one[:1]])]
    for place in (0, (1 << 18) - 1, 1 << 18, (3 << 18) - 1):
        others.append(one.clone())
        others[-1][place] += 1
    assert len({digest({"output": tensor}) for tensor in [one, *others]}) == 1 + len(others)
    assert digest({"output": one}) == digest({"output": one.clone()})


def test_a_difference_in_any_piece_of_a_large_result_is_measured() -> None:
    size = 5 << 17  # elements, in three pieces
    one, other = torch.ones(size), torch.ones(size)
    other[[0, 1 << 18, size - 1]] = torch.tensor([1.5, 2.0, float("nan")])
    found = difference("output", one, other)
    assert (found.fraction, found.max_ulp, found.max_relative) == (3 / size, 1 << 23, 0.5)


def test_the_first_different_part_is_named() -> None:
    one = {"output": torch.ones(2), "gradient of input 1": torch.ones(2)}
    assert first_different(one, dict(one)) is None
    assert first_different(one, {**one, "gradient of input 1": torch.zeros(2)}) == "gradient of input 1"
    assert first_different(one, {**one, "input 2": torch.zeros(2)}) == "input 2"


def test_bytes_are_in_the_order_of_elements() -> None:
    assert as_bytes(torch.tensor([1, 2], dtype=torch.int16)).tolist() == [1, 0, 2, 0]
