"""A verdict on an operation as the draft of a finding, with what was measured of it. For TRP501 to TRP504."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.operation_words import places_of, properties_of, values_of
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.evidence import DTYPE
from torchrepro_lint.model import Certainty, Level

if TYPE_CHECKING:
    from torchrepro_lint.kernels.verdicts import Verdict


def draft_of(
    verdict: Verdict, program: Program, message: str | None, certainty: Certainty | None = None, *, raises: bool = False
) -> Draft:
    """The finding at the call. A measurement on CUDA can make it certain, one of the user's own a note; it says
    nothing against a call that `raises` under the program's flag."""
    from torchrepro_lint.kernels.measured import weighed  # imported late: large

    properties, level = dict(properties_of(verdict)), None
    arguments = properties["arguments"]
    assert isinstance(arguments, dict)
    dtype = {DTYPE: properties["dtype"]} if "dtype" in properties else {}
    known = weighed(verdict, {**arguments, **dtype}, program)
    if known is not None:
        properties["evidence"] = {**known.measured.as_json(), "words": known.words}
        if known.settled == "confirmed":
            certainty = Certainty.CERTAIN
        elif known.settled == "refuted" and not raises:
            certainty, level = Certainty.DEPENDS, Level.NOTE
    return Draft(
        verdict.call.node,
        values_of(verdict),
        message,
        level=level,
        certainty=certainty,
        related=places_of(verdict),
        properties=properties,
    )
