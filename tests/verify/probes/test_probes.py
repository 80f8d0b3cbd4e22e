"""Every row of the catalogue has a probe, every probe runs on the CPU, and what is known of the CPU shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from torchrepro_lint import catalogue
from torchrepro_lint.cards import rules_dir
from torchrepro_lint.verify.experiment import Experiment, Missing, Unsupported
from torchrepro_lint.verify.given import DTYPE, MEMORY_FORMAT, SHAPE, UNREAD, WRITTEN, Given

torch = pytest.importorskip("torch")

from torchrepro_lint.verify import probes  # noqa: E402
from torchrepro_lint.verify.probes import graphs, loss  # noqa: E402
from torchrepro_lint.verify.probes.registry import PROBES  # noqa: E402
from torchrepro_lint.verify.trial import Trial  # noqa: E402

CPU = torch.device("cpu")
FAMILIES = sorted(path.stem for path in (rules_dir() / "catalogue" / "ops").glob("*.toml"))
ROWS: list[Mapping[str, Any]] = [row for family in FAMILIES for row in catalogue.table(f"ops/{family}")["op"]]
PROBED = [row for row in ROWS if "probe" in row]
NAMES = sorted({row["probe"] for row in PROBED} - {"nccl"})  # whose ranks are there while it runs: test_collectives

NOT_ON_A_CPU = {"sdpa-cudnn", "flex-attention", "inductor-atomics", "max-pool2d-compiled", "triton-atomics"}


def experiments(name: str, arguments: Mapping[str, object] | None = None) -> list[Experiment]:
    probe = probes.find(name)
    assert probe is not None
    return list(probe(CPU, Given(arguments or {})))


class Run:
    """One experiment, run as often as wanted with the same upstream gradients."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.upstream: list[Any] = []

    def once(self) -> list[Any]:
        """Outputs, gradients and inputs."""
        inputs = [self.copy(item) for item in self.experiment.inputs]
        result = self.experiment.operation(*inputs)
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        gradients: Sequence[Any] = ()
        if self.experiment.backward:
            smooth = [output for output in outputs if output.requires_grad]
            self.upstream = self.upstream or [torch.randn_like(output) for output in smooth]
            wanted = [item for item in inputs if isinstance(item, torch.Tensor) and item.requires_grad]
            gradients = torch.autograd.grad(smooth, wanted, self.upstream)
            assert gradients
        return [item.detach() for item in (*outputs, *gradients, *inputs)]

    def outcomes(self, repeats: int, enough: int = 99) -> int:
        """How many different results there are, compared as bytes, counted up to `enough`."""
        seen = set()
        for _ in range(repeats):
            seen.add(tuple(t.numpy().tobytes() for t in self.once()))
            if len(seen) >= enough:
                break
        return len(seen)

    @staticmethod
    def copy(item: object) -> object:
        return item.detach().clone().requires_grad_(item.requires_grad) if isinstance(item, torch.Tensor) else item


@contextmanager
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_the_probe_of_a_row_exists_or_it_says_why_there_is_none(row: Mapping[str, Any]) -> None:
    assert ("probe" in row) != ("unprobed" in row)
    assert "unprobed" in row or probes.find(row["probe"]) is not None


def test_each_probe_belongs_to_a_row() -> None:
    assert probes.find("no such probe") is None
    assert set(PROBES) == {*NAMES, "nccl"}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_it_runs_on_a_cpu(name: str) -> None:
    of_its_own = [row for row in PROBED if row["probe"] == name and not row["id"].endswith("-backward")]
    directions = {row["direction"] for row in of_its_own}  # the others name what runs in the backward pass of these
    try:
        found = experiments(name)
    except Missing as absent:
        pytest.skip(str(absent))
    except Unsupported:
        assert name in NOT_ON_A_CPU
        return
    assert found
    if directions != {"both"}:
        assert {"backward" if e.backward else "forward" for e in found} == directions - {"both"}
    for experiment in found:
        run = Run(experiment)
        for tensor in (*run.once(), *run.once()):
            assert tensor.layout is torch.strided
            if tensor.is_floating_point() and name != "empty":  # where there is what was left in memory
                assert tensor.isfinite().all(), experiment.summary


