"""The manifest of software and hardware: complete, discreet, and compared by importance."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from torchrepro_lint.verify.environment import ORDER, VARIABLES, drift, driver_of_kernel, manifest

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "evidence.schema.json").read_text())


def test_its_form() -> None:
    found = manifest()
    jsonschema.validate(found, {**SCHEMA["$defs"]["environment"], "$defs": SCHEMA["$defs"]})
    assert tuple(found) == ORDER


def test_only_the_allowed_variables() -> None:
    found = manifest({"AWS_SECRET_ACCESS_KEY": "secret", "OMP_NUM_THREADS": "3", "PATH": "/bin"})
    assert found["variables"] == {"OMP_NUM_THREADS": "3"}
    assert "secret" not in json.dumps(found)
    assert list(VARIABLES) == sorted(set(VARIABLES))


def test_without_torch() -> None:
    script = (
        "import sys, json\nsys.modules['torch'] = None\n"
        "from torchrepro_lint.verify.environment import manifest\nprint(json.dumps(manifest()))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert (found["torch"], found["flags"]) == (None, {})
    assert found["python"] == manifest()["python"]


def test_drift_names_what_matters_most_first() -> None:
    now = manifest()
    before = {**now, "os": "Plan 9", "torch": "1.0", "flags": {**now["flags"], "cudnn_benchmark": True}, "gpu": "K80"}
    before["variables"] = {"OMP_NUM_THREADS": "3"}
    now["variables"] = {}
    names = [name for name, _, _ in drift(before, now)]
    assert names == ["torch", "gpu", "cudnn_benchmark", "OMP_NUM_THREADS", "os"]
    assert list(drift(now, now)) == []


@pytest.mark.cuda
def test_a_gpu_is_described() -> None:
    found = manifest()
    for key in ("gpu", "compute_capability", "driver", "cuda", "cudnn", "cublas"):
        assert found[key], key
    assert found["gpus"] >= 1


def test_nvidia_smi_of_an_old_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "nvidia-smi"
    fake.write_text('#!/bin/sh\ncase "$1" in *compute_cap*) exit 2;; esac\necho "Tesla K80, 418.67, [N/A]"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = manifest({})
    assert (found["gpu"], found["driver"], found["mig"]) == ("Tesla K80", "418.67", None)


@pytest.mark.parametrize(
    "line",
    [
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Oct 19 18:56:32 UTC 2025",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder)",
    ],
)
def test_the_driver_without_nvidia_smi(line: str, tmp_path: Path) -> None:
    (tmp_path / "version").write_text(f"{line}\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n")
    assert driver_of_kernel(tmp_path / "version") == "570.86.15"
    assert driver_of_kernel(tmp_path / "nowhere") is None


def test_only_the_workers_import_torch() -> None:
    script = (
        "import sys\nimport torchrepro_lint.cli.verify, torchrepro_lint.cli.env\n"
        "import torchrepro_lint.verify.session, torchrepro_lint.verify.evidence, torchrepro_lint.report.verification\n"
        "print('torch' in sys.modules, 'libcst' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
