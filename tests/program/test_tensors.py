"""What is known of the value of an expression: tensor or not, dimensions, floats, gradient."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.kernels.tensors import Tensors
from torchrepro_lint.kernels.traits import Traits

HEAD = """
import numpy as np
import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn
"""


def traits(folder: Path, text: str, **files: str) -> Traits:
    """What is known of the argument of the only `show(...)` in train.py."""
    others = {f"{name}.py": HEAD + textwrap.dedent(body) for name, body in files.items()}
    project = SmallProject(folder, {"train.py": HEAD + textwrap.dedent(text), **others})
    call, scope = project.call("show")
    assert isinstance(call.args[0], ast.expr)
    return Tensors(project.program).traits(call.args[0], scope)


@pytest.mark.parametrize(
    ("expression", "tensor"),
    [
        ("torch.zeros(3)", True),
        ("torch.arange(4) + 1", True),
        ("F.one_hot(torch.arange(3))", True),
        ("nn.Linear(2, 2)(torch.zeros(1, 2))", True),
        ("nn.Linear(2, 2)", False),
        ("np.zeros(3)", False),
        ("np.median(torch.zeros(3))", False),
        ("[1, 2]", False),
        ("'text'", False),
        ("len(torch.zeros(3))", False),
        ("torch.zeros(3).numpy()", False),
        ("torch.zeros(3).shape", False),
        ("anything", None),
        ("anything.median()", None),
        ("anything.permute(0, 2, 1)", True),
        ("torch.cumsum(anything, 0)", True),
        ("torch.copy_of(anything)", None),
        ("f'{torch.zeros(3)}'", False),
        ("torch.zeros", False),
        ("torch.zeros(3) if anything else 1", None),
    ],
)
def test_what_is_a_tensor(tmp_path: Path, expression: str, tensor: bool | None) -> None:
    assert traits(tmp_path, f"show({expression})").tensor is tensor


@pytest.mark.parametrize(
    ("expression", "floating"),
    [
        ("torch.arange(4)", False),
        ("torch.arange(0.5, 3)", True),
        ("torch.arange(4, dtype=kind)", None),
        ("torch.arange(4, dtype=torch.long)", False),
        ("torch.linspace(0, 1, 5)", True),
        ("torch.zeros(4, dtype=torch.long)", False),
        ("torch.zeros(4)", True),
        ("torch.zeros_like(anything)", None),
        ("torch.tensor(anything)", None),
        ("torch.zeros(4).long()", False),
        ("torch.arange(4).float()", True),
    ],
)
def test_which_tensors_hold_floats(tmp_path: Path, expression: str, floating: bool | None) -> None:
    assert traits(tmp_path, f"show({expression})").floating is floating


@pytest.mark.parametrize(
    ("text", "tensor", "floating", "unique"),
    [
        ("x, places = torch.ones(3, 4).max(1)", True, False, None),
        ("x, places = torch.ones(3, 4).topk(2)", True, False, True),
        ("x, places = torch.ones(3, 4).sort()", True, False, True),
        ("places, x = torch.ones(3, 4).sort()", True, None, None),
        ("places, x = torch.where(anything)", True, False, True),
        ("places, x = anything.nonzero()", True, False, True),
        ("places, x = torch.ones(3, 4).shape", False, None, None),
        ("places, x = torch.ones(3, 4).size()", False, None, None),
        ("places, x = torch.ones(3, 4), 7", True, True, None),
        ("x, places = torch.ones(3, 4), 7", False, None, None),
        ("places, x = anything", None, None, None),
    ],
)
def test_what_is_unpacked(
    tmp_path: Path, text: str, tensor: bool | None, floating: bool | None, unique: bool | None
) -> None:
    found = traits(tmp_path, f"{text}\nshow(places)")
    assert (found.tensor, found.unique) == (tensor, unique)
    assert not tensor or found.floating is floating


@pytest.mark.parametrize(
    ("expression", "rank"),
    [
        ("torch.zeros(2, 3)", 2),
        ("torch.zeros((2, 3, 4))", 3),
        ("torch.zeros(size=(2, 3))", 2),
        ("torch.zeros(*sizes)", None),
        ("torch.arange(9).view(3, 3)", 2),
        ("torch.arange(9).view(shape)", None),
        ("x.view(-1, 10)", 2),
        ("x.view(n, -1)", 2),
        ("x.view(-1)", 1),
        ("torch.zeros(2, 3).T", 2),
        ("x.reshape([1, 2, 3])", 3),
        ("x.permute(0, 3, 1, 2)", 4),
        ("x.permute(0, 3, 1, 2).flatten(2)", None),
        ("x.flatten()", 1),
        ("torch.zeros(2, 3).unsqueeze(0)", 3),
        ("torch.zeros(2, 3)[:, None]", 3),
        ("torch.zeros(2, 3)[0]", 1),
        ("torch.zeros(2, 3)[..., 0]", 1),
        ("torch.zeros(2, 3).sum(1)", 1),
        ("torch.zeros(2, 3).sum(1, keepdim=True)", 2),
        ("torch.zeros(2, 3).mean()", 0),
        ("torch.zeros(2, 3) + torch.zeros(3)", 2),
        ("torch.zeros(2, 3) * 2.0", 2),
        ("torch.stack([torch.zeros(3), torch.zeros(3)])", 2),
        ("torch.cat([torch.zeros(3), torch.zeros(3)])", 1),
        ("nn.Conv2d(3, 8, 3)(x)", 4),
        ("nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())(x)", 4),
        ("nn.Sequential(*layers)(x)", None),
        ("nn.Embedding(9, 4)(torch.zeros(2, 5).long())", 3),
        ("F.interpolate(x, mode='trilinear')", 5),
        ("rearrange(x, 'b c h w -> b (h w) c')", 3),
    ],
)
def test_the_number_of_dimensions(tmp_path: Path, expression: str, rank: int | None) -> None:
    assert traits(tmp_path, f"show({expression})").rank == rank


@pytest.mark.parametrize(
    ("expression", "least"), [("x.transpose(1, 2)", 3), ("x.softmax(dim=-1)", 1), ("F.log_softmax(x, dim=1)", 2)]
)
def test_dimensions_that_must_be_there(tmp_path: Path, expression: str, least: int) -> None:
    assert traits(tmp_path, f"def f(x: torch.Tensor):\n    show({expression})").least == least


@pytest.mark.parametrize(
    ("expression", "gradient"),
    [
        ("nn.Parameter(torch.zeros(3))", True),
        ("nn.Parameter(torch.zeros(3), requires_grad=False)", False),
        ("nn.Parameter(torch.zeros(3), False)", False),
        ("nn.Parameter(torch.zeros(3), requires_grad=wanted)", True),
        ("nn.Linear(2, 2)(x)", True),
        ("nn.Linear(2, 2)(x).detach()", False),
        ("nn.Linear(2, 2)(x).argmax(1)", False),
        ("nn.Linear(2, 2)(x) * 2", True),
        ("nn.Linear(2, 2)(x).data", False),
        ("torch.zeros(3)", False),
        ("torch.zeros(3, requires_grad=True)", True),
        ("torch.zeros(3, requires_grad=wanted)", None),
        ("torch.zeros(3).requires_grad_()", True),
        ("torch.zeros(3).requires_grad_(False)", False),
        ("nn.Linear(2, 2)(x).detach().requires_grad_(wanted)", None),
        ("torch.autograd.Variable(torch.zeros(3))", False),
        ("torch.autograd.Variable(torch.zeros(3), requires_grad=True)", True),
        ("torch.load('model.pt')['weight']", False),
        ("nn.Linear(2, 2).state_dict()['weight']", False),
        ("torch.Tensor(values)", False),
        ("x > 3", False),
        ("batch['image']", False),
        ("batch.get('weight', torch.ones(3))", False),
        ("batch.get('weight')", False),
        ("batch.get('weight', nn.Parameter(torch.ones(3)))", None),
        ("x", None),
    ],
)
def test_where_a_gradient_flows(tmp_path: Path, expression: str, gradient: bool | None) -> None:
    assert traits(tmp_path, f"def f(x, batch):\n    show({expression})").gradient is gradient


@pytest.mark.parametrize(
    ("expression", "whole"),
    [
        ("torch.ones(3)", True),
        ("torch.ones_like(x)", True),
        ("(x > 0).float()", True),
        ("torch.ones(3) * 2", True),
        ("torch.ones(3) / 2", None),
        ("torch.rand(3)", None),
        ("torch.rand(3).long()", True),
    ],
)
def test_whole_numbers_in_any_type(tmp_path: Path, expression: str, whole: bool | None) -> None:
    assert traits(tmp_path, f"show({expression})").whole is whole


@pytest.mark.parametrize(
    ("expression", "unique"),
    [
        ("torch.randperm(5)", True),
        ("x.argsort().unsqueeze(-1).expand(3, 4)", True),
        ("x.argsort().view(-1)", None),
        ("torch.nonzero(x)", True),
        ("torch.nonzero(x)[:, 0]", None),
        ("x.flatten().nonzero()[:, 0]", True),
        ("torch.where(x > 3)[0][1:]", True),
        ("torch.where(x > 3)[0]", True),
        ("torch.where(x > 3, 1, 2)", None),
        ("torch.randint(0, 3, (4,))", None),
    ],
)
def test_indices_that_name_each_place_once(tmp_path: Path, expression: str, unique: bool | None) -> None:
    assert traits(tmp_path, f"show({expression})").unique is unique


def test_the_members_of_a_module(tmp_path: Path) -> None:
    text = """
        class Net(nn.Module):
            def __init__(self):
                self.register_buffer("mask", torch.ones(3, 3))
                self.position = nn.Parameter(torch.zeros(1, 4, 8))
                self.conv = nn.Conv2d(3, 8, 3)

            def forward(self, x):
                show({})
    """
    for number, (expression, wanted) in enumerate(
        {
            "self.mask": Traits(True, 2, 2, True, False, True),
            "self.position": Traits(True, 3, 3, True, True, True),
            "self.conv.weight": Traits(True, floating=True, gradient=True),
            "self.conv(x)": Traits(True, 4, 4, True, True),
            "self.conv": Traits(False, gradient=False),
            "x": Traits(True),
            "self.other": Traits(),
        }.items()
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert traits(folder, textwrap.dedent(text).format(expression)) == wanted, expression


def test_a_model_of_another_file_is_followed_to_its_last_layer(tmp_path: Path) -> None:
    found = traits(
        tmp_path,
        """
        from model import UNet

        def train(model, loader):
            for images, masks in loader:
                show(model(images))

        train(model=UNet().to("cuda"), loader=loader)
        """,
        model="""
        class Out(nn.Module):
            def __init__(self):
                self.conv = nn.Conv2d(64, 2, 1)

            def forward(self, x):
                return self.conv(x)

        class UNet(nn.Module):
            def __init__(self):
                self.out = Out()

            def forward(self, x):
                logits = self.out(x)
                return logits
        """,
    )
    assert (found.rank, found.gradient) == (4, True)


def test_what_a_loader_gives_is_data_also_where_it_is_unpacked_later(tmp_path: Path) -> None:
    found = traits(
        tmp_path,
        """
        from torch.autograd import Variable

        for step, pack in enumerate(train_loader, start=1):
            images, masks = pack
            show(Variable(images).cuda())
        """,
    )
    assert found.gradient is False


def test_the_last_assignment_on_the_way_counts(tmp_path: Path) -> None:
    text = """
        def f(x, flat):
            x = nn.Conv2d(3, 8, 3)(x)
            if flat:
                x = x.view(-1, 8)
            {}
            show(x)
            x = x.flatten()
    """
    assert (traits(tmp_path, text.format("pass")).least, traits(tmp_path, text.format("pass")).most) == (2, 4)
    (tmp_path / "b").mkdir()
    assert traits(tmp_path / "b", text.format("x = x.reshape(1, 2, 3)")).rank == 3


def test_in_a_loop_the_next_round_counts_too(tmp_path: Path) -> None:
    found = traits(
        tmp_path,
        """
        def f(blocks):
            x = torch.zeros(2, 3)
            for block in blocks:
                show(x)
                x = block(x)
        """,
    )
    assert found.rank is None


def test_a_shape_that_is_unpacked_tells_the_dimensions(tmp_path: Path) -> None:
    found = traits(tmp_path, "def f(x):\n    b, c, h, w = x.shape\n    show(x)")
    assert found.rank == 4
    (tmp_path / "b").mkdir()
    changed = traits(tmp_path / "b", "def f(x):\n    b, c, h, w = x.size()\n    x = g(x)\n    show(x)")
    assert changed.rank is None


@pytest.mark.parametrize(
    ("annotation", "tensor", "floating"),
    [
        ("torch.Tensor", True, None),
        ("Tensor | None", True, None),
        ("'Optional[torch.Tensor]'", True, None),
        ("torch.LongTensor", True, False),
        ("list[torch.Tensor]", None, None),
        ("int", False, None),
        ("Optional[int]", False, None),
        ("Config", None, None),
    ],
)
def test_an_annotation_says_what_is_known_of_a_tensor(
    tmp_path: Path, annotation: str, tensor: bool | None, floating: bool | None
) -> None:
    found = traits(tmp_path, f"def f(x: {annotation}):\n    show(x)")
    assert (found.tensor, found.floating) == (tensor, floating)


def test_what_calls_itself_comes_to_an_end(tmp_path: Path) -> None:
    assert traits(tmp_path, "def f(x):\n    return g(x)\n\ndef g(x):\n    return f(x)\n\nshow(f(1))") == Traits()


@pytest.mark.parametrize("logits", ["model(x)[0]", "out[0]"])
def test_an_item_of_the_tuple_that_a_module_returns(logits: str, tmp_path: Path) -> None:
    found = traits(
        tmp_path,
        f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Conv2d(3, 5, 1)

            def forward(self, x):
                return self.head(x), len(x)


        model = Net()
        x = torch.zeros(2, 3, 8, 8)
        out = model(x)
        show({logits})
        """,
    )
    assert (found.tensor, found.rank, found.gradient) == (True, 4, True)