@pytest.mark.parametrize("name", sorted({row["probe"] for row in PROBED if "cpu" in row.get("alerts", {})}))
def test_what_alerts_on_a_cpu_raises_there(name: str) -> None:
    (alerts,) = [row["alerts"]["cpu"] for row in PROBED if row["probe"] == name and "cpu" in row.get("alerts", {})]
    run = Run(experiments(name, {"accumulate": False})[0])
    run.once()
    with deterministic(), pytest.raises(RuntimeError, match="does not have a deterministic") as raised:
        run.once()
    assert str(raised.value).split(" does not have")[0] in alerts


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("put", {"accumulate": True}), ("take", {}), ("index-put-accumulate", {}), ("empty", {})],
)
def test_what_varies_on_a_cpu(name: str, arguments: Mapping[str, object]) -> None:
    """Sums through an index in several threads; not with the flag."""
    for experiment in experiments(name, arguments):
        run = Run(experiment)
        assert run.outcomes(300, enough=2) > 1, experiment.summary
        with deterministic():
            assert run.outcomes(5) == 1, experiment.summary


@pytest.mark.usefixtures("two_threads")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "name",
    [
        "scatter-add", "index-add", "index-select", "gather", "scatter-reduce-sum", "bincount", "cumsum", "cublas",
        "convolution", "embedding", "embedding-bag-max", "interpolate-bilinear", "grid-sample-2d", "max-pool3d",
        "adaptive-avg-pool2d", "ctc-loss", "nll-loss2d", "sdpa", "sort-ties", "median",
    ],
)  # fmt: skip
def test_what_does_not_vary_on_a_cpu(name: str) -> None:
    for experiment in experiments(name):
        assert Run(experiment).outcomes(5) == 1, experiment.summary


def test_the_inputs_are_the_same_every_time() -> None:
    for name in ("scatter-add", "attention-module", "roi-align"):
        try:
            pairs = zip(experiments(name), experiments(name), strict=True)
        except Missing:
            continue
        for one, other in pairs:
            assert all(torch.equal(a, b) for a, b in zip(one.inputs, other.inputs, strict=True))  # type: ignore[arg-type]


def test_values_differ_and_indices_repeat() -> None:
    """A sum of ones is the same in any order, and nothing is added where no two indices are the same."""
    for name in NAMES:
        try:
            found = experiments(name)
        except (Unsupported, Missing):
            continue
        for experiment in found if name != "empty" else ():
            for tensor in experiment.inputs:
                assert isinstance(tensor, torch.Tensor)
                values = tensor.detach().unique().numel()
                least = 2 if "distinct values" in experiment.summary else 5
                enough = values >= least if tensor.is_floating_point() else values <= tensor.numel() / 2
                assert enough, f"{name}: {experiment.summary}"


def test_no_global_random_number_is_drawn() -> None:
    torch.manual_seed(7)
    before = torch.get_rng_state()
    for name in NAMES:
        try:
            experiments(name)
        except (Unsupported, Missing):
            continue
        assert torch.equal(before, torch.get_rng_state()), name


class Layer(torch.nn.Linear):
    """Stands for a layer of a package, which takes no device and draws its weights."""

    def forward(self, x: Any, edge_index: Any) -> Any:
        return super().forward(x)


