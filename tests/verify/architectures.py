"""Five kinds of architecture, small and whole, with a place for a layer that does not repeat its results.

`build_gnn` and the others give a module; `build_gnn_planted` one with the layer; `batch_gnn` what it is called with.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def _noise(like: Tensor) -> Tensor:
    """From the operating system, so that no seed reaches it: a few bits in the last place."""
    bits = torch.frombuffer(bytearray(os.urandom(like.numel())), dtype=torch.uint8).reshape(like.shape)
    return bits.float() * 1e-5


class _Varying(torch.autograd.Function):
    """The identity, whose gradient varies."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return gradient + _noise(gradient)


class Planted(nn.Module):
    """Varies forward, or backward alone."""

    def __init__(self, direction: str) -> None:
        super().__init__()
        self.direction = direction

    def forward(self, x: Tensor) -> Tensor:
        return x + _noise(x) if self.direction == "forward" else _Varying.apply(x)  # type: ignore[no-any-return]


class Block(nn.Module):
    """Of a ResNet, with ReLU in place and batch norm, whose buffers are written to."""

    def __init__(self, width: int, planted: nn.Module) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.relu, self.planted = nn.ReLU(inplace=True), planted

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.planted(self.bn2(self.conv2(out)))
        out += x
        return self.relu(out)  # type: ignore[no-any-return]


def resnet(planted: nn.Module) -> nn.Module:
    stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
    return nn.Sequential(stem, Block(8, nn.Identity()), Block(8, planted), head)


class Attention(nn.Module):
    """Causal, and the layer after it."""

    def __init__(self, width: int, planted: nn.Module) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), planted, nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (t.unflatten(-1, (4, -1)).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=0.1)
        x = x + self.dropout(self.out(mixed.transpose(1, 2).flatten(2)))
        return x + self.mlp(self.norm2(x))  # type: ignore[no-any-return]


class Gpt(nn.Module):
    """With tied embeddings, and a loss among its outputs."""

    def __init__(self, planted: nn.Module) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(50, 32), nn.Embedding(16, 32)
        self.blocks = nn.ModuleList([Attention(32, nn.Identity()), Attention(32, planted)])
        self.head = nn.Linear(32, 50, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor, labels: Tensor) -> dict[str, Tensor]:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        return {"loss": F.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}


class Unet(nn.Module):
    """One level, with bilinear upsampling and a connection that skips it."""

    def __init__(self, planted: nn.Module) -> None:
        super().__init__()
        self.down, self.inner = nn.Conv2d(1, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 1, 1)
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.planted, self.last = planted, nn.Conv2d(9, 2, 3, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.up(F.relu(self.inner(F.relu(self.down(x)))))
        return self.last(torch.cat((self.planted(inner), x), 1))  # type: ignore[no-any-return]


class Messages(nn.Module):
    """Sums over neighbours by index_add."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        messages = self.linear(x)[edges[0]]
        return torch.zeros_like(x).index_add(0, edges[1], messages)


class Gnn(nn.Module):
    def __init__(self, planted: nn.Module) -> None:
        super().__init__()
        self.first, self.second, self.planted = Messages(8), Messages(8), planted

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        return self.second(self.planted(F.relu(self.first(x, edges))), edges)  # type: ignore[no-any-return]


class Tagger(nn.Module):
    """An LSTM between an embedding and a linear layer."""

    def __init__(self, planted: nn.Module) -> None:
        super().__init__()
        self.words, self.lstm = nn.Embedding(30, 12), nn.LSTM(12, 10, 2, batch_first=True, dropout=0.1)
        self.planted, self.tags = planted, nn.Linear(10, 4)

    def forward(self, words: Tensor) -> Tensor:
        return self.tags(self.planted(self.lstm(self.words(words))[0]))  # type: ignore[no-any-return]


BUILDERS: dict[str, Callable[[nn.Module], nn.Module]] = {
    "resnet": resnet, "gpt": Gpt, "unet": Unet, "gnn": Gnn, "lstm": Tagger,
}  # fmt: skip
PLACES = {"resnet": "2.planted", "gpt": "blocks.1.mlp.2", "unet": "planted", "gnn": "planted", "lstm": "planted"}


def batch_resnet() -> Tensor:
    return torch.randn(2, 3, 32, 32)


def batch_gpt() -> dict[str, Tensor]:
    return {"tokens": torch.randint(50, (2, 16)), "labels": torch.randint(50, (2, 16))}


def batch_unet() -> tuple[Tensor]:
    return (torch.randn(2, 1, 16, 16),)


def batch_gnn() -> tuple[Tensor, Tensor]:
    return torch.randn(20, 8), torch.randint(20, (2, 60))


def batch_lstm() -> Tensor:
    return torch.randint(30, (3, 7))


def __getattr__(name: str) -> Callable[[], nn.Module]:
    """`build_gpt`, `build_gpt_forward`, `build_gpt_backward`."""
    start, _, rest = name.partition("_")
    kind, _, direction = rest.partition("_")
    if start != "build" or kind not in BUILDERS:
        raise AttributeError(name)
    return lambda: BUILDERS[kind](Planted(direction) if direction else nn.Identity())


def build_unseeded() -> nn.Module:
    """With other parameters in every process."""
    module = nn.Linear(4, 2)
    with torch.no_grad():
        module.weight.add_(_noise(module.weight))
    return module


def batch_unseeded() -> Tensor:
    return torch.ones(3, 4)


def build_number() -> int:
    return 3
