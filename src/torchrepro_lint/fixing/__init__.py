"""Fixes: applied to text, shown as a patch, and written to disk, whole or not at all."""

from __future__ import annotations

from torchrepro_lint.fixing.diff import unified_diff
from torchrepro_lint.fixing.disk import ConflictError, WriteError, recovered, refusal, write_files
from torchrepro_lint.fixing.edits import Applied, apply_edits

__all__ = [
    "Applied",
    "ConflictError",
    "WriteError",
    "apply_edits",
    "recovered",
    "refusal",
    "unified_diff",
    "write_files",
]