def test_the_weights_of_a_packages_layer_are_drawn_like_all_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "imported", lambda package: SimpleNamespace(GCNConv=Layer))
    torch.manual_seed(7)
    before = torch.get_rng_state()
    (experiment,) = experiments("torch-geometric-layer")
    assert torch.equal(before, torch.get_rng_state())
    assert {tensor.device for tensor in Run(experiment).once()} == {CPU}


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_sum_of_the_losses_is_a_number_in_half_precision(reduction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With as many of them as on a GPU."""
    monkeypatch.setattr(loss, "on", lambda device, cpu, gpu: gpu)
    for experiment in experiments("nll-loss2d", {DTYPE: "float16", "reduction": reduction}):
        (outcome, *_) = Run(experiment).once()
        assert outcome.isfinite(), experiment.summary


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("index-add", {"dim": 1}, "along dimension 1"),
        ("index-add", {"dim": -1}, "along dimension -1"),
        ("scatter-add", {"dim": 2}, "along dimension 2"),
        ("put", {"accumulate": True}, "accumulate=True"),
        ("adaptive-avg-pool2d", {"output_size": 5}, "to (5, 5)"),
        ("adaptive-avg-pool1d", {"output_size": [5]}, "to (5,)"),
        ("adaptive-max-pool2d", {"output_size": [3, None]}, "to (3, None)"),
        ("adaptive-avg-pool3d", {"output_size": [2, 3, 4]}, "to (2, 3, 4)"),
        ("avg-pool3d", {"kernel_size": 2}, "kernel (2, 2, 2), stride (2, 2, 2)"),
        ("avg-pool3d", {"kernel_size": 2, "stride": None}, "stride (2, 2, 2)"),
        ("max-pool3d", {"kernel_size": 3, "stride": 2, "padding": 1}, "stride (2, 2, 2), padding (1, 1, 1)"),
        ("max-unpool2d", {"kernel_size": 2}, "kernel (2, 2), stride (2, 2)"),
        ("interpolate-bilinear", {"scale_factor": 3, "align_corners": True}, "align_corners=True"),
        ("interpolate-bilinear", {"size": [40, 50], "mode": "bilinear"}, "size=(40, 50)"),
        ("interpolate-bilinear", {"size": [40, 50]}, ", 20, 25) float32"),
        ("interpolate-bilinear", {"scale_factor": [3, 2]}, "scale_factor=(3.0, 2.0)"),
        ("interpolate-bilinear", {"scale_factor": 1.5, "recompute_scale_factor": True}, "recompute_scale_factor=True"),
        ("interpolate-area", {"size": 7, "mode": "area"}, "size=(7, 7)"),
        ("grid-sample-2d", {"mode": "bicubic", "padding_mode": "border"}, "mode=bicubic, padding_mode=border"),
        ("reflection-pad1d", {"padding": [600, 700]}, "padded by (600, 700)"),
        ("reflection-pad2d", {"padding": 2}, "padded by (2, 2, 2, 2)"),
        ("replication-pad", {"pad": [1, 2], "mode": "replicate"}, "padded by (1, 2)"),
        ("stft-reflect", {"n_fft": 64, "hop_length": 16}, "n_fft=64, hop_length=16"),
        ("nll-loss2d", {"reduction": "sum"}, "reduction=sum"),
        ("ctc-loss", {"blank": 3, "zero_infinity": True}, "reduction=mean"),
        ("kthvalue", {"k": 3}, "k=3"),
        ("median", {"dim": 0}, "dim=0"),
        ("avg-pool3d", {"kernel_size": 3, "count_include_pad": False, "padding": 1}, "count_include_pad=False"),
        ("avg-pool3d", {"norm_type": 3, "kernel_size": 2, "ceil_mode": True}, "norm_type=3.0, kernel (2, 2, 2)"),
        ("max-pool3d", {"kernel_size": 3, "ceil_mode": True}, "ceil_mode=True"),
        ("fractional-max-pool2d", {"kernel_size": 2, "output_size": [9, 17]}, "to (9, 17)"),
        ("embedding", {"padding_idx": 3, "num_embeddings": 5}, "padding_idx=3"),
        ("sdpa", {"scale": 0.5, "dropout_p": 0.1}, "dropout_p=0.1, is_causal=False, scale=0.5"),
        ("histc", {"bins": 7, "min": -2, "max": 2}, "7 bins, min=-2.0, max=2.0"),
        ("bincount", {"minlength": 2000}, "minlength=2000"),
        ("sort-ties", {"k": 7, "largest": False}, "topk, k=7, largest=False"),
        ("index-add", {DTYPE: "bfloat16"}, "bfloat16"),
        ("interpolate-bilinear", {DTYPE: "torch.float64", SHAPE: [1, 3, 9, 10]}, "(1, 3, 9, 10) float64"),
        ("interpolate-bilinear", {MEMORY_FORMAT: "channels_last"}, "float32 channels_last"),
        ("scatter-add", {SHAPE: [60, 3, 4], "dim": 1}, "(60, 3, 4) float32, index (60, 3, 4) into 1 places"),
        ("cumsum", {SHAPE: [4, 500], "dim": 1}, "x (4, 500) float32, dim=1"),
        ("embedding-bag-max", {"mode": "max", "num_embeddings": 20, "embedding_dim": 8}, "weight (20, 8)"),
        ("embedding", {"num_embeddings": 10_000_000, "embedding_dim": 16}, "weight (4000, 16)"),
        ("attention-module", {"embed_dim": 768, "num_heads": 12}, "(2, 64, 256) float32, 4 heads"),
        ("transformer-layer", {"d_model": 64, "nhead": 2}, "2 heads"),
        ("index-reduce", {"reduce": "prod", "include_self": False}, "along dimension 0"),
        ("scatter-reduce-sum", {"reduce": "mean"}, "into 50 places"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_the_site_shows_is_run(name: str, arguments: Mapping[str, object], words: str) -> None:
    found = experiments(name, arguments)
    assert any(words in experiment.summary for experiment in found), [e.summary for e in found]
    for experiment in found:
        Run(experiment).once()


def test_what_a_call_leaves_out_has_pytorchs_default() -> None:
    def accumulates(arguments: Mapping[str, object]) -> list[str]:
        return [experiment.summary.rpartition("=")[2] for experiment in experiments("put", arguments)]

    assert accumulates({}) == ["False", "True"]  # the catalogue's row
    assert accumulates({WRITTEN: True}) == ["False"]
    assert accumulates({WRITTEN: True, "accumulate": True}) == ["True"]
    assert accumulates({WRITTEN: True, UNREAD: ["accumulate"]}) == ["False", "True"]
    assert [e.summary.partition(",")[0] for e in experiments("sort-ties", {WRITTEN: True, "dim": 1})] == ["sort"]


@pytest.mark.parametrize(
    ("name", "arguments", "unread"),
    [
        ("index-add", {"dim": 1, "alpha": 2}, ["alpha"]),
        ("interpolate-bilinear", {"size": [40, 50], "mode": "bilinear", "antialias": False}, []),
        ("cublas", {SHAPE: [3, 4], DTYPE: "float64", MEMORY_FORMAT: "channels_last"}, [MEMORY_FORMAT, SHAPE]),
        ("interpolate-bilinear", {SHAPE: [1, 3, 9, 10], DTYPE: "float64", MEMORY_FORMAT: "channels_last"}, []),
        ("put", {WRITTEN: True, UNREAD: ["accumulate"]}, ["accumulate"]),
    ],
)
def test_what_is_not_followed_is_named(name: str, arguments: Mapping[str, object], unread: list[str]) -> None:
    probe, given = probes.find(name), Given(arguments)
    assert probe is not None
    assert list(probe(CPU, given))
    assert given.unread == unread


def test_half_precision_is_run_by_the_dtype_of_the_call() -> None:
    for name in ("index-add", "interpolate-bicubic", "adaptive-avg-pool2d", "sdpa"):
        for experiment in experiments(name, {DTYPE: "bfloat16"}):
            floats = {t.dtype for t in experiment.inputs if isinstance(t, torch.Tensor) and t.is_floating_point()}
            assert floats == {torch.bfloat16}, experiment.summary
            assert not experiment.optional


def test_an_upstream_gradient_is_no_input() -> None:
    """Two tensors from one generator are equal where their shapes are: dO was Q in every experiment on attention."""
    for name in NAMES:
        try:
            found = experiments(name)
        except (Unsupported, Missing):
            continue
        for experiment in found if name != "empty" else ():
            if experiment.backward:
                drawn = [t for t in Trial.of(experiment, CPU).upstream if t.numel() > 3]
                given = [t.detach() for t in experiment.inputs if isinstance(t, torch.Tensor) and t.is_floating_point()]
                for one in drawn:
                    for other in given:
                        few = min(4, other.numel())
                        assert not torch.equal(one.flatten()[:few], other.flatten()[:few].to(one.dtype)), name


def test_the_layout_of_an_upstream_gradient_is_that_of_the_output() -> None:
    (experiment,) = experiments("interpolate-bilinear", {MEMORY_FORMAT: "channels_last"})
    (upstream,) = Trial.of(experiment, CPU).upstream
    assert upstream.is_contiguous(memory_format=torch.channels_last)
    assert not upstream.is_contiguous()


def test_ties_are_many_where_a_median_is_chosen() -> None:
    for experiment in experiments("median"):
        (x,) = experiment.inputs
        assert isinstance(x, torch.Tensor)
        assert x.unique().numel() == 2


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("index-add", {"dim": "rows"}, "dim='rows'"),
        ("put", {"accumulate": "yes"}, "accumulate='yes'"),
        ("adaptive-avg-pool2d", {"output_size": [1, 2, 3]}, "output_size=[1, 2, 3]"),
        ("adaptive-avg-pool2d", {"output_size": 100_000}, "output_size=100000"),
        ("scatter-reduce-sum", {"reduce": "prod"}, "reduce='prod'"),
        ("interpolate-trilinear", {"size": 10_000}, "too large"),
        ("replication-pad", {"pad": [1] * 8}, "pad="),
        ("attention-module", {"embed_dim": 65, "num_heads": 4}, "no multiple"),
        ("max-pool3d", {"kernel_size": 0}, "kernel_size=0"),
        ("interpolate-bilinear", {SHAPE: [3, 4]}, "takes 4 dimensions"),
        ("index-add", {DTYPE: "int64"}, "inputs of int64"),
        ("interpolate-bilinear", {MEMORY_FORMAT: "rows"}, "inputs in rows"),
        ("interpolate-bilinear", {"mode": "nearest"}, "mode='nearest'"),
        ("interpolate-bilinear", {"scale_factor": [1, 2, 3]}, "scale_factor=[1, 2, 3]"),
        ("index-add", {SHAPE: [3, 4], "dim": 2}, "have no dimension 2"),
    ],
)
def test_what_it_cannot_run_it_refuses(name: str, arguments: Mapping[str, object], value: str) -> None:
    with pytest.raises(Unsupported) as refused:
        experiments(name, arguments)
    assert value in str(refused.value)
