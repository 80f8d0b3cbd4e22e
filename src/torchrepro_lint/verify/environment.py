"""What results depend on besides the program: software, hardware, switches and a few environment variables.

Works without PyTorch too. A value that is not there, or cannot be found out, is None.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Of these, and no others, the values are recorded: what else is set may be secret.
VARIABLES = (
    "CUBLAS_WORKSPACE_CONFIG", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES", "CUDNN_FRONTEND_ATTN_DP_WORKSPACE_LIMIT", "FLASH_ATTENTION_DETERMINISTIC",
    "KMP_AFFINITY", "KMP_BLOCKTIME", "MKL_CBWR", "MKL_NUM_THREADS", "NCCL_ALGO", "NCCL_NVLS_ENABLE", "NCCL_PROTO",
    "NVIDIA_TF32_OVERRIDE", "NVTE_ALLOW_NONDETERMINISTIC_ALGO", "OMP_NUM_THREADS", "OMP_WAIT_POLICY",
    "ONEDNN_MAX_CPU_ISA", "PYTHONHASHSEED", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF",
    "TORCHINDUCTOR_DETERMINISTIC", "TORCHINDUCTOR_MAX_AUTOTUNE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_BLAS_PREFER_CUBLASLT", "TORCH_CUDNN_V8_API_DISABLED",
)  # fmt: skip

# Most important first: what `drift` names first.
ORDER = (
    "torch", "torch_git", "cuda", "cudnn", "cublas", "nccl", "gpu", "gpus", "compute_capability", "mig", "driver",
    "flags", "variables", "cpu", "cpu_capability", "threads", "cores", "numpy", "python", "os",
)  # fmt: skip


def manifest(variables: Mapping[str, str] = os.environ, cuda: str | None = "cuda") -> dict[str, Any]:
    """The environment of this process, most important first; its form is in `evidence.schema.json`.

    `cuda` is the GPU to tell of; where it is None, none is asked for anything.
    """
    found = {
        **(_nvidia() if cuda else {}),
        "variables": {name: variables[name] for name in VARIABLES if name in variables},
        "flags": {},
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "numpy": _version("numpy"),
        "python": platform.python_version(),
        "os": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    if find_spec("torch") is not None:
        found.update(_torch(cuda), flags=_flags())
    return {key: found.get(key, 0 if key == "gpus" else None) for key in ORDER}


def drift(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Name, old and new value of what is not the same any more, most important first."""
    for key in ORDER:
        old, new = before.get(key), now.get(key)
        if key in ("flags", "variables"):
            old, new = old or {}, new or {}
            for name in sorted({*old, *new}):
                if old.get(name) != new.get(name):
                    yield name, old.get(name), new.get(name)
        elif old != new:
            yield key, old, new


def _torch(cuda: str | None) -> dict[str, Any]:
    import torch

    found: dict[str, Any] = {
        "torch": torch.__version__,
        "torch_git": torch.version.git_version,
        "cuda": torch.version.cuda or torch.version.hip,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
    }
    try:
        return found | (_gpu(torch.device(cuda).index or 0) if cuda and torch.cuda.is_available() else {})
    except (RuntimeError, AssertionError):  # the GPU is there and cannot be used
        return found


def _gpu(index: int) -> dict[str, Any]:
    import torch

    found: dict[str, Any] = {
        "gpu": torch.cuda.get_device_name(index),
        "gpus": torch.cuda.device_count(),
        "compute_capability": ".".join(map(str, torch.cuda.get_device_capability(index))),
        "cudnn": _told(torch.backends.cudnn),
        "cublas": _cublas(torch.version.cuda),
    }
    if torch.distributed.is_available() and torch.distributed.is_nccl_available():
        found["nccl"] = _told(torch.cuda.nccl)
    return found


def _told(library: Any) -> str | None:
    """The version that a library of PyTorch's tells: a number, or its parts."""
    version = library.version()
    return ".".join(map(str, version)) if isinstance(version, tuple) else None if version is None else str(version)


def _flags() -> dict[str, Any]:
    import torch

    cudnn, cuda = torch.backends.cudnn, torch.backends.cuda
    return {
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "deterministic_warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "cudnn_enabled": cudnn.enabled,
        "cudnn_benchmark": cudnn.benchmark,
        "cudnn_deterministic": cudnn.deterministic,
        "cudnn_allow_tf32": cudnn.allow_tf32,
        "matmul_allow_tf32": cuda.matmul.allow_tf32,
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
    }


def _cublas(cuda: str | None) -> str | None:
    """The version of the library that PyTorch has loaded, asked of the library itself."""
    import ctypes

    if cuda is None or not sys.platform.startswith("linux"):
        return None
    try:
        ask = ctypes.CDLL(f"libcublas.so.{cuda.partition('.')[0]}").cublasGetProperty
    except (OSError, AttributeError):
        return None
    number = ctypes.c_int()
    parts = []
    for which in range(3):  # major, minor, patch
        if ask(which, ctypes.byref(number)) != 0:
            return None
        parts.append(str(number.value))
    return ".".join(parts)


def _nvidia() -> dict[str, str | None]:
    """What the driver says, with or without PyTorch."""
    program = _nvidia_smi()
    if program is None:
        return {"driver": driver_of_kernel()}
    asked = {"gpu": "name", "driver": "driver_version", "mig": "mig.mode.current", "compute_capability": "compute_cap"}
    while asked:
        command = [program, f"--query-gpu={','.join(asked.values())}", "--format=csv,noheader"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=20)  # a broken driver may hang
        except (OSError, subprocess.SubprocessError):
            return {"driver": driver_of_kernel()}
        if done.returncode == 0:
            first = done.stdout.partition("\n")[0]
            values = [None if value.strip() in ("", "[N/A]") else value.strip() for value in first.split(",")]
            return dict(zip(asked, values, strict=False))
        asked.popitem()  # an old driver knows fewer of them
    return {}


def _nvidia_smi() -> str | None:
    """Where it is: never in the current folder or below, where a stranger's program may have its name."""
    here = Path.cwd()
    own = here != Path(here.anchor)  # everything lies below the root
    folders = [f for f in os.get_exec_path() if Path(f).is_absolute() and not (own and Path(f).is_relative_to(here))]
    found = shutil.which("nvidia-smi", path=os.pathsep.join(folders))
    return found if found and Path(found).is_absolute() else None  # Windows looks here first


def driver_of_kernel(path: Path = Path("/proc/driver/nvidia/version")) -> str | None:
    """The driver's version as Linux knows it: a lean container has no nvidia-smi."""
    try:
        found = re.search(r"\s(\d+(?:\.\d+)+)\s", path.read_text(encoding="utf-8"))
    except OSError:
        return None
    return found[1] if found else None


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or None
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or None)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
