"""Which calls run an operation of the catalogue: receivers, conditions, versions, the program's own flag."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint import check
from torchrepro_lint.kernels.verdicts import OperationVerdict, verdicts

HEAD = """
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
"""


def judged(folder: Path, text: str, torch: str | None = None, **files: str) -> list[OperationVerdict]:
    others = {f"{name}.py": HEAD + textwrap.dedent(body) for name, body in files.items()}
    project = SmallProject(folder, {"train.py": HEAD + textwrap.dedent(text), **others})
    project.program.project.torch_version = torch
    return list(verdicts(project.module(), project.program))


def outcome(found: list[OperationVerdict]) -> list[tuple[str, str]]:
    return [(v.operation.id, v.behaviour.flag) for v in found]


ONE_FILE = """
class Net(nn.Module):
    def __init__(self):
        self.up = nn.Upsample(scale_factor=2, mode="bilinear")
        self.volume = nn.Upsample(scale_factor=2, mode="trilinear")
        self.edge = nn.ReflectionPad2d(1)
        self.copy = nn.ReplicationPad1d(1)
        self.pool = nn.MaxPool3d(3, stride=1)

    def forward(self, x: torch.Tensor, index, values: torch.Tensor):
        total = torch.cumsum(torch.rand(8, device=x.device), 0)
        middle = x.kthvalue(3)
        return x.scatter_add(0, index, values), total, middle
