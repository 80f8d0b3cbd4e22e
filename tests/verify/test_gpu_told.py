"""What is found out about a GPU and its driver, and what is told of one that cannot be used: by stand-ins for both."""

from __future__ import annotations

import ctypes
import os
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchrepro_lint.verify import environment, worker  # noqa: E402
from torchrepro_lint.verify.devices import why_no_cuda  # noqa: E402
from torchrepro_lint.verify.failures import of_memory  # noqa: E402
from torchrepro_lint.verify.probes import third_party  # noqa: E402
from torchrepro_lint.verify.probes.registry import Unsupported  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="the real thing answers")


def refused(*arguments: object) -> None:
    raise RuntimeError("CUDA driver initialization failed, you might not have a CUDA gpu. More of it")


@pytest.mark.parametrize(
    ("built", "gpu", "count", "told"),
    [
        (None, None, 0, "no CUDA device here"),
        (None, "K80", 0, "this PyTorch is built without CUDA, for the K80 that is here"),
        ("12.8", None, 0, "no CUDA device here"),
        ("12.8", "K80", 1, "PyTorch cannot use the K80 that is here: CUDA driver initialization failed, you might not"),
        ("12.8", None, 1, "PyTorch cannot use the GPU that is here: CUDA driver initialization failed"),
    ],
)
def test_why_there_is_no_gpu(
    built: str | None, gpu: str | None, count: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.version, "cuda", built)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(torch.cuda, "set_device", refused)
    assert (why_no_cuda(gpu) or "").startswith(told)


def test_a_gpu_that_cannot_be_used_costs_no_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", refused)
    found = environment.manifest({}, cuda="cuda")
    assert found["torch"] == torch.__version__
    assert not found.get("cudnn")


def test_the_libraries_of_a_gpu_tell_their_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "nccl", SimpleNamespace(version=lambda: (2, 27, 3)))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: "K80")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index: (3, 7))
    found = environment._gpu(0)
    assert (found["gpu"], found["compute_capability"], found["nccl"]) == ("K80", "3.7", "2.27.3")


@pytest.mark.parametrize(("status", "told"), [(0, "12.8.4"), (1, None)])
def test_cublas_is_asked_itself(status: int, told: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(which: int, into: Any) -> int:
        into._obj.value = (12, 8, 4)[which]
        return status

    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(cublasGetProperty=ask))
    assert environment._cublas("12.8") == told


def test_cublas_is_not_there() -> None:
    assert environment._cublas("1.0") is None


@pytest.mark.skipif(os.name != "posix", reason="a script is no program elsewhere")
@pytest.mark.parametrize("script", ["#!/bin/sh\nexit 9\n", "#!/no/such/program\n"])
def test_a_broken_nvidia_smi(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "nvidia-smi"
    fake.write_text(script)
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment._nvidia().get("gpu") is None


def test_a_version_file_without_a_version(tmp_path: Path) -> None:
    (tmp_path / "version").write_text("NVRM version: unknown\n")
    assert environment.driver_of_kernel(tmp_path / "version") is None


def test_too_little_memory_on_a_gpu() -> None:
    assert of_memory(torch.cuda.OutOfMemoryError("CUDA out of memory"))
    assert not of_memory(RuntimeError("something else"))


def test_a_package_for_gpus_runs_nothing_on_a_cpu() -> None:
    with pytest.raises(Unsupported, match="CUDA only"):
        third_party._require_cuda(torch.device("cpu"))


@pytest.mark.parametrize(("release", "wanted"), [("2.9.1", ":4096:8"), ("2.13.0", None)])
def test_older_releases_have_a_workspace(release: str, wanted: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict[str, str]())
    monkeypatch.setattr(metadata, "version", lambda name: release)
    worker._settle_cublas()
    assert os.environ.get("CUBLAS_WORKSPACE_CONFIG") == wanted
