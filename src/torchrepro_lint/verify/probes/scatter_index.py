"""Probes of reads and writes through an index: every place is named by many elements, each with a value of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.given import SHAPE, Given
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.inputs import Draws, on, words
from torchrepro_lint.verify.probes.registry import probe

Tensor = torch.Tensor


@dataclass(frozen=True)
class _Rows:
    """`x` has `places` entries along `dim`; `source` has many more, and `index` says where each of them goes."""

    x: Tensor
    dim: int
    index: Tensor
    source: Tensor

    @property
    def summary(self) -> str:
        places, elements = self.x.shape[self.dim], self.source.shape[self.dim]
        return (
            f"{words(self.source)}, index {tuple(self.index.shape)} into {places} places along dimension {self.dim}, "
            f"each named about {elements // places} times"
        )

    def writes(self, operation: Callable[[Tensor, int, Tensor, Tensor], Tensor]) -> Experiment:
        """`operation(x, dim, index, source)`."""
        return Experiment(
            self.summary, (self.x, self.index, self.source), lambda x, index, src: operation(x, self.dim, index, src)
        )

    def reads(self, operation: Callable[[Tensor, int, Tensor], Tensor]) -> Experiment:
        """The gradient of `operation(x, dim, index)`."""
        inputs = (self.x.requires_grad_(), self.index)
        return Experiment(f"{self.summary}; backward", inputs, lambda x, i: operation(x, self.dim, i), backward=True)


def _rows(
    device: torch.device,
    arguments: Given,
    *,
    index_per_element: bool = False,
    factors: bool = False,
) -> Iterator[_Rows]:
    """Few places and many, or as many as the source has entries where its shape is given.

    `factors` are values whose products neither vanish nor overflow.
    """
    dim = _dimension(arguments)
    centre, spread = (1.0, 0.01) if factors else (0.0, 1.0)
    sizes = ((on(device, 10_000, 400_000), 50, 4), (on(device, 1_500, 40_000), 100, 32))
    shapes = [(_along(dim, length, width), places) for length, places, width in sizes]
    if SHAPE in arguments:
        shape = known.shape(arguments, (), len(_shape_of(arguments)))
        shapes = [(shape, max(1, _entries(shape, dim) // 10))]
    for shape, places in shapes:
        draws = Draws(device, arguments)
        x_shape = list(shape)
        x_shape[dim] = places
        yield _Rows(
            centre + spread * draws.normal(*x_shape),
            dim,
            draws.index(*(shape if index_per_element else (shape[dim],)), below=places),
            centre + spread * draws.normal(*shape),
        )


def _shape_of(arguments: Given) -> tuple[object, ...]:
    value = arguments.get(SHAPE)
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _entries(shape: tuple[int, ...], dim: int) -> int:
    if not -len(shape) <= dim < len(shape):
        raise Unsupported(f"inputs of shape {list(shape)} have no dimension {dim}")
    return shape[dim]


def _dimension(arguments: Given) -> int:
    dim = arguments.get("dim")
    if dim is None:
        return 0
    if type(dim) is not int or not -4 <= dim <= 3:
        raise Unsupported(f"no probe for dim={dim!r}")
    return dim


def _along(dim: int, length: int, width: int) -> tuple[int, ...]:
    rank = max(2, dim + 1 if dim >= 0 else -dim)
    shape = [1] * rank
    shape[dim - 1] = width
    shape[dim] = length
    return tuple(shape)


@probe("index-add", halves=True)
def index_add(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    for rows in _rows(device, arguments):
        yield rows.writes(torch.index_add)


@probe("index-copy")
def index_copy(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    for rows in _rows(device, arguments):
        yield rows.writes(torch.index_copy)


@probe("index-reduce")
def index_reduce(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    reduce = known.choice(arguments, "reduce", ("mean", "prod", "amax", "amin"))
    include_self = known.flag(arguments, "include_self", True)
    for rows in _rows(device, arguments, factors=reduce == "prod"):
        yield rows.writes(lambda x, dim, i, src: torch.index_reduce(x, dim, i, src, reduce, include_self=include_self))


@probe("scatter-add", halves=True)
def scatter_add(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    for rows in _rows(device, arguments, index_per_element=True):
        yield rows.writes(torch.scatter_add)


@probe("scatter-tensor")
def scatter_tensor(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    for rows in _rows(device, arguments, index_per_element=True):
        yield rows.writes(torch.scatter)


@probe("scatter-add-kwarg")
def scatter_add_kwarg(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    known.fixed(arguments, "reduce", "add")
    for rows in _rows(device, arguments, index_per_element=True):
        yield rows.writes(lambda x, dim, index, src: torch.scatter(x, dim, index, src, reduce="add"))


@probe("scatter-multiply")
def scatter_multiply(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    known.fixed(arguments, "reduce", "multiply")
    for rows in _rows(device, arguments, index_per_element=True, factors=True):
        yield rows.writes(lambda x, dim, index, src: torch.scatter(x, dim, index, src, reduce="multiply"))


@probe("scatter-reduce-sum", halves=True)
def scatter_reduce_sum(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    return _scatter_reduce(device, arguments, known.choice(arguments, "reduce", ("sum", "mean")))


@probe("scatter-reduce-prod")
def scatter_reduce_prod(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    return _scatter_reduce(device, arguments, known.choice(arguments, "reduce", ("prod",)))


@probe("scatter-reduce-extreme")
def scatter_reduce_extreme(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    return _scatter_reduce(device, arguments, known.choice(arguments, "reduce", ("amax", "amin")))


def _scatter_reduce(device: torch.device, arguments: Given, reduce: str) -> Iterator[Experiment]:
    include_self = known.flag(arguments, "include_self", True)
    for rows in _rows(device, arguments, index_per_element=True, factors=reduce == "prod"):
        yield rows.writes(
            lambda x, dim, index, src: torch.scatter_reduce(x, dim, index, src, reduce, include_self=include_self)
        )


@probe("index-select", halves=True)
def index_select(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    for rows in _rows(device, arguments):
        yield rows.reads(torch.index_select)


@probe("gather", halves=True)
def gather(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    for rows in _rows(device, arguments, index_per_element=True):
        yield rows.reads(torch.gather)


@probe("repeat-interleave")
def repeat_interleave(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    dim = _dimension(arguments)
    draws = Draws(device, arguments)
    length, times = on(device, 200, 4_000), 64
    x = draws.normal(*_along(dim, length, 16), grad=True)
    repeats = draws.index(length, below=times)
    yield Experiment(
        f"{words(x)}, every entry along dimension {dim} up to {times - 1} times; backward",
        (x, repeats),
        lambda x, repeats: torch.repeat_interleave(x, repeats, dim),
        backward=True,
    )


@dataclass(frozen=True)
class _Flat:
    """Many values for few places of a vector."""

    x: Tensor
    index: Tensor
    source: Tensor

    @property
    def summary(self) -> str:
        places, elements = self.x.numel(), self.index.numel()
        return f"{words(self.source)}, index into {places} places, each named about {elements // places} times"


def _flat(device: torch.device, arguments: Given) -> _Flat:
    draws = Draws(device, arguments)
    (length,) = known.shape(arguments, (on(device, 300_000, 2_000_000),))  # the threads of a busy CPU are to meet
    return _Flat(draws.normal(1_000), draws.index(length, below=1_000), draws.normal(length))


def _accumulates(arguments: Given) -> tuple[bool, ...]:
    """What the site says: PyTorch's default where it passes nothing; both for no site."""
    if "accumulate" not in arguments and not arguments.leaves_out("accumulate"):
        return (False, True)
    return (known.flag(arguments, "accumulate"),)


