"""Hydra's configurations are composed as Hydra itself composes them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from torchrepro_lint.dataflow.grafts import Graft, Unsaid
from torchrepro_lint.dataflow.hydra import composed
from torchrepro_lint.index import build
from torchrepro_lint.source import read_source

hydra = pytest.importorskip("hydra")

FOLDERS: dict[str, dict[str, str]] = {
    "one file": {"config": "seed: 3\na: {b: 1, c: '${seed}', d: [1, 2]}\n"},
    "itself last": {"config": "defaults: [base, _self_]\nseed: 1\na: {b: 2}\n", "base": "seed: 0\na: {b: 1, c: 1}\n"},
    "itself first": {"config": "defaults: [_self_, base]\nseed: 1\na: {b: 2}\n", "base": "seed: 0\na: {b: 1, c: 1}\n"},
    "itself not named": {"config": "defaults: [base]\nx: 1\n", "base": "seed: 0\n"},
    "groups": {
        "config": "defaults:\n  - db: small\n  - model/head: big\n  - _self_\ndb: {port: 3}\n",
        "db/small": "port: 1\nname: s\n",
        "model/head": "",
        "model/head/big": "width: 9\nseed: ${db.port}\n",
    },
    "packages": {
        "config": "defaults:\n  - db@store: small\n  - task@_global_: walk\n  - env: linux\n  - _self_\n",
        "db/small": "port: 1\n",
        "task/walk": "task_name: walk\nsteps: 3\n",
        "env/linux": "# @package _global_\nos: {name: linux}\n",
    },
    "nested": {
        "config": "defaults:\n  - train: long\n  - _self_\n",
        "train/long": "defaults:\n  - optim: adam\n  - /data: small\n  - _self_\nsteps: 9\noptim: {lr: 0.5}\n",
        "train/optim/adam": "lr: 0.1\nbeta: 0.9\n",
        "data/small": "size: 4\n",
    },
    "none, several and optional": {
        "config": "defaults:\n  - db: null\n  - optional more: absent\n  - callbacks: [a, b]\n  - _self_\nx: 1\n",
        "callbacks/a": "first: 1\n",
        "callbacks/b": "second: 2\n",
    },
    "hydra's own": {
        "config": "defaults:\n  - base\n  - _self_\n  - override hydra/job_logging: none\ny: 2\n",
        "base": "x: 1\n",
    },
    "base of the same group": {
        "config": "defaults:\n  - model: resnet\n  - _self_\n",
        "model/resnet": "defaults:\n  - base\n  - _self_\nlayers: 50\n",
        "model/base": "layers: 1\nseed: null\n",
    },
    "overridden beside": {
        "config": "defaults:\n  - db: a\n  - _self_\n  - override db: b\n", "db/a": "x: 1\n", "db/b": "x: 2\n",
    },
    "overridden by what comes later": {
        "config": "defaults:\n  - _self_\n  - db: gone\n  - net: small\n  - exp: first\n  - other: null\nseed: 1\n",
        "db/a": "x: 1\n",
        "db/b": "x: 2\n",
        "net/small": "defaults: [base, _self_]\nwidth: 1\n",
        "net/base": "width: 0\ndepth: 2\n",
        "net/big": "width: 9\n",
        "exp/first": "# @package _global_\ndefaults:\n  - second\n  - override /db: b\n  - override /net: big\nx: 3\n",
        "exp/second": "# @package _global_\ndefaults:\n  - override /db: a\nname: n\n",
    },
}  # fmt: skip
UNKNOWN: dict[str, dict[str, str]] = {
    "a file is missing": {"config": "defaults: [gone, _self_]\nseed: 1\n"},
    "a file that may be about everything is missing": {"config": "defaults:\n  - exp@_global_: gone\n  - _self_\n"},
    "an option that is worked out": {"config": "defaults:\n  - model: ${size}\n  - _self_\n", "model/a": "x: 1\n"},
    "one of two options that the user must name": {
        "config": "defaults:\n  - exp: ???\n  - _self_\n", "exp/a": "x: 1\n", "exp/b": "x: 2\n",
    },
    "overridden at a package": {
        "config": "defaults:\n  - db@at: a\n  - _self_\n  - override db@at: b\n", "db/a": "x: 1\n", "db/b": "x: 2\n",
    },
    "made of itself": {"config": "defaults:\n  - config\n  - _self_\n"},
}  # fmt: skip


NOT_KNOWN = object()


def ours(folder: Path) -> Any:
    def find(name: str) -> Any:
        path = folder / f"{name}.yaml"
        return build(read_source(path, path.name)) if path.is_file() else None

    site = composed("config", find, lambda group: [path.stem for path in (folder / group).glob("*.yaml")])
    return _plain(site.node) if site is not None else None


def _plain(node: ast.expr) -> Any:
    match node:
        case Unsaid():
            return NOT_KNOWN
        case Graft():
            return _plain(node.site.node)
        case ast.Dict(keys=keys, values=values):
            return {k.value: _plain(v) for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant)}
        case ast.List(elts=items):
            return [_plain(item) for item in items]
    assert isinstance(node, ast.Constant)
    return node.value


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        if text:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.yaml").write_text(text)
    return folder


@pytest.mark.parametrize("name", FOLDERS)
def test_as_hydra_does(name: str, tmp_path: Path) -> None:
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    folder = written(tmp_path, FOLDERS[name])
    with initialize_config_dir(config_dir=str(folder), version_base=None):
        theirs = OmegaConf.to_container(compose("config"), resolve=True)
    assert ours(folder) == theirs


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known(name: str, tmp_path: Path) -> None:
    assert ours(written(tmp_path, UNKNOWN[name])) is None


def test_of_a_missing_file_only_its_group_is_not_known(tmp_path: Path) -> None:
    config = "defaults:\n  - db: gone\n  - net: small\n  - _self_\nseed: 1\ndb: {port: 3}\nnet: {depth: 2}\n"
    made = ours(written(tmp_path, {"config": config, "net/small": "width: 1\n"}))
    assert made == {"db": NOT_KNOWN, "net": {"width": 1, "depth": 2}, "seed": 1}


def test_of_entries_about_which_releases_disagree_only_these_are_not_known(tmp_path: Path) -> None:
    config = "defaults: [base]\nseed: 1\ndata: {size: 1, more: 2}\n"
    made = ours(written(tmp_path, {"config": config, "base": "seed: 0\ndata: {size: 4, kind: x}\n"}))
    assert made == {"seed": NOT_KNOWN, "data": {"size": NOT_KNOWN, "more": 2, "kind": "x"}}
