"""A small project of the kind that people train in: programs, a library, tests, and lists of requirements."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

FILES = {
    "pyproject.toml": "",
    "requirements.txt": "torch>=2.1\nnumpy\n",
    "utils.py": """\
import random

import numpy as np
import torch


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def jitter(x):
    return x + np.random.rand()
""",
    "model.py": """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2, mode="bilinear")
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.up(x)).cumsum(0)
""",
    "data.py": """\
import os

from torch.utils.data import DataLoader, Dataset

from utils import jitter


class Images(Dataset):
    def __init__(self, root):
        self.names = os.listdir(root)

    def __getitem__(self, index):
        return jitter(self.names[index])


def loader(root, workers):
    return DataLoader(Images(root), shuffle=True, num_workers=workers)
""",
    "train.py": """\
import argparse

import torch

from data import loader
from model import Net
from utils import set_seed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    net = Net().cuda()
    if args.seed is not None:
        set_seed(args.seed)
    torch.backends.cudnn.benchmark = True
    for batch in loader("images", 4):
        net(batch).sum().backward()


if __name__ == "__main__":
    main()
""",
    "evaluate.py": """\
import torch

from model import Net

torch.manual_seed(0)
print(Net()(torch.rand(1, 3, 8, 8)))
""",
    "lib/__init__.py": "from .sampling import sample\n",
    "lib/sampling.py": """\
import random


def sample(items):
    return random.choice(list(set(items)))  # noqa: TRP205
""",
    "tests/test_model.py": "import torch\n\n\ndef test_it():\n    assert torch.rand(1) < 1\n",
}
CONFIGURED_FILES = {
    "src/fit.py": """\
import numpy as np
import torch
import yaml

with open("configs/base.yaml") as file:
    config = yaml.safe_load(file)
np.random.seed(config["seed"])
torch.backends.cudnn.benchmark = config["backend"]["benchmark"]
generator = np.random.default_rng(config.get("data_seed"))
""",
    "src/any.py": """\
import sys

import numpy as np
import yaml

with open(f"configs/{sys.argv[1]}.yaml") as file:
    config = yaml.safe_load(file)
generator = np.random.default_rng(config["data_seed"])
""",
    "src/composed.py": """\
import hydra
import numpy as np
import torch


@hydra.main(version_base=None, config_path="../conf", config_name="config")
def main(cfg):
    torch.backends.cudnn.benchmark = cfg.benchmark
    generator = np.random.default_rng(cfg.data.seed)
    data = torch.utils.data.DataLoader(list(range(8)), **cfg.data.loader)


if __name__ == "__main__":
    main()
""",
    "configs/base.yaml": "seed: null\nbackend:\n  benchmark: true\ndata_seed:\n",
    "conf/config.yaml": "defaults:\n  - data: small\n  - _self_\nbenchmark: true\nseed: null\n",
    "conf/data/small.yaml": "seed: ${seed}\nloader:\n  shuffle: true\n  num_workers: 2\n",
    "ops/__init__.py": "",
    "ops/grouping.py": """\
from torch.autograd import Function

from . import _ext


class Group(Function):
    @staticmethod
    def forward(ctx, features, index):
        ctx.save_for_backward(index)
        return _ext.group(features, index)

    @staticmethod
    def backward(ctx, gradient):
        (index,) = ctx.saved_tensors
        return _ext.group_grad(gradient.contiguous(), index), None
""",
    "setup.py": """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="ops",
    ext_modules=[CUDAExtension("ops._ext", ["csrc/group.cpp", "csrc/group.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
""",
    "csrc/group.cu": """\
__global__ void group_kernel(const float *points, const int *idx, float *out) {
  out[threadIdx.x] = points[idx[threadIdx.x]];
}

__global__ void group_grad_kernel(const float *grad_out, const int *idx, float *grad) {
  atomicAdd(grad + idx[threadIdx.x], grad_out[threadIdx.x]);
}

at::Tensor group(at::Tensor points, at::Tensor idx) {
  group_kernel<<<1, 256>>>(points.data_ptr<float>(), idx.data_ptr<int>(), points.data_ptr<float>());
  return points;
}

at::Tensor group_grad(at::Tensor grad_out, at::Tensor idx) {
  group_grad_kernel<<<1, 256>>>(grad_out.data_ptr<float>(), idx.data_ptr<int>(), grad_out.data_ptr<float>());
  return grad_out;
}
""",
    "csrc/group.cpp": """\
at::Tensor group(at::Tensor points, at::Tensor idx);
at::Tensor group_grad(at::Tensor grad_out, at::Tensor idx);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("group", &group, "gathers");
  m.def("group_grad", &group_grad, "is its backward");
}
""",
}
LONG_AGO = 1_600_000_000


def write_project(root: Path, files: Mapping[str, str] = FILES) -> Path:
    """The project in a new folder, not edited for long."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (LONG_AGO, LONG_AGO))
    return root
