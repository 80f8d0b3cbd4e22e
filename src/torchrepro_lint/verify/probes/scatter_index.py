"""Probes of reads and writes through an index: every place is named by many elements, each with a value of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.draws import Draws
from torchrepro_lint.verify.probes.registry import probe
from torchrepro_lint.verify.probes.sizes import floats, on, words

Arguments = Mapping[str, object]
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
    arguments: Arguments,
    *,
    index_per_element: bool = False,
    half: bool = False,
    factors: bool = False,
) -> Iterator[_Rows]:
    """Few places and many; in half precision too where the operation has a kernel for it.

    `factors` are values whose products neither vanish nor overflow.
    """
    dim = _dimension(arguments)
    centre, spread = (1.0, 0.01) if factors else (0.0, 1.0)
    for dtype in floats(device) if half else (torch.float32,):
        for length, places, width in ((on(device, 10_000, 400_000), 50, 4), (on(device, 1_500, 40_000), 100, 32)):
            draws = Draws(device)
            shape = _along(dim, length, width)
            yield _Rows(
                (centre + spread * draws.normal(*_along(dim, places, width))).to(dtype),
                dim,
                draws.index(*(shape if index_per_element else (length,)), below=places),
                (centre + spread * draws.normal(*shape)).to(dtype),
            )


def _dimension(arguments: Arguments) -> int:
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


@probe("index-add")
def index_add(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    for rows in _rows(device, arguments, half=True):
        yield rows.writes(torch.index_add)


@probe("index-copy")
def index_copy(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    for rows in _rows(device, arguments):
        yield rows.writes(torch.index_copy)


@probe("index-reduce")
def index_reduce(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    reduce = known.choice(arguments, "reduce", ("mean", "prod", "amax", "amin"))
    include_self = known.flag(arguments, "include_self", True)
    for rows in _rows(device, arguments, factors=reduce == "prod"):
        yield rows.writes(lambda x, dim, i, src: torch.index_reduce(x, dim, i, src, reduce, include_self=include_self))


@probe("scatter-add")
def scatter_add(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    for rows in _rows(device, arguments, index_per_element=True, half=True):
        yield rows.writes(torch.scatter_add)


@probe("scatter-tensor")
def scatter_tensor(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    for rows in _rows(device, arguments, index_per_element=True):
        yield rows.writes(torch.scatter)


@probe("scatter-add-kwarg")
def scatter_add_kwarg(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    for rows in _rows(device, arguments, index_per_element=True):
        yield rows.writes(lambda x, dim, index, src: torch.scatter(x, dim, index, src, reduce="add"))


@probe("scatter-multiply")
def scatter_multiply(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    for rows in _rows(device, arguments, index_per_element=True, factors=True):
        yield rows.writes(lambda x, dim, index, src: torch.scatter(x, dim, index, src, reduce="multiply"))


@probe("scatter-reduce-sum")
def scatter_reduce_sum(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    return _scatter_reduce(device, arguments, known.choice(arguments, "reduce", ("sum", "mean")))


@probe("scatter-reduce-prod")
def scatter_reduce_prod(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    return _scatter_reduce(device, arguments, known.choice(arguments, "reduce", ("prod",)))


@probe("scatter-reduce-extreme")
def scatter_reduce_extreme(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    return _scatter_reduce(device, arguments, known.choice(arguments, "reduce", ("amax", "amin")))


def _scatter_reduce(device: torch.device, arguments: Arguments, reduce: str) -> Iterator[Experiment]:
    include_self = known.flag(arguments, "include_self", True)
    for rows in _rows(device, arguments, index_per_element=True, factors=reduce == "prod"):
        yield rows.writes(
            lambda x, dim, index, src: torch.scatter_reduce(x, dim, index, src, reduce, include_self=include_self)
        )


@probe("index-select")
def index_select(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    for rows in _rows(device, arguments, half=True):
        yield rows.reads(torch.index_select)


@probe("gather")
def gather(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    for rows in _rows(device, arguments, index_per_element=True):
        yield rows.reads(torch.gather)


@probe("repeat-interleave")
def repeat_interleave(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    dim = _dimension(arguments)
    draws = Draws(device)
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


def _flat(device: torch.device) -> _Flat:
    draws = Draws(device)
    length = on(device, 300_000, 2_000_000)  # long enough for the threads of a busy CPU to meet
    return _Flat(draws.normal(1_000), draws.index(length, below=1_000), draws.normal(length))


def _accumulates(arguments: Arguments) -> tuple[bool, ...]:
    """What the site says; both where it says nothing."""
    if "accumulate" not in arguments:
        return (False, True)
    return (known.flag(arguments, "accumulate"),)


@probe("put")
def put(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    flat = _flat(device)
    for accumulate in _accumulates(arguments):
        yield Experiment(
            f"{flat.summary}, accumulate={accumulate}",
            (flat.x, flat.index, flat.source),
            lambda x, index, source, accumulate=accumulate: x.put_(index, source, accumulate),
        )


@probe("take")
def take(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    flat = _flat(device)
    yield Experiment(f"{flat.summary}; backward", (flat.x.requires_grad_(), flat.index), torch.take, backward=True)


@probe("index-put")
def index_put(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    flat = _flat(device)
    yield Experiment(flat.summary, (flat.x, flat.index, flat.source), lambda x, i, source: x.index_put_((i,), source))


@probe("index-put-accumulate")
def index_put_accumulate(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    flat = _flat(device)
    yield Experiment(
        f"{flat.summary}, accumulate=True",
        (flat.x, flat.index, flat.source),
        lambda x, index, source: x.index_put_((index,), source, accumulate=True),
    )
    draws = Draws(device)
    table = draws.normal(100, 64, grad=True)
    rows = draws.index(on(device, 8_000, 50_000), below=100)
    yield Experiment(
        f"table {words(table)}, {rows.numel()} rows read; backward", (table, rows), lambda x, i: x[i], backward=True
    )


@probe("bincount")
def bincount(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    flat = _flat(device)
    yield Experiment(f"{flat.summary}, as weights", (flat.index, flat.source), torch.bincount)


@probe("bincount-unweighted")
def bincount_unweighted(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    flat = _flat(device)
    yield Experiment(f"{words(flat.index)} into 1000 bins", (flat.index,), torch.bincount)


@probe("histc")
def histc(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    bins = known.integer(arguments, "bins", 100)
    values = _flat(device).source
    yield Experiment(f"{words(values)} into {bins} bins", (values,), lambda x: torch.histc(x, bins))


@probe("histogramdd")
def histogramdd(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    if device.type == "cuda":
        raise Unsupported("histogramdd has no kernel for CUDA")
    draws = Draws(device)
    points, weights = draws.normal(on(device, 10_000, 1_000_000), 2), draws.uniform(on(device, 10_000, 1_000_000))
    yield Experiment(
        f"points {words(points)} with weights into 10 x 10 bins",
        (points, weights),
        lambda points, weights: torch.histogramdd(points, bins=[10, 10], weight=weights).hist,
    )
