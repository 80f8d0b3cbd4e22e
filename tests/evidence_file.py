"""Evidence as the verifier writes it, for tests to change."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

_ENVIRONMENT = {
    "torch": "2.11.0+cu128", "torch_git": None, "cuda": "12.8", "cudnn": "9.10", "cublas": None, "nccl": None,
    "gpu": "NVIDIA Test 1", "gpus": 1, "compute_capability": "9.0", "mig": None, "driver": "570.1", "flags": {},
    "variables": {}, "cpu": "Test CPU", "cpu_capability": "AVX2", "threads": 2, "cores": 2, "numpy": "2.0",
    "python": "3.11.7", "os": "Linux",
}  # fmt: skip
_SLOWDOWN = {"median": 1.8, "iqr": [1.7, 1.9], "pairs": 20, "default_ms": 1.0, "deterministic_ms": 1.8}


def row(
    name: str,
    verdict: str,
    *,
    device: str = "cuda",
    distinct: int = 20,
    outcome: str | None = "switches",
    **arguments: Any,
) -> dict[str, Any]:
    """One row of 20 runs."""
    is_slower = outcome == "switches"
    return {
        "id": name, "probe": name, "device": device, "direction": "backward", "arguments": arguments,
        "verdict": verdict, "reason": None, "repeats": 20, "processes": 1, "distinct": distinct,
        "upper_bound": 0.1459 if distinct == 1 else None,
        "deterministic": {
            "outcome": outcome, "alert": "raised" if outcome == "raises" else None, "distinct": 1,
            "slowdown": copy.deepcopy(_SLOWDOWN) if is_slower else None,
        },
        "experiments": [],
    }  # fmt: skip


def document(*rows: dict[str, Any], **environment: Any) -> dict[str, Any]:
    """A whole file."""
    settings = {"repeats": 20, "processes": 1, "stress": False}
    return {
        "schema": 1, "tool": "0.1.0", "settings": settings, "environment": {**_ENVIRONMENT, **environment},
        "rows": list(rows),
    }  # fmt: skip


def write(path: Path, content: object) -> Path:
    """The file at `path`."""
    path.write_text(json.dumps(content))
    return path