"""
AT_VERSION = {
    "2.0": "raises raises raises raises raises raises raises switches",
    "2.4": "switches raises raises switches raises raises raises switches",
    "2.9": "switches switches switches switches raises switches raises switches",
    "2.13": "switches switches switches switches switches switches deterministic switches",
}


@pytest.mark.parametrize("version", AT_VERSION)
def test_the_version_decides(tmp_path: Path, version: str) -> None:
    rows = ["interpolate-bilinear", "interpolate-trilinear", "reflection-pad2d-module", "replication-pad1d-module",
            "max-pool3d", "cumsum", "kthvalue", "scatter-add"]  # fmt: skip
    found = outcome(judged(tmp_path, ONE_FILE, version))
    assert found == list(zip(rows, AT_VERSION[version].split(), strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "x = np.median(x, axis=0)",
        "x = np.bincount(x, weights=w)",
        "x = frame.median(dim=0)",
        "queue.put(1)",
        "queue.take(1)",
        "x = asyncio.gather(x)",
        "x = series.cumsum(0)",
        "x = self.scatter_add(0, i, v)",
    ],
)
def test_other_things_of_the_same_name(tmp_path: Path, text: str) -> None:
    method = "    def scatter_add(self, *values):\n        return values\n"
    assert judged(tmp_path, f"class Net(nn.Module):\n    def forward(self, x):\n        {text}\n\n{method}") == []


@pytest.mark.parametrize(
    ("call", "operation"),
    [
        ("F.interpolate(x, mode='bilinear')", "interpolate-bilinear"),
        ("F.interpolate(x, 8, None, 'bicubic')", "interpolate-bicubic"),
        ("F.interpolate(x, mode=MODE)", "interpolate-linear"),
        ("F.interpolate(x, **OPTIONS)", "interpolate-trilinear"),
        ("F.interpolate(x, mode='bilinear', antialias=True)", "interpolate-bilinear-antialias"),
        ("F.interpolate(x, mode='area')", "interpolate-area"),
        ("F.interpolate(x)", None),
        ("F.interpolate(x, mode='nearest-exact')", None),
        ("F.interpolate(x, **unknown)", None),
        ("F.pad(x, (1, 1), mode='reflect')", "reflection-pad1d"),
        ("F.pad(x, [1] * 4, 'reflect')", "reflection-pad2d"),
        ("F.pad(x, (1, 1, 1, 1, 1, 1), mode='reflect')", "reflection-pad3d"),
        ("F.pad(x, (p,) * 2, mode='reflect')", "reflection-pad1d"),
        ("F.pad(x, p, mode='reflect')", "reflection-pad2d"),
        ("F.pad(x, (1, 1), mode='replicate')", "replication-pad"),
        ("F.pad(x, (1, 1))", None),
        ("F.adaptive_avg_pool2d(x, 7)", "adaptive-avg-pool2d"),
        ("F.adaptive_avg_pool2d(x, (1, None))", "adaptive-avg-pool2d"),
        ("F.adaptive_avg_pool2d(x, (1, 1))", None),
        ("F.adaptive_avg_pool2d(x, output_size=1)", None),
        ("F.grid_sample(x, g)", "grid-sample-2d"),
        ("F.grid_sample(x, g, padding_mode='border', align_corners=True)", "grid-sample-2d"),
        ("F.grid_sample(x, g, align_corners=True)", "grid-sample-cudnn"),
        ("torch.bincount(i, weights=w)", "bincount"),
        ("torch.bincount(i, None)", "bincount-unweighted"),
        ("torch.median(x, dim=1)", "median"),
        ("torch.median(x)", None),
        ("x.scatter_(0, i, 1.0)", None),
        ("x.scatter_(0, i, w, reduce='add')", "scatter-add-kwarg"),
        ("x.scatter_reduce_(0, i, w, reduce='prod')", "scatter-reduce-prod"),
        ("x.scatter_reduce_(0, i, w, reduce=f'a{kind}')", None),
        ("torch.cumsum(x, 1)", None),
        ("torch.cumsum(i.long().flatten(), 0)", None),
        ("torch.cumsum(torch.rand(8, device=x.device), 0)", "cumsum"),
        ("torch.cumsum(torch.rand(8).to(x), 0)", "cumsum"),
        ("torch.cumsum(1 - torch.rand(8), 0)", None),
        ("F.cross_entropy(x.permute(0, 2, 1), t)", "nll-loss2d"),
        ("F.cross_entropy(x.permute(0, 2, 1), t, reduction='none')", None),
        ("F.cross_entropy(x.view(-1, 8), t)", None),
        ("F.cross_entropy(x, t)", None),
        ("F.cross_entropy(x, t, ignore_index=255)", "nll-loss2d"),
        ("F.cross_entropy(x.permute(0, 2, 1), F.softmax(t, 1))", None),
        ("F.embedding_bag(i, x, mode='max')", "embedding-bag-max"),
        ("F.embedding_bag(i, x)", None),
        ("F.scaled_dot_product_attention(x, x, x)", "sdpa"),
        ("F.embedding(i, x)", None),
        ("torch.gather(x, 1, i)", None),
        ("torch.einsum('ij,jk', x, x)", None),
        ("F.conv2d(x, w)", None),
    ],
)
def test_the_arguments_decide(tmp_path: Path, call: str, operation: str | None) -> None:
    text = f"""
        MODE = "linear"
        OPTIONS = {{"size": 8, "mode": "trilinear"}}

        class Net(nn.Module):
            def forward(self, x: torch.Tensor, i, w: torch.Tensor, g, t, p, kind, unknown):
                return {call}
    """
    assert [v.operation.id for v in judged(tmp_path, text)] == ([operation] if operation else [])


def test_results_that_do_not_vary_although_they_alert(tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        """
        class Net(nn.Module):
            def __init__(self, size):
                self.apart = nn.AvgPool3d(2)
                self.same = nn.AvgPool3d(size, stride=size)
                self.over = nn.AvgPool3d(3, 2)
                self.peak = nn.AdaptiveMaxPool2d(1)

            def forward(self, x: torch.Tensor, index):
                x = x.scatter_add(0, index, torch.ones(8))
                return torch.histc(x)
        """,
    )
    assert [(v.operation.id, v.exact) for v in found] == [
        ("avg-pool3d", True), ("avg-pool3d", True), ("avg-pool3d", False), ("adaptive-max-pool2d", True),
        ("scatter-add", True), ("histc", True),
    ]  # fmt: skip


def test_callers_decide_and_are_shown(tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        "def resize(x, mode='nearest'):\n    return F.interpolate(x, scale_factor=2, mode=mode)",
        model="""
        from train import resize

        class Net(nn.Module):
            def forward(self, x):
                return resize(resize(x), mode="bilinear")
        """,
    )
    assert [(v.operation.id, v.depends) for v in found] == [
        ("interpolate-bilinear", ("the program runs on CUDA", '`mode` is "bilinear"'))
    ]
    witness = found[0].related[0]
    assert witness.scope.facts.text(witness.node) == 'resize(resize(x), mode="bilinear")'


@pytest.mark.parametrize("member", ["Mode.NEAREST", "Mode.NEAREST.value", "Mode.LINEAR", "Mode.LINEAR.value"])
def test_a_default_may_be_a_member_of_an_enumeration(tmp_path: Path, member: str) -> None:
    found = judged(
        tmp_path,
        f"""
        from enum import Enum

        class Mode(str, Enum):
            NEAREST = "nearest"
            LINEAR = "bilinear"

        class Up(nn.Module):
            def __init__(self, mode: str = {member}):
                self.up = nn.Upsample(scale_factor=2, mode=mode)
        """,
    )
    assert bool(found) == ("LINEAR" in member)


@pytest.mark.parametrize(
    ("sizes", "size", "wanted"),
    [
        ("sizes=(1, 2, 3, 6)", "size", [("the program runs on CUDA",)]),
        ("sizes=(1, 2, 3, 6)", "(size, size)", [("the program runs on CUDA",)]),
        ("sizes=(1, 2, 3, 6)", "(size, width)", [("the program runs on CUDA", "`output_size` is other than 1")]),
        ("sizes=(1,)", "size", []),
        ("sizes=(1,)", "(size, size)", []),
        ("sizes", "size", [("the program runs on CUDA", "`output_size` is other than 1")]),
    ],
)
def test_a_loop_passes_one_value_after_the_other(
    tmp_path: Path, sizes: str, size: str, wanted: list[tuple[str, ...]]
) -> None:
    text = f"""
        class Pyramid(nn.Module):
            def __init__(self, width, {sizes}):
                self.levels = nn.ModuleList([nn.AdaptiveAvgPool2d({size}) for size in sizes])
        """
    assert [v.depends for v in judged(tmp_path, text)] == wanted


@pytest.mark.parametrize(
    ("resized", "clause"),
    [("x", ("`input` requires a gradient",)), ("model(x)", ("`input` requires a gradient",)), ("net(x)", ())],
)
def test_what_is_resized_beside_the_backward_pass_may_be_a_batch(
    tmp_path: Path, resized: str, clause: tuple[str, ...]
) -> None:
    text = f"""
        net = nn.Conv2d(3, 3, 1)

        def train(model, x):
            out = F.interpolate({resized}, size=8, mode="bilinear")
            model(out).mean().backward()
        """
    assert [v.depends for v in judged(tmp_path, text)] == [("the program runs on CUDA", *clause)]


FROZEN = """
class Distance(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        {frozen}

    def forward(self, x, y):
        x = F.interpolate(x, size=64, mode="bilinear")
        return (self.net(x) - self.net(y)).abs()
"""


@pytest.mark.parametrize(
    ("frozen", "used", "clause"),
    [
        ("self.requires_grad_(False)", "", ("`input` requires a gradient",)),
        ("[p.requires_grad_(False) for p in net.parameters()]", "", ()),
        ("for p in self.parameters(): p.requires_grad = False", "", ("`input` requires a gradient",)),
        ("for p in self.parameters(): p.requires_grad = True", "", ()),
        ("self.requires_grad_(False)", "def loss(a, b):\n    measure = Distance(a.net)\n    return measure(a, b)", ()),
    ],
)
def test_a_frozen_module_passes_on_what_it_is_given(
    tmp_path: Path, frozen: str, used: str, clause: tuple[str, ...]
) -> None:
    found = judged(tmp_path, FROZEN.format(frozen=frozen) + used)
    assert [v.depends for v in found] == [("the program runs on CUDA", *clause)]


def test_callers_that_only_evaluate_do_not_count(tmp_path: Path) -> None:
    caller = "from train import resize\n\ndef predict(x):\n    return resize(x, mode='bilinear')"
    text = "def resize(x, mode='nearest'):\n    return F.interpolate(x, scale_factor=2, mode=mode)"
    assert judged(tmp_path, text, runner=caller) == []


def test_a_module_is_judged_by_its_calls(tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        """
        class Net(nn.Module):
            def __init__(self):
                self.conv = nn.Conv2d(3, 2, 1)
                self.dense = nn.CrossEntropyLoss()
                self.flat = nn.CrossEntropyLoss()
                self.fused = nn.MultiheadAttention(8, 2)
                self.plain = nn.MultiheadAttention(8, 2)

            def forward(self, x, y):
                self.fused(x, x, x, need_weights=False)
                self.plain(x, x, x)
                return self.dense(self.conv(x), y) + self.flat(x.view(-1, 2), y)
        """,
    )
    assert [(v.operation.id, v.call.node.lineno) for v in found] == [("nll-loss2d", 10), ("attention-module", 12)]


@pytest.mark.parametrize(
    ("flag", "wanted"),
    [
        ("torch.use_deterministic_algorithms(True)", "strict"),
        ("torch.use_deterministic_algorithms(True, warn_only=True)", "lenient"),
        ("torch.use_deterministic_algorithms(False)", None),
        ("torch.set_deterministic_debug_mode('error')", "strict"),
        ("torch.set_deterministic_debug_mode(1)", "lenient"),
        ("if args.exact:\n    torch.use_deterministic_algorithms(True)", None),
        ("def never():\n    torch.use_deterministic_algorithms(True)", None),
        ("def now(exact=True):\n    if exact:\n        torch.use_deterministic_algorithms(True)\n\nnow()", "strict"),
        ("from pytorch_lightning import Trainer\ntrainer = Trainer(deterministic=True)", "strict"),
        ("from pytorch_lightning import Trainer\ntrainer = Trainer(deterministic='warn')", "lenient"),
        ("from transformers import enable_full_determinism\nenable_full_determinism(0)", "strict"),
    ],
)
def test_what_the_program_asks_for(tmp_path: Path, flag: str, wanted: str | None) -> None:
    model = "from setup_run import go\n\nup = nn.Upsample(mode='bilinear')"
    project = SmallProject(tmp_path, {"train.py": HEAD + model, "setup_run.py": HEAD + flag + "\n"})
    assert [v.flag for v in verdicts(project.module(), project.program)] == [wanted]


def judged_in(folder: Path, name: str, train: str, body: str) -> list[tuple[str, str]]:
    """What is judged in the file `name`, which train.py uses."""
    files = {"train.py": HEAD + textwrap.dedent(train), f"{name}.py": HEAD + textwrap.dedent(body)}
    project = SmallProject(folder, files)
    return outcome(list(verdicts(project.module(f"{name}.py"), project.program)))


def test_a_trainer_picked_from_a_dict_has_the_model_that_it_is_given(tmp_path: Path) -> None:
    text = """
    from trainer import train_organs, train_cells

    class Head(nn.Sequential):
        def __init__(self, width, classes):
            conv = nn.Conv2d(width, classes, kernel_size=3)
            up = nn.UpsamplingNearest2d(scale_factor=2)
            super().__init__(conv, up)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Conv2d(3, 8, 3)
            self.head = Head(8, 4)

        def forward(self, x):
            return self.head(self.body(x))

    def main(args):
        trainers = {"organs": train_organs, "cells": train_cells}
        trainers[args.dataset](args, Net())
    """
    trainer = """
    def train_organs(args, model):
        criterion = nn.CrossEntropyLoss()
        for images, labels in args.loader:
            criterion(model(images), labels).backward()

    def train_cells(args, model):
        pass
    """
    assert judged_in(tmp_path, "trainer", text, trainer) == [("nll-loss2d", "raises")]


SCATTERED = """
class Sum(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, index):
        x = self.linear(x)
        total = torch.zeros(9, 4, device=x.device)
        {write}
        return total.index_select(0, index)
"""


@pytest.mark.parametrize(
    ("write", "wanted"),
    [
        ("total.scatter_add_(0, index, x)", ["scatter-add", "index-select"]),
        ("total.index_add_(0, index, x)", ["index-add", "index-select"]),
        ("total.index_copy_(0, torch.arange(9), x)", ["index-select"]),
        ("total = total.scatter_add(0, index, x)", ["scatter-add", "index-select"]),
        ("total[:4] = x", ["index-select"]),
        ("total += x", ["index-select"]),
        ("total.scatter_(0, index, 1.0)", []),
        ("total[index] = 1", []),
        ("total.copy_(x.detach())", []),
        ("pass", []),
    ],
)
def test_a_buffer_that_a_gradient_is_written_into_has_one(tmp_path: Path, write: str, wanted: list[str]) -> None:
    assert [v.operation.id for v in judged(tmp_path, SCATTERED.format(write=write))] == wanted


def test_a_name_that_sounds_like_data_does_not_stop_a_gradient_that_is_seen(tmp_path: Path) -> None:
    text = """
    from augment import augment

    def train(generator, discriminator, real, optimizer):
        generator = nn.Sequential(nn.Linear(8, 8), nn.Conv2d(3, 3, 3))
        fake = augment(generator(torch.randn(4, 8)))
        discriminator(fake).mean().backward()
        discriminator(augment(real)).mean().backward()
    """
    augment = """
    def pad(image):
        return F.pad(image, (1, 1, 1, 1), mode="reflect")

    def augment(image):
        return pad(image)
    """
    assert judged_in(tmp_path, "augment", text, augment) == [("reflection-pad2d", "switches")]


AUGMENTED = """
class Shift(nn.Module):
    def __init__(self, pad):
        super().__init__()
        self.pad = pad

    def forward(self, x):
        return F.pad(x, (self.pad,) * 4, mode="replicate")

def to_torch(arrays, device):
    return tuple(torch.as_tensor(array, device=device) for array in arrays)

class Agent:
    def __init__(self):
        self.shift = Shift(4).to("cuda")
        self.encoder = nn.Conv2d(3, 8, 3)

    def update(self, replay):
        images, actions = to_torch(next(replay), "cuda")
        loss = self.encoder({shifted}).mean()
        loss.backward()
"""


@pytest.mark.parametrize(
    ("shifted", "wanted"),
    [
        ("self.shift(images.float())", []),
        ("self.shift(self.encoder(images.float()))", ["replication-pad"]),
        ("self.shift(self.unknown(images))", ["replication-pad"]),
        ("nn.Sequential(self.shift, self.encoder)(images)", ["replication-pad"]),
    ],
)
def test_what_augments_raw_observations_has_no_gradient(tmp_path: Path, shifted: str, wanted: list[str]) -> None:
    found = judged(tmp_path, AUGMENTED.replace("{shifted}", shifted))
    assert [v.operation.id for v in found] == wanted


PADDED = """
class Replay:
    def __init__(self):
        self.frames = np.empty((9, 3, 84, 84))
        self.pad = {pad}

    def sample(self):
        return self.pad(torch.as_tensor(self.frames, device="cuda").float())

class Agent:
    def update(self, replay: Replay):
        self.encoder(replay.sample()).mean().backward()
"""


@pytest.mark.parametrize(
    ("pad", "wanted"),
    [
        ("nn.ReplicationPad2d(4)", []),
        ("nn.Sequential(nn.ReplicationPad2d(4), nn.Conv2d(3, 8, 3))", []),
        ("nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReplicationPad2d(4))", ["replication-pad2d-module"]),
    ],
)
def test_a_module_whose_input_has_no_gradient(tmp_path: Path, pad: str, wanted: list[str]) -> None:
    found = judged(tmp_path, PADDED.replace("{pad}", pad))
    assert [v.operation.id for v in found] == wanted


SCORED = """
class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        return self.first(F.interpolate(x, size=(299, 299), mode="bilinear"))

def activations(images, model):
    for batch in images:
        {with_}
            yield model(batch)

def distance(images):
    model = Features().to("cuda")
    model.eval()
    model = nn.DataParallel(model)
    return torch.stack(list(activations(images, model)))
"""


@pytest.mark.parametrize(("with_", "wanted"), [("with torch.no_grad():", 0), ("if True:", 1)])
def test_a_module_that_is_only_called_without_gradients(tmp_path: Path, with_: str, wanted: int) -> None:
    assert len(judged(tmp_path, SCORED.replace("{with_}", with_))) == wanted


def test_a_module_that_only_tests_make_is_made_for_others(tmp_path: Path) -> None:
    layers, _, tried = SCORED.replace("{with_}", "with torch.no_grad():").partition("def activations")
    files = {
        "layers.py": HEAD + layers,
        "tests/test_layers.py": f"{HEAD}\nfrom layers import Features\ndef activations{tried}",
    }
    project = SmallProject(tmp_path, files)
    assert len(list(verdicts(project.module("layers.py"), project.program))) == 1


def test_a_module_that_others_derive_from_may_be_called_elsewhere(tmp_path: Path) -> None:
    text = SCORED.replace("{with_}", "with torch.no_grad():") + "\nclass More(Features):\n    pass\n"
    assert len(judged(tmp_path, text)) == 1


def test_an_operation_that_an_autograd_function_calls_by_its_own_name(tmp_path: Path) -> None:
    text = """
    class Sample(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, grid):
            ctx.save_for_backward(x, grid)
            return F.grid_sample(x, grid, align_corners=False)

        @staticmethod
        def backward(ctx, gradient):
            x, grid = ctx.saved_tensors
            operation = torch._C._jit_get_operation("aten::grid_sampler_2d_backward")
            torch._C._jit_get_operation("aten::relu")
            operation(gradient, x, grid, 0, 0, False)
            torch.ops.aten.grid_sampler_2d_backward(gradient, x, grid, 0, 0, False, (True, True))
            return torch.ops.aten.replication_pad2d_backward(gradient, x, (1, 1, 1, 1)), None
    """
    assert outcome(judged(tmp_path, text)) == [
        ("grid-sampler-backward", "raises"), ("grid-sampler-backward", "raises"), ("replication-pad-backward", "raises")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("8, 8, 3, padding=1, padding_mode='reflect'", [("conv2d-reflect", "switches")]),
        ("8, 8, 3, padding=1, padding_mode='replicate'", [("conv-replicate", "switches")]),
        ("8, 8, 3, padding=1, padding_mode='circular'", []),
        ("8, 8, 3, padding=1", []),
    ],
)
def test_a_convolution_that_pads_with_copies(tmp_path: Path, arguments: str, wanted: list[tuple[str, str]]) -> None:
    text = f"layer = nn.Conv2d({arguments})\nprint(layer(x).padding_mode)\nlayer(x.cuda()).sum().backward()\n"
    assert outcome(judged(tmp_path, text)) == wanted


def test_a_default_that_a_class_of_settings_declares(tmp_path: Path) -> None:
    """The class that is constructed with them stands in another file."""
    text = """
    from dataclasses import dataclass

    from body import Body

    @dataclass
    class Settings:
        mode: str = "bicubic"

    class Net(nn.Module):
        def __init__(self, settings: Settings):
            super().__init__()
            self.body = Body(settings)
    """
    body = """
    class Body(nn.Module):
        def __init__(self, settings):
            super().__init__()
            self.up = nn.Upsample(scale_factor=2, mode=settings.mode)
    """
    assert judged_in(tmp_path, "body", text, body) == [("interpolate-bicubic", "raises")]


def test_a_call_on_which_two_conditions_rest_is_told_once() -> None:
    text = """
net = nn.Conv2d(3, 4, 3).cuda()
criterion = nn.CrossEntropyLoss()
for images, masks in load():
    masks = masks.to("cuda", dtype=torch.long)
    logits = net(images)
    if flat:
        loss = criterion(logits.squeeze(1), masks.float())
    else:
        loss = criterion(logits, masks)
    loss.backward()
"""
    (finding,) = check("train.py", text=HEAD + text, select=["TRP501"], isolated=True).findings
    lines = [item.location.range.start.line for item in finding.related]
    assert len(lines) == len(set(lines)) == 2


GIVEN = """
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Conv2d(3, width, 1)

    def forward(self, x, small):
        return self.body(x + F.interpolate({resized}, size=8, mode="bilinear"))

def save(net):
    torch.save(net.cuda(), "net.pt")
"""
PART = """
class Pair(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.one = {made}

def make(width):
    return Net(width)
"""


@pytest.mark.parametrize(
    ("resized", "made", "clause"),
    [
        ("small", "", ("`input` requires a gradient",)),
        ("small.float().unsqueeze(0)", "", ("`input` requires a gradient",)),
        ("self.body(small)", "", ()),
        ("small", "Net(width)", ()),
        ("small", "make(width)", ()),
    ],
)
def test_what_the_outermost_model_is_given_may_be_data(
    tmp_path: Path, resized: str, made: str, clause: tuple[str, ...]
) -> None:
    made_by = PART.format(made=made) if made else "save(Net(3))"
    assert [v.depends for v in judged(tmp_path, GIVEN.format(resized=resized) + made_by)] == [clause]


@pytest.mark.parametrize(
    ("owner", "clause"), [("", ("`input` requires a gradient",)), ("self.scale = nn.Parameter(torch.ones(1))", ())]
)
def test_what_a_library_is_given_may_be_data(tmp_path: Path, owner: str, clause: tuple[str, ...]) -> None:
    text = f"""
        class Smooth(nn.Module):
            def __init__(self):
                super().__init__()
                {owner}

            def forward(self, x):
                return resized(x.cuda())

        def resized(x):
            return F.interpolate(x.reshape(1, 1, 8, 8), size=8, mode="bilinear")
        """
    assert [v.depends for v in judged(tmp_path, text)] == [clause]


@pytest.mark.parametrize(("name", "wanted"), [("layers", 1), ("image_processing_net", 0), ("processing_image", 0)])
def test_a_file_that_processes_images_prepares_data(tmp_path: Path, name: str, wanted: int) -> None:
    body = """
        def smaller(images, size):
            return [F.interpolate(image, size, mode="bilinear") for image in images]
        """
    train = f"""
        from {name} import smaller

        net = nn.Conv2d(3, 3, 1)
        for images in torch.load("images.pt"):
            net(torch.stack(smaller(images.cuda(), 8))).mean().backward()
        """
    assert len(judged_in(tmp_path, name, train, body)) == wanted