@probe("put", halves=True)
def put(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    flat = _flat(device, arguments)
    for accumulate in _accumulates(arguments):
        yield Experiment(
            f"{flat.summary}, accumulate={accumulate}",
            (flat.x, flat.index, flat.source),
            lambda x, index, source, accumulate=accumulate: x.put_(index, source, accumulate),
        )


@probe("take", halves=True)
def take(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    flat = _flat(device, arguments)
    yield Experiment(f"{flat.summary}; backward", (flat.x.requires_grad_(), flat.index), torch.take, backward=True)


@probe("index-put")
def index_put(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    known.fixed(arguments, "accumulate", False)
    flat = _flat(device, arguments)
    yield Experiment(flat.summary, (flat.x, flat.index, flat.source), lambda x, i, source: x.index_put_((i,), source))


@probe("index-put-accumulate", halves=True)
def index_put_accumulate(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    known.fixed(arguments, "accumulate", True)
    flat = _flat(device, arguments)
    yield Experiment(
        f"{flat.summary}, accumulate=True",
        (flat.x, flat.index, flat.source),
        lambda x, index, source: x.index_put_((index,), source, accumulate=True),
    )
    if SHAPE in arguments:
        return
    draws = Draws(device, arguments)
    table = draws.normal(100, 64, grad=True)
    rows = draws.index(on(device, 20_000, 50_000), below=100)  # so long that two threads of a busy CPU meet
    yield Experiment(
        f"table {words(table)}, {rows.numel()} rows read; backward", (table, rows), lambda x, i: x[i], backward=True
    )


@probe("bincount")
def bincount(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    flat, least = _flat(device, arguments), known.integer(arguments, "minlength", 0, smallest=0)
    yield Experiment(
        f"{flat.summary}, as weights, minlength={least}",
        (flat.index, flat.source),
        lambda index, weights: torch.bincount(index, weights, least),
    )


@probe("bincount-unweighted")
def bincount_unweighted(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    flat, least = _flat(device, arguments), known.integer(arguments, "minlength", 0, smallest=0)
    yield Experiment(
        f"{words(flat.index)} into 1000 bins, minlength={least}",
        (flat.index,),
        lambda index: torch.bincount(index, minlength=least),
    )


@probe("histc")
def histc(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """So many values in one bin that a float counts them no more: below 2**24 sums of ones are exact in any order."""
    bins = known.integer(arguments, "bins", 100)
    low, high = known.number(arguments, "min", 0.0), known.number(arguments, "max", 0.0)
    (length,) = known.shape(arguments, (on(device, 300_000, 2**26),))
    values = Draws(device, arguments).normal(length)
    if low == high:
        values = values.clamp_(-1.0, 60.0 * bins)  # a few bins at the lower end take all
        values.narrow(0, 0, 1).fill_(60.0 * bins)
    most = "beyond 2**24 in a bin, where counts are rounded" if length > 2**25 else "counts are exact"
    yield Experiment(
        f"{words(values)} into {bins} bins, min={low}, max={high}, {most}",
        (values,),
        lambda x: torch.histc(x, bins, low, high),
    )


@probe("histogramdd")
def histogramdd(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    if device.type == "cuda":
        raise Unsupported("histogramdd has no kernel for CUDA")
    draws = Draws(device, arguments)
    points, weights = draws.normal(on(device, 10_000, 1_000_000), 2), draws.uniform(on(device, 10_000, 1_000_000))
    yield Experiment(
        f"points {words(points)} with weights into 10 x 10 bins",
        (points, weights),
        lambda points, weights: torch.histogramdd(points, bins=[10, 10], weight=weights).hist,
    )
