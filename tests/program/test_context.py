"""What runs a piece of code: with gradients or without, training or not."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.kernels.context import NOTHING, Context, context

HEAD = """
import torch
import torchvision
from packaging import version
from pytorch_lightning import LightningModule
from torch import nn
from torch.utils.data import Dataset
"""
NO_GRADIENT = Context(False, None)


def found(folder: Path, text: str, name: str = "train.py", **files: str) -> Context:
    """The context of the only `op(...)` in the file `name`."""
    others = {f"{other}.py": HEAD + textwrap.dedent(body) for other, body in files.items()}
    project = SmallProject(folder, {name: HEAD + textwrap.dedent(text), **others})
    node, scope = project.call("op", name)
    return context(node, scope, project.program)


IDLE = {
    "decorator": ("@torch.no_grad()\ndef f(x):\n    op(x)", NO_GRADIENT),
    "bare decorator": ("@torch.inference_mode\ndef f(x):\n    op(x)", NO_GRADIENT),
    "decorator by name": ("@smart_inference_mode()\ndef f(x):\n    op(x)", NO_GRADIENT),
    "with": ("def f(x):\n    with torch.no_grad():\n        op(x)", NO_GRADIENT),
    "one of several": ("def f(x):\n    with open(x) as y, torch.inference_mode():\n        op(x)", NO_GRADIENT),
    "switch": ("def f(x):\n    with torch.set_grad_enabled(False):\n        op(x)", NO_GRADIENT),
    "inner function": ("@torch.no_grad()\ndef f(x):\n    def g():\n        op(x)\n    g()", NO_GRADIENT),
    "a parameter of its name": (
        "def f(x):\n    op(x)\n\n@torch.no_grad()\ndef g(x):\n    f(x)\n\ndef step(f, x):\n    f(x)",
        NO_GRADIENT,
    ),
    "autograd": ("class F(torch.autograd.Function):\n    def forward(ctx, x):\n        op(x)", NO_GRADIENT),
    "hook": (
        "class M(LightningModule):\n    def validation_step(self, batch):\n        op(batch)",
        Context(False, "evaluation"),
    ),
    "not training": (
        "class M(nn.Module):\n    def forward(self, x):\n        if not self.training:\n            op(x)",
        Context(None, "evaluation"),
    ),
    "else of training": (
        "class M(nn.Module):\n    def forward(self, x):\n        if self.training:\n            y = 1\n"
        "        else:\n            op(x)",
        Context(None, "evaluation"),
    ),
    "after training left": (
        "class M(nn.Module):\n    def forward(self, x):\n        if self.training:\n            return x\n"
        "        op(x)",
        Context(None, "evaluation"),
    ),
    "expression": (
        "class M(nn.Module):\n    def forward(self, x):\n        return x if self.training else op(x)",
        Context(None, "evaluation"),
    ),
    "compared": ("def f(x):\n    return x > op(x)", NO_GRADIENT),
    "callers compare": ("def f(x):\n    return op(x)\n\ndef g(x):\n    return x == f(x)", NO_GRADIENT),
    "index of the largest": ("def f(x):\n    return op(x).flatten(1).argmax(1)", NO_GRADIENT),
    "on the CPU": ("def f(x):\n    if x.ndim == 4 and x.device.type == 'cpu':\n        op(x)", Context(None, "cpu")),
    "not on a GPU": ("def f(x):\n    if x.is_cuda:\n        return x\n    else:\n        op(x)", Context(None, "cpu")),
    "left out of the script": ("@torch.jit.unused\ndef f(x):\n    op(x)", Context(None, "evaluation")),
    "scripted": ("def f(x):\n    if torch.jit.is_scripting():\n        op(x)", Context(None, "evaluation")),
    "deterministic arm": (
        "def f(x):\n    if torch.are_deterministic_algorithms_enabled():\n        op(x)",
        Context(None, "flag"),
    ),
    "function for the CPU": ("def dice_cpu(x):\n    op(x)", Context(None, "cpu")),
    "sampler of a diffusion model": (
        "class EulerScheduler:\n    def step(self, x):\n        op(x)",
        Context(None, "evaluation"),
    ),
    "augmentation": ("def time_warp(x):\n    op(x)", Context(None, "data")),
    "name": ("def evaluate(x):\n    op(x)", Context(None, "evaluation")),
    "post-processing": ("def post_process(x):\n    op(x)", Context(None, "evaluation")),
    "data": ("class Photos(Dataset):\n    def __getitem__(self, i):\n        op(i)", Context(None, "data")),
    "transform": ("class RandomWarpTransform:\n    def apply(self, x):\n        op(x)", Context(None, "data")),
    "loading": ("def load_weights(x):\n    op(x)", Context(None, "loading")),
    "loaded": ("def resize(checkpoint):\n    op(checkpoint)", Context(None, "loading")),
    "import": ("op(1)", Context(None, "import")),
    "older release": (
        "def f(x):\n    if version.parse(torchvision.__version__) < version.parse('0.7'):\n        op(x)",
        Context(None, "old"),
    ),
    "caller": ("def f(x):\n    op(x)\n\n@torch.no_grad()\ndef g(x):\n    f(x)", NO_GRADIENT),
    "caller's caller": (
        "def f(x):\n    op(x)\n\ndef g(x):\n    f(x)\n\ndef predict(x):\n    g(x)",
        Context(None, "evaluation"),
    ),
    "static method": (
        "class M(nn.Module):\n    @staticmethod\n    def resize(x):\n        op(x)\n\n"
        "    def _load_from_state_dict(self, x):\n        self.resize(x)",
        Context(None, "loading"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), IDLE.values(), ids=IDLE.keys())
def test_code_that_no_training_runs(tmp_path: Path, text: str, wanted: Context) -> None:
    assert found(tmp_path, text) == wanted
    assert wanted.idle


BUSY = {
    "forward": "class M(nn.Module):\n    def forward(self, x):\n        op(x)",
    "function": "def f(x):\n    op(x)",
    "gradients on": "def f(x):\n    with torch.set_grad_enabled(True):\n        op(x)",
    "not known": "def f(x, on):\n    with torch.set_grad_enabled(on):\n        op(x)",
    "training": "class M(nn.Module):\n    def forward(self, x):\n        if self.training:\n            op(x)",
    "either": (
        "class M(nn.Module):\n    def forward(self, x):\n        if self.training and x:\n            return x\n"
        "        op(x)"
    ),
    "test that trains": "def test_time_training(x):\n    op(x).backward()",
    "script": "for x in range(3):\n    op(x).backward()",
    "one caller trains": "def f(x):\n    op(x)\n\n@torch.no_grad()\ndef g(x):\n    f(x)\n\ndef step(x):\n    f(x)",
    "newer release": (
        "def f(x):\n    if version.parse(torchvision.__version__) >= version.parse('0.7'):\n        op(x)"
    ),
    "neural transform": "class AffineTransform(nn.Module):\n    def forward(self, x):\n        op(x)",
    "not scripted": "def f(x):\n    if not torch.jit.is_scripting():\n        op(x)",
    "on a GPU": "def f(x):\n    if x.device.type != 'cpu':\n        op(x)",
    "other arm": (
        "def f(x):\n    if torch.are_deterministic_algorithms_enabled():\n        y = 1\n    else:\n        op(x)"
    ),
    "attribute": "def f(x):\n    return op(x).argmax",
    "recursion": "def f(x):\n    op(x)\n    f(x)",
}


@pytest.mark.parametrize("text", BUSY.values(), ids=BUSY.keys())
def test_code_that_training_may_run(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, text) == NOTHING


def test_a_caller_in_another_file(tmp_path: Path) -> None:
    caller = "from train import f\n\ndef validate(x):\n    f(x)"
    assert found(tmp_path, "def f(x):\n    op(x)", runner=caller) == Context(None, "evaluation")


@pytest.mark.parametrize(
    ("name", "idle"),
    [
        ("tests/helpers.py", True),
        ("test_model.py", True),
        ("evaluate.py", True),
        ("lib/metrics/score.py", True),
        ("lib/pipelines/text.py", True),
        ("image_processing_detr.py", True),
        ("model.py", False),
        ("testing_grounds/model.py", False),
        ("evaluation_free.py", True),
    ],
)
def test_files_by_their_names(tmp_path: Path, name: str, idle: bool) -> None:
    assert found(tmp_path, "class M(nn.Module):\n    def forward(self, x):\n        op(x)", name).idle is idle


def test_an_evaluation_script_that_trains_is_none(tmp_path: Path) -> None:
    text = "def probe(x):\n    op(x)\n    loss.backward()"
    assert found(tmp_path, text, "eval_linear.py") == NOTHING


CALLER = "import torch\nfrom train import f\n\n@torch.no_grad()\ndef g(x):\n    f(x)\n"


def test_a_file_that_has_changed_is_asked_again(tmp_path: Path) -> None:
    project = SmallProject(tmp_path, {"train.py": "def f(x):\n    op(x)\n", "runner.py": CALLER})
    assert context(*project.call("op"), project.program) == NO_GRADIENT
    project.change("runner.py", CALLER.replace("@torch.no_grad()\n", ""))
    assert context(*project.call("op"), project.program) == NOTHING
    project.change("runner.py", CALLER)
    assert context(*project.call("op"), project.program) == NO_GRADIENT


def test_a_test_that_has_changed_is_read_again(tmp_path: Path) -> None:
    text = "class M:\n    def forward(self, x):\n        if not self.training:\n            return x\n        op(x)\n"
    project = SmallProject(tmp_path, {"train.py": text})
    assert context(*project.call("op"), project.program) == NOTHING
    project.change("train.py", text.replace("not self.training", "self.training"))
    assert context(*project.call("op"), project.program) == Context(None, "evaluation")


def test_what_a_name_decides_is_counted(tmp_path: Path) -> None:
    text = """
        import torch

        def evaluate(x):
            op(x)

        @torch.no_grad()
        def predict(x):
            other(x)

        def step(x):
            third(x)
    """
    project = SmallProject(tmp_path, {"train.py": text})
    for callee in ("op", "op", "other", "third"):
        context(*project.call(callee), project.program)
    assert project.program.store.names == {
        "what a function is for": {("train.py", "evaluate", "evaluation"), ("train.py", "predict", "evaluation")}
    }
