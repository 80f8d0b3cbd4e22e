"""What names say about code: evaluation, loading of weights, preparation of data, tests. Reads names only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import PurePath
from typing import Literal

Role = Literal["evaluation", "loading", "data", "import", "old", "cpu", "flag"]


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_EVALUATION = _words(
    r"^_*(?:eval|evaluate|evaluation|validate|validation|val|test|predict|infer|inference|generate)(?:_|$)",
    r"^_*(?:visuali[sz]e|plot|draw|demo|export|post_?process|on_(?:validation|test|predict))(?:_|$)",
    r"_(?:infer|inference|eval|prefill)$",
)
# What a training step may call as well: `outputs = self.generate_images(inputs)`.
_RESULT = re.compile(r"^_*(?:predict|infer|inference|generate)_")
_LOADING = _words(
    r"^_*(?:load|convert|from_pretrained|remap)",
    r"^_*(?:init_weights|init_params|initialize_weights|reset_parameters)",
    r"^_*(?:un)?merge(?:_adapter|_weights)?$",
    r"state_dict|checkpoint|pretrained",
)
_LOADED = re.compile(r"^(?:state_dict|checkpoint(?:_model)?|pos_\w+_(?:checkpoint|ckpt)|ckpt|sd|state|pretrained)$")
_DATA = _words(
    r"^_*(?:__getitem__|collate|preprocess|augment|transform|read)",
    r"^_*load_(?:image|audio|video|data)",
    r"^_*(?:resize|rescale|crop)_and_(?:normali[sz]e|rescale|crop|pad)(?:_|$)",
    r"^_*(?:(?:re)?(?:scale|size)|crop)_(?:image|img|video|frame)s?$",
    r"(?:^|_)(?:spec_?augment|rand_?augment|time_?warp|time_?mask|freq(?:uency)?_?mask)(?:_|$)",
)
_DATA_CLASS = _words(
    r"(?:Dataset|DataModule|Collat\w*|Transforms?|(?<!Attn)(?<!Attention)Processor|Sampler|FeatureExtractor|InputPadder)$",
    r"(?:Augment|ImageProcessor)\w*$",
)
_CPU = re.compile(r"_cpu$")
# A scheduler that works on tensors steps a diffusion model backwards, which only sampling does.
_EVALUATION_CLASS = re.compile(r"(?:Validator|Predictor|Evaluator|Visuali[sz]er|Pipeline|Exporter|Scheduler)$")
_EVALUATION_FOLDER = re.compile(
    r"^(?:tests?|(?:torch)?metrics?|evaluations?|eval(?:_\w+)?|evaluators?|inference|(?:\w+_)?pipelines?)$"
)
_TEST_FILE = re.compile(r"^(?:test_|conftest)|_test$")
_EVALUATION_FILE = _words(
    r"^(?:eval|val(?:id)?$|test$|validat|inference|infer_|demo|predict|visuali[sz]|plot|export|convert_|post_?process)",
    r"^generation(?:_|$)",
    r"^(?:image|video|audio|feature)_(?:processing|extraction)",
    r"_(?:eval(?:uation)?|demo)$|^(?!.*train)\w+_eval_",
)
_TRIAL_FILE = re.compile(
    r"^generate(?:_(?:script|samples?|images?|audio|text|music))?$|^generate_(?:sent(?:ence)?s?|captions?)(?:_|$)"
    r"|^(?:sampl(?:e|ing)|bench(?:mark)?|profil(?:e|er|ing)|speed|latency|probe|smoke|debug|check|deploy|serve)(?:_|$)"
    r"|^diagnos(?:e|is|tics?)(?:_|$)"
)
# What computes gradients of pictures, to show what a model looks at.
_EXPLAINING_FILE = re.compile(r"(?:^|_)(?:saliency|grad_?cam)(?:_|$)")
_DATA_PLACE = re.compile(
    r"^data(?!2)|dataset|transform|preprocess|augment|feats?_extract|feature_extract|image_process|process(?:ing)?_image"
)


_OPERATORS = ("custom_op", "triton_op")  # their bodies run below autograd, whose formula is registered apart


def is_without_gradient(decorator: str) -> bool:
    """Whether a decorator is called after what it does: `@smart_inference_mode()`, `@custom_op("mylib::attend")`."""
    return decorator.endswith(("_inference_mode", "_no_grad", *_OPERATORS))


def is_training(function: str) -> bool:
    """Whether a function is called after training: then a trainer that nobody sees may call it, as `train_step`."""
    return "train" in function


def of_function(name: str, parameters: Iterable[str]) -> Role | None:
    """What a function is for, by its name and those of its parameters."""
    if _EVALUATION.search(name):
        return "evaluation"
    if _DATA.search(name):
        return "data"
    if _CPU.search(name):
        return "cpu"
    if _LOADING.search(name) or any(_LOADED.match(p) for p in parameters):
        return "loading"
    return None


def names_a_result(function: str) -> bool:
    """Whether a function is called after what it gives, and not only after who wants it: `predict_masks`."""
    return _RESULT.match(function) is not None


def of_class(names: Iterable[str]) -> Role | None:
    """What a class that is no neural module is for, by its name and those of its bases."""
    for name in names:
        if _DATA_CLASS.search(name):
            return "data"
        if _EVALUATION_CLASS.search(name):
            return "evaluation"
    return None


def of_file(path: str, *, trains: bool) -> Role | None:
    """Tests and evaluation code by the names of files and folders; `trains` when the file runs backward passes."""
    folders, stem = _parts(path)
    if _TEST_FILE.search(stem) and not (trains and stem.startswith("train_")):  # train_test.py does both
        return "evaluation"
    named = _EVALUATION_FILE.search(stem) or any(map(_EVALUATION_FOLDER.search, folders))
    return "evaluation" if named and not trains else None


def is_no_training(path: str) -> bool:
    """Whether a file that trains nothing itself is named after what uses a model, measures it or tries it out."""
    return of_file(path, trains=False) is not None or _TRIAL_FILE.search(_parts(path)[1]) is not None


def shows_gradients(path: str) -> bool:
    """Whether a file is named after what shows the gradients of a model's input, for which it runs backward passes."""
    return _EXPLAINING_FILE.search(_parts(path)[1]) is not None


def handles_data(path: str, *, in_module: bool) -> bool:
    """Whether a file lies where a project prepares its data; its own name says so only outside neural modules."""
    folders, stem = _parts(path)
    places = folders if in_module else (*folders, stem)
    return any(_DATA_PLACE.search(place) and "transformer" not in place for place in places)


@cache
def _parts(path: str) -> tuple[tuple[str, ...], str]:
    """The folders that a file lies in, and its name without an ending."""
    parts = PurePath(path)
    return parts.parts[:-1], parts.stem
