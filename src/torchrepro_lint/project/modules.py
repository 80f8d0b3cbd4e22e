"""Which file a module name means: Python's own search, without running anything.

A name is looked up from the folder of the importing file outwards to the project root (the script's own
folder comes first in Python), then in `src` folders, then in folders that packages are installed from; before or
after that in the folders that the importing file puts on `sys.path`. What is not found in the project is external.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from sys import stdlib_module_names

from torchrepro_lint.project.folders import Folders
from torchrepro_lint.project.search_path import SearchPath
from torchrepro_lint.tracking import Memo, Rests, Tracker

# An installed package wins over a project folder of the same name that has no `__init__.py`.
INSTALLED = frozenset({
    "accelerate", "albumentations", "bitsandbytes", "catboost", "colossalai", "composer", "datasets", "deepspeed",
    "detectron2", "dgl", "diffusers", "evaluate", "fairseq", "fastai", "flash_attn", "flwr", "gradio", "gym",
    "gymnasium", "hydra", "ignite", "imgaug", "jax", "keras", "kornia", "librosa", "lightgbm", "lightning", "mlflow",
    "mmcv", "mmdet", "mmengine", "mmpretrain", "mmseg", "monai", "nemo", "nltk", "numpy", "ogb", "omegaconf",
    "onnxruntime", "openai", "optuna", "pandas", "peft", "pettingzoo", "pytorch_lightning", "ray", "safetensors",
    "scipy", "segmentation_models_pytorch", "sentence_transformers", "sklearn", "skorch", "spacy", "speechbrain",
    "stable_baselines3", "tensorboard", "tensorflow", "tianshou", "timm", "tokenizers", "torch", "torch_geometric",
    "torchaudio", "torchmetrics", "torchtext", "torchtune", "torchvision", "transformers", "trl", "unsloth", "vllm",
    "wandb", "xgboost",
})  # fmt: skip
# Inside a package, these names mean the installed ones: `import torch` in a file of `models`, beside `models/torch`.
_OUTSIDE = frozenset({"torch", "torchvision", "numpy", "scipy", "sklearn", "pandas"})
_SELF, _SRC, _BUILT = "", "src", "setup.py"  # where imports are looked for: in a folder, and in these of it


class ModuleFinder:
    """Finds the project's modules below `root`; `sources` are further import roots (setting `src`), `folders` is
    what the project's folders hold, and `search_path` tells what a file adds to `sys.path`."""

    def __init__(
        self,
        root: Path,
        sources: Iterable[Path],
        folders: Folders,
        search_path: Callable[[str], SearchPath],
        tracker: Tracker,
    ) -> None:
        self._tracker = tracker
        self.root = str(root)
        self.sources = [str(s) for s in sources]
        self._search_path = search_path
        self._added: dict[str, tuple[list[str], list[str]]] = {}
        self._rests: dict[str, Rests] = {}  # what these rest on
        self._answers: Memo[tuple[str, str] | None] = Memo(tracker)
        self._folders = folders

    def find(self, name: str, level: int, importer: str, modules: int = 0) -> tuple[str, str] | None:
        """The longest leading part of `name` that is a module of the project, seen from the file `importer`, of whose
        parts an import says that the first `modules` are modules.

        Returns its file (or the folder, for a namespace package) and the rest of the name, or None when the
        name is external.
        """
        key = (name, level, importer, modules)
        return self._answers.get(key, lambda: self._whole(name, level, importer, modules))

    def _whole(self, name: str, level: int, importer: str, modules: int) -> tuple[str, str] | None:
        """What is found first, unless it lacks a module that another place has: Python's search would have failed."""
        found = self._search_from(name, level, importer)
        if level or found is None or not _falls_short(found, name, modules):
            return found
        first, last = self._on_search_path(importer)
        bases = (*first, *self._bases(os.path.dirname(importer), name), *last)
        places = (place for place in self._places(_parts(name), bases) if place[0] != importer)
        other = None if name.partition(".")[0] in INSTALLED else found  # a library has it
        return next((place for place in places if not _falls_short(place, name, modules)), other)

    def functions(self, named: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
        """File -> its functions, of those that packaging names, each with its module."""
        found: dict[str, list[str]] = {}
        for module, function in named:
            place = self.find(module, 0, os.path.join(self.root, "setup.py"))
            if place is not None and not place[1] and function not in found.setdefault(place[0], []):
                found[place[0]].append(function)
        return found

    def _search_from(self, name: str, level: int, importer: str) -> tuple[str, str] | None:
        folder = os.path.dirname(importer)
        parts = _parts(name)
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._descend(folder, parts)
        first, last = self._on_search_path(importer)
        if not first and not last:  # the same for all files of a folder
            found = self._answers.get((name, folder), lambda: self._around(name, folder))
            if found is None or found[0] != importer:
                return found
        places = self._places(parts, (*first, *self._bases(folder, name), *last))
        return next((place for place in places if place[0] != importer), None)

    def _around(self, name: str, folder: str) -> tuple[str, str] | None:
        """What a name means in the first of `_bases` that has such a module, without looking into each again."""
        found = self._nearest(name, folder, _SELF) or self._nearest(name, folder, _SRC)
        found = found or next(self._places(_parts(name), self.sources), None)
        return found or self._nearest(name, folder, _BUILT)

    def _nearest(self, name: str, folder: str, inside: str) -> tuple[str, str] | None:
        """What a name means in a folder of the project, or in the nearest one above that has such a module: in each, in
        its folder `inside`. What is found further up is remembered for all below it."""
        above: list[str] = []
        while self._is_inside(folder) and (name, folder, inside) not in self._answers:
            above.append(folder)
            folder = os.path.dirname(folder)
        found = None
        for base in reversed(above or [folder]):
            found = self._answers.get((name, base, inside), self._at, (name, base, inside))
        return found

    def _at(self, name: str, base: str, inside: str) -> tuple[str, str] | None:
        if not self._is_inside(base):
            return None
        places = self._folders_of(base, inside, name)
        found, above = next(self._places(_parts(name), places), None), os.path.dirname(base)
        return found or self._answers.get((name, above, inside), self._at, (name, above, inside))

    def _is_inside(self, folder: str) -> bool:
        return folder == self.root or folder.startswith(self.root + os.sep)

    def _places(self, parts: list[str], bases: Iterable[str]) -> Iterator[tuple[str, str]]:
        """What a name means in each of the folders that have such a module, in order."""
        for base in bases:
            if parts and parts[0] in _OUTSIDE and self._folders.package(base) != base:
                continue
            if parts and self._has_module(base, parts[0]):
                found = self._descend(base, parts)
            elif self._is_own_folder(base, parts):
                found = self._descend(os.path.join(base, parts[0]), parts[1:])
            else:
                continue
            if found is not None:
                yield found

    def _has_module(self, base: str, name: str) -> bool:
        found = self._folders.child(base, name)
        is_folder = name in INSTALLED and found == os.path.join(base, name)
        return found is not None and not (is_folder and self._folders.package(found) == found)

    def _is_own_folder(self, base: str, parts: list[str]) -> bool:
        """Whether a folder that is called like an installed package holds the module that is asked for: were the
        package installed, the import would fail."""
        if len(parts) < 2 or parts[0] not in INSTALLED - _OUTSIDE:
            return False
        return self._folders.child(os.path.join(base, parts[0]), parts[1]) is not None

    def _on_search_path(self, importer: str) -> tuple[list[str], list[str]]:
        """The folders that a file, and the modules it imports for this, put before and after Python's own."""
        if importer not in self._added:
            self._added[importer] = ([], [])  # what is asked for meanwhile is found without
            outer = self._tracker.begin()
            own = self._search_path(importer)
            found = [(importer, own)]
            for name, level in own.setters:
                setter = self._search_from(name, level, importer)
                if setter is not None and setter[0] != importer:
                    found.append((setter[0], self._search_path(setter[0])))
            self._added[importer] = (
                [f for file, path in found for f in self._existing(path.first, file)],
                [f for file, path in found for f in self._existing(path.last, file)],
            )
            self._rests[importer] = self._tracker.end(outer)
        self._tracker.rest_on(self._rests.get(importer, ()))
        return self._added[importer]

    def _existing(self, folders: Iterable[str], file: str) -> list[str]:
        """These folders of the project, relative ones as seen from the file's own folder, or else the root."""
        found = []
        for folder in folders:
            places = [os.path.normpath(os.path.join(base, folder)) for base in (os.path.dirname(file), self.root)]
            filled = (p for p in places if self._folders.is_filled(p))
            here = next((p for p in filled if (p + os.sep).startswith(self.root + os.sep)), None)
            found += [here] if here is not None else []
        return found

    def forget(self) -> None:
        """A file has changed: it may put other folders on the search path."""
        self._added.clear()
        self._rests.clear()
        self._answers.clear()

    def _bases(self, folder: str, name: str) -> Iterable[str]:
        """A folder and those above it; then `src` in each of them, which is installed, or put on the search path by
        whoever runs the program. One further down that has a library's name is a copy of that."""
        above = []
        while self._is_inside(folder):
            above.append(folder)
            folder = os.path.dirname(folder)
        yield from above
        yield from (place for base in above for place in self._folders_of(base, _SRC, name))
        yield from self.sources
        yield from (place for base in above for place in self._folders_of(base, _BUILT, name))

    def _folders_of(self, base: str, inside: str, name: str) -> list[str]:
        """Where a folder has modules: in itself, in its `src`, or in folders of it that packages are built from."""
        top, source = name.partition(".")[0], os.path.join(base, _SRC)
        if inside == _BUILT and top not in INSTALLED | stdlib_module_names:
            return [os.path.join(at, one) for at in (base, source) for one in self._folders.built(at).split("/") if one]
        if inside == _SRC and (base == self.root or top not in INSTALLED):
            return [source]
        return [] if inside else [base]

    def _descend(self, base: str, parts: list[str]) -> tuple[str, str] | None:
        place: str | None = base
        for i, part in enumerate(parts):
            child = self._folders.child(place, part) if place is not None else None  # a file has no children
            if child is None:
                if place is None or not i:
                    return self._own(base, parts)
                return (self._folders.package(place), ".".join(parts[i:]))
            place = child
        return (self._folders.package(place), "") if place is not None else None

    def _own(self, base: str, parts: list[str]) -> tuple[str, str] | None:
        """`from . import name`: the name may be defined in the package's own `__init__`."""
        package = self._folders.package(base)
        return (package, ".".join(parts)) if package != base else None


def _falls_short(place: tuple[str, str], name: str, modules: int) -> bool:
    """Whether a module is missing at a place: a folder has nothing but modules, and an import says what is one."""
    path, rest = place
    return bool(rest) and (not path.endswith(".py") or name.count(".") - rest.count(".") < modules)


def _parts(name: str) -> list[str]:
    return name.split(".") if name else []
