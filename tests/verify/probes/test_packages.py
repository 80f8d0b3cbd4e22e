"""Other packages: absent, whole, or built for another PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint.verify.experiment import Missing
from torchrepro_lint.verify.probes.packages import imported


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "broken_kernels cannot be imported"),
        ("import no_such_dependency", "broken_kernels cannot be imported: No module named 'no_such_dependency'"),
        ("raise OSError('undefined symbol: _ZN3c10')", "broken_kernels cannot be imported: undefined symbol: _ZN3c10"),
        (
            "raise RuntimeError('operator x::y does not exist\\nat 3')",
            "cannot be imported: operator x::y does not exist",
        ),
    ],
)
def test_what_cannot_be_imported_is_missing(
    text: str | None, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    if text is not None:
        (tmp_path / "broken_kernels.py").write_text(text, encoding="utf-8")
    with pytest.raises(Missing) as missing:
        imported("broken_kernels.ops" if text is None else "broken_kernels")
    assert missing.value.package == "broken_kernels"
    assert str(missing.value).endswith(reason)


def test_what_is_there_is_imported() -> None:
    assert imported("importlib.metadata").__name__ == "importlib.metadata"
