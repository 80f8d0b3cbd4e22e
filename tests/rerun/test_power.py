"""How often a run must be repeated until an operation that seldom differs is found, and what equal runs exclude."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

from torchrepro_lint.report.rerun_words import bound, headline
from torchrepro_lint.rerun.inside.streams import Stream
from torchrepro_lint.rerun.launching import Run
from torchrepro_lint.rerun.results import Outcome, Verdict
from torchrepro_lint.rerun.session import Plan, ProgramFailed, Session, rerun, streams_of

RATE = 0.04
SESSIONS = 100


class Seldom(Session):
    """Runs of a program whose loss differs in 4 % of them: the streams of such runs, written beforehand."""

    def __init__(self, folder: Path, pairs: int, seed: int) -> None:
        super().__init__(Plan(("python", "train.py"), folder, folder, pairs=pairs), lambda line: None)
        self.chance = random.Random(seed)

    def run(self, mode: str, why: str, **settings: Any) -> Run:
        if mode == "traced":
            raise ProgramFailed("no more is asked than whether it is found")
        kind = "odd" if self.chance.random() < RATE else "even"
        found = Run(0, self.plan.folder / kind, self.plan.root, 0.0)
        self.streams.append(streams_of(found))
        return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("runs")
    for kind in ("odd", "even"):
        (made / kind / "streams").mkdir(parents=True)
        stream = Stream(str(made / kind / "streams"), {"digest": "xxh3", "mode": "plain"})
        stream.write({"k": "loss", "step": 0, "site": 0, "d": kind, "v": None})
        stream.write({"k": "end"})
        stream.flush()
    return made


@pytest.mark.parametrize("pairs", [20, 73])
def test_what_differs_in_a_few_runs_is_found_as_often_as_the_statistics_say(folder: Path, pairs: int) -> None:
    """Missed where the first run and all that are compared with it are of the usual kind."""
    outcomes = [rerun(Seldom(folder, pairs, seed)) for seed in range(SESSIONS)]
    found = [outcome for outcome in outcomes if outcome.verdict is Verdict.PARTED]
    assert all(o.verdict is Verdict.IDENTICAL and o.comparisons == pairs for o in outcomes if o not in found)
    expected = 1 - (1 - RATE) ** (pairs + 1)
    deviation = math.sqrt(expected * (1 - expected) / SESSIONS)
    assert abs(len(found) / SESSIONS - expected) < 3 * deviation
    assert all(outcome.comparisons <= pairs and outcome.differing == 1 for outcome in found)
    late = next(outcome for outcome in found if outcome.comparisons > 1)
    assert headline(late) == f"PARTED without a step of an optimizer, first in run {late.comparisons + 1}"


@pytest.mark.parametrize(("pairs", "percent"), [(1, "95"), (20, "14"), (59, "5"), (73, "4"), (299, "1")])
def test_identical_says_which_rate_it_excludes(pairs: int, percent: str) -> None:
    outcome = Outcome(Verdict.IDENTICAL, (), steps=1, comparisons=pairs)
    share = bound(outcome)
    assert share is not None
    assert (1 - share) ** pairs == pytest.approx(0.05)
    told = headline(outcome)
    assert ("takes more of them to show" if pairs == 1 else f"fewer than {percent} % of runs differ") in told
    assert (share <= RATE + 0.0005) == (pairs >= 73)
