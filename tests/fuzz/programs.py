"""Programs that nobody would write, and that run in circles: values, functions, classes, modules and dictionaries of
functions that contain one another, around the calls that rules look for."""

from __future__ import annotations

from random import Random

_CALLS = (
    "torch.manual_seed({0})", "random.seed({0})", "np.random.seed({0})", "torch.randn({0})", "random.shuffle({0})",
    "DataLoader({0}, shuffle={1}, num_workers={1})", "DistributedSampler({0})", "RandomSampler({0}, generator={1})",
    "torch.Generator().manual_seed({0})", "set({0})", "sorted({0}, key={1})", "list({0})", "dict({0})", "os.listdir({0})",
    "glob.glob({0})", "hash({0})", "{0}.scatter_add_(0, {1}, {0})", "torch.nn.Linear({0}, 2)", "time.time()", "next({0})",
    "torch.use_deterministic_algorithms({0})", "F.interpolate({0}, mode={1})", "np.random.default_rng({0})", "int({0})",
    "functools.partial({0}, {1})", "map({0}, {1})", "getattr({0}, 'a')", "torch.load({0})", "{0}.set_epoch({1})", "str({0})",
    "mp.spawn({0}, args=({1},))", "Trainer({0}, deterministic={1})", "seed_everything({0})", "{0}.backward()", "open({0})",
)  # fmt: skip
_BLOCKS = (
    "for {t} in {v}:", "for {t} in set({v}):", "for {t} in set({v}):", "for {t} in os.listdir({v}):", "while {v}:", "if {v}:",
    "with {v} as v2:", "try:", "for epoch in range({v}):", "for {t} in {{*{v}}}:", "for {t} in DataLoader({v}, shuffle=True):",
    "for {t} in {v}.items():", "if __name__ == {v}:",
)  # fmt: skip
_HEAD = """\
import functools, glob, os, random, sys, time
import numpy as np
import torch, torch.multiprocessing as mp
import torch.nn.functional as F
from torch.utils.data import DataLoader, RandomSampler
from torch.utils.data.distributed import DistributedSampler
from pytorch_lightning import Trainer, seed_everything
"""


class _Writer:
    """Writes one file of a program."""

    def __init__(self, random: Random, name: str, modules: list[str]) -> None:
        self.random = random
        self.name = name
        self.modules = modules
        self.names = [f"{kind}{n}" for kind in "vfC" for n in range(3)]

    def file(self) -> str:
        parts = [_HEAD, *(f"from {m} import *\nimport {m}\n" for m in self.modules if self.random.random() < 0.6)]
        parts += [self.definition() for _ in range(self.random.randrange(2, 7))]
        parts += [self.statement("") for _ in range(self.random.randrange(1, 6))]
        if self.random.random() < 0.5:
            parts.append("if __name__ == '__main__':\n" + self.statement("    "))
        return "".join(parts)

    def definition(self) -> str:
        n = self.random.randrange(3)
        body = "".join(self.statement("    ") for _ in range(self.random.randrange(1, 4)))
        match self.random.randrange(5):
            case 0:
                base = self.random.choice([f"C{self.random.randrange(3)}", "torch.nn.Module", "Dataset", "object"])
                methods = "".join(
                    f"    def {name}(self, v0, v1={self.value()}):\n        self.{self.random.choice('ab')} = {self.value()}\n"
                    f"        return {self.value()}\n"
                    for name in self.random.sample(
                        ["__init__", "__call__", "forward", "__getitem__", "__iter__", "a"], 2
                    )
                )
                return f"class C{n}({base}):\n    a = {self.value()}\n{methods}"
            case 1:
                return f"f{n} = lambda v0, v1=None: {self.value()}\n"
            case 2:
                return f"@f{self.random.randrange(3)}\ndef f{n}(*v0, **v1):\n{body}    yield {self.value()}\n"
            case _:
                return f"def f{n}(v0, v1={self.value()}):\n{body}    if {self.value()}:\n        return {self.value()}\n    return {self.value()}\n"

    def statement(self, margin: str, depth: int = 0) -> str:
        target = self.random.choice(["v0", "v1", "v2", "f0", "self.a", "v0['k']", "v0.a", "v1, v2", "seed", "epoch"])
        if depth < 3 and self.random.random() < 0.3:
            form = self.random.choice(_BLOCKS)
            inner = "".join(self.statement(margin + "    ", depth + 1) for _ in range(self.random.randrange(1, 3)))
            head = margin + form.format(t="v1", v=self.value()) + "\n"
            return head + inner + (f"{margin}except Exception:\n{inner}" if form == "try:" else "")
        form = self.random.choice(
            [
                "{t} = {v}",
                "{v}",
                "{t} = {v}",
                "{c}",
                "{t} = {c}",
                "{t} += {v}",
                "del v2",
                "print(v1)",
                "f0(v1)",
                "v2.append(v1)",
            ]
        )
        return margin + form.format(t=target, v=self.value(), c=self.call()) + "\n"

    def call(self, depth: int = 0) -> str:
        form = self.random.choice(_CALLS)
        return form.format(self.value(depth + 1), self.value(depth + 1))

    def value(self, depth: int = 0) -> str:
        name = self.random.choice(self.names)
        if depth > 2 or self.random.random() < 0.3:
            return self.random.choice([name, name, "0", "'text'", "None", "True", "sys.argv", "args.seed", "{}"])
        one, other = self.value(depth + 1), self.value(depth + 1)
        module = self.random.choice([*self.modules, "self"])
        return self.random.choice(
            [
                f"{name}({one})", f"{name}({one}, {other})", f"{name}({one})({other})", f"{one} + {other}", f"[{one}, {other}]",
                f"{{'k': {one}, {other!r}: {name}}}['k']", f"{{'k': {name}, 'l': {one}}}[{other}]({one})", f"{one}[{other}]",
                f"({one} if {other} else {name})", f"[{one} for v1 in {other}]", f"{module}.{name}({one})", f"{name}.a", "{" + one + "}",
                f"(lambda v0: {one})({other})", f"{name}(*{one}, **{other})", f"({one}, {other})[0]", f"{one} or {other}",
                self.call(depth + 1), f"(v2 := {one})", f"f'{{{name}}}'",
            ]
        )  # fmt: skip


def program(random: Random) -> dict[str, str]:
    """File name -> text. The modules import one another."""
    modules = [f"m{n}" for n in range(random.choice((1, 1, 2, 3)))]
    return {f"{name}.py": _Writer(random, name, modules).file() for name in modules}
