"""A verdict on an operation as the draft of a finding, with what was measured of it. For TRP501 to TRP504."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.operation_words import places_of, properties_of, values_of
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.elements import Certainty
from torchrepro_lint.evidence import DTYPE

if TYPE_CHECKING:
    from torchrepro_lint.kernels.verdicts import OperationVerdict


def draft_of(verdict: OperationVerdict, program: Program, message: str | None, *, raises: bool = False) -> Draft:
    """The finding at the call. A measurement on CUDA makes it more certain; one of the user's own that showed nothing
    makes it a note, except for a call that `raises` under the program's flag."""
    from torchrepro_lint.kernels.measured import weighed  # imported late: large

    properties, certainty, depends = dict(properties_of(verdict)), verdict.certainty, verdict.depends
    arguments = properties["arguments"]
    assert isinstance(arguments, dict)
    dtype = {DTYPE: properties["dtype"]} if "dtype" in properties else {}
    known = weighed(verdict, {**arguments, **dtype}, program)
    if known is not None:
        properties["evidence"] = {**known.measured.as_json(), "words": known.words}
        if known.settled == "confirmed":
            certainty, depends = (Certainty.LIKELY if depends else Certainty.CERTAIN), ()
        elif known.settled == "refuted" and not raises:
            certainty, depends = Certainty.DEPENDS, ("other data than that of the measurement makes it vary",)
    return Draft(
        verdict.call.node,
        values_of(verdict),
        message,
        certainty=certainty,
        depends=depends,
        related=places_of(verdict),
        properties=properties,
    )
