"""Follow: where a value goes from the place that makes it, under a policy. The forward half of the data flow.

The edges along which a value moves are those of `edges`. A `Policy` says what one question makes of a place: a sink, a
barrier, a step of its own, or the engine's own edge. Knows nothing of what is followed, or why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic

from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.references import most_reads
from torchrepro_lint.dataflow.use import Argument, Escape, Found, Path, Sink, State, Step, Steps, Use
from torchrepro_lint.index import ModuleFacts, Scope

MAX_PATH = 6  # containers within one another; a loop that packs its own result would never end
AGAIN = 4  # times as many places as steps may be looked at: a search comes to few places more than once
FEW = 16  # steps, which any search may take
MANY = 64  # reads of one variable
LARGE = 200_000  # characters: hardly any file that people write has more


def _nothing_to_say(*_: object) -> None:
    return None


@dataclass(frozen=True)
class Policy(Generic[State, Found]):
    """One question. `at` judges a use of the value, `within` one of a container that holds it, `passed` an argument of
    something outside the project (or inside, of a class) by what is called: with the steps from there (none: a
    barrier), or with None where the engine's own edges are meant.

    `is_complete` asks for all uses: reads in other files count, and the search ends where the value escapes.
    """

    question: str
    at: Callable[[Use[State], Edges], Steps | None]
    within: Callable[[Use[State], Edges], Steps | None] = _nothing_to_say
    passed: Callable[[Use[State], Argument, str | Scope | None, Edges], Steps | None] = _nothing_to_say
    is_complete: bool = False
    bound: int = 600

    def bound_in(self, facts: ModuleFacts) -> int:
        """How many steps a search takes at most that starts in a file. In large ones, and where one variable is read
        over and over, as generated code is, it takes fewer, so that all searches together take no longer for their
        characters."""
        size, reads = len(facts.source.text), most_reads(facts)
        bound = self.bound if size <= LARGE else self.bound * LARGE // size
        return bound if reads <= MANY else bound * MANY // reads


class Follow(Generic[State, Found]):
    """One search: what it found out on its way, whatever the policy."""

    def __init__(self, policy: Policy[State, Found], program: Program) -> None:
        self.policy = policy
        self.program = program
        self.escaped = False
        self.files: set[str] = set()
        self.edges = Edges(program, policy.passed, is_complete=policy.is_complete)
        self._seen: set[tuple[object, State, Path]] = set()
        self._bound = policy.bound
        self._start: ModuleFacts | None = None
        self._tried = 0
        self._is_cut = False

    def found(self, start: Steps) -> Iterator[Found]:
        """The sinks, depth first: what the first step leads to comes before what the second does. At the bound, the
        search ends."""
        stack: list[Iterator[Step]] = [iter(start)]
        while stack and not (self.escaped and self.policy.is_complete) and not self._is_cut:
            match next(stack[-1], None):
                case None:
                    stack.pop()
                case Sink(found=found):
                    yield found
                case Use() as use if self._is_new(use):
                    stack.append(iter(self._steps(use)))
                case Escape():
                    self.escaped = True

    def is_new(self, node: object, state: State, path: Path = ()) -> bool:
        """Whether this is seen for the first time; the search ends where it comes round, and after many steps."""
        key = (node, state, path)
        self._tried += 1
        if self._tried == FEW and self._start is not None:
            self._bound = self.policy.bound_in(self._start)
        is_known = key in self._seen
        if self._tried > AGAIN * self._bound or (len(self._seen) >= self._bound and not is_known):
            self.escaped = self._is_cut = True
        elif len(path) > MAX_PATH and not is_known:
            self.escaped = True
        elif not is_known:
            self._seen.add(key)
            return True
        return False

    def _is_new(self, use: Use[State]) -> bool:
        if self._start is None:
            self._start = use.scope.facts
        if not self.is_new(use.node, use.state, use.path):
            if self._is_cut:
                place = (use.scope.facts.source.rel, use.node.lineno, use.node.col_offset)
                self.program.store.cut(self.policy.question, place)
            return False
        self.files.add(str(use.scope.facts.source.path))
        return True

    def _steps(self, use: Use[State]) -> Steps:
        judge = self.policy.within if use.path else self.policy.at
        steps = judge(use, self.edges)
        return self.edges.of(use) if steps is None else steps
