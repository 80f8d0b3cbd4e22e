"""An outcome as the reports get it, with one cause of each sort that they show."""

from __future__ import annotations

from torchrepro_lint.rerun.results import Cause, Extent, Kind, Outcome, Predicted, Seen, Step, Verdict
from torchrepro_lint.rerun.streams import Place

SOURCE = "import torch\nfrom torch import nn\n\nmodel = nn.Linear(8, 1)\nx = table[index]  # <b>&amp;\nprint(x)\n"
PARTED = Outcome(
    verdict=Verdict.PARTED,
    command=("python", "train.py"),
    steps=8,
    first_step=3,
    causes=(
        Cause(
            Kind.UNSEEDED, Place("train.py", 4, "<module>"), (Place("train.py", 4, "<module>"),), 3,
            generator="torch", operation="aten::uniform_", detail="never seeded before aten::uniform_ draws from it",
            shown_by="torch", predicted_by=(Predicted("TRP101", Place("train.py", 4), "Seed it"),),
        ),
        Cause(
            Kind.OPERATION, Place("train.py", 5, "step"),
            (Place("train.py", 5, "step"), Place("train.py", 6, "main")), 4,
            process="rank1", rank=1, operation="aten::index_put_", detail="the result, of equal inputs",
            deterministic="agrees", extents=(Extent("float32 (1000, 64)", 0.25, 12.0, 2.4e-6),),
        ),
    ),
    curve=tuple(Step(n, (1 / (n + 1), 1 / (n + 1) + (n > 2) * 0.1), n <= 2) for n in range(8)),
    findings=(
        Seen("TRP101", Place("train.py", 4), "this program never seeds <torch>", "observed"),
        Seen("TRP204", Place("data.py", 9), "listed in any order", "not reached"),
    ),
    compared={"losses": 8},
    notes=("a note",),
    runs=8,
    differing=1,
    comparisons=1,
    digest="xxh3",
)  # fmt: skip
IDENTICAL = Outcome(Verdict.IDENTICAL, ("python", "train.py"), steps=8, compared={"losses": 8}, runs=60, comparisons=59)
