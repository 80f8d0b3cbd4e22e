"""What a rerun saw of the operations that findings are about: the shapes and dtypes that the program itself gave them.

Reads the JSON that `rerun` writes. Knows findings; nothing of PyTorch, and nothing of how a program is run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from torchrepro_lint.evidence import DTYPE, MAX_BYTES, SHAPE
from torchrepro_lint.model import Finding
from torchrepro_lint.reading import read_regular

Place: TypeAlias = "tuple[str, str, int]"  # the rule, the file and the line of a finding
_BACKWARD = "_backward"
_THROUGH_AN_INDEX = ("aten::put", "aten::index_", "aten::_index_put", "aten::scatter")
"""What writes values, its last input, through an index: the probes ask for the shape of these."""


class ObservedError(ValueError):
    """A file that no rerun has written; the text names it."""


class Observed:
    """The inputs of each operation that made two runs part, by the findings that predicted it."""

    def __init__(self, inputs: Mapping[Place, Mapping[str, Any]]) -> None:
        self._inputs = inputs

    @classmethod
    def read(cls, path: Path) -> Observed:
        """Raises ObservedError."""
        try:
            document = json.loads(read_regular(path, MAX_BYTES))
            inputs = {
                (told["code"], told["path"], told["line"]): _of_main(cause["operation"], cause["inputs"])
                for cause in document["causes"]
                if cause["operation"] is not None
                for told in cause["predicted_by"]
            }
        except OSError as error:
            raise ObservedError(f"{path}: cannot be read: {error.strerror or error}") from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
            raise ObservedError(f"{path}: is not what `rerun --output-format json` writes") from None
        return cls(inputs)

    def of(self, finding: Finding) -> Mapping[str, Any]:
        """The inputs of a finding's operation, as arguments of a task; none where the rerun did not come to it."""
        where = finding.location
        return self._inputs.get((finding.code, where.path, where.range.start.line), {})


def _of_main(operation: str, inputs: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the first input that holds floating-point numbers, or of the values that are written through an index. That of
    a backward operation is a gradient, which has the shape of an output."""
    numbers = [tensor for tensor in inputs if "float" in tensor["dtype"]]
    if not numbers:
        return {}
    main = numbers[-1 if operation.startswith(_THROUGH_AN_INDEX) else 0]
    shape = [int(size) for size in main["shape"]]
    is_shaped = shape and not operation.endswith(_BACKWARD)
    return {DTYPE: str(main["dtype"]), **({SHAPE: shape} if is_shaped else {})}
