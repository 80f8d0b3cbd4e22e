"""A whole run of `--fix` over several files, killed at a random moment, and the run after it.

Each run is a fork of a process that has imported the linter, so that most of its time is work. After the kill every file
is as it was or fixed; after the next run, which is given nothing to fix, all are as they were or all are fixed.

    python -m tests.fuzz.kills 1000 --seed 1
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

OLD = {
    "data.py": "from torch.utils.data import DataLoader, DistributedSampler\n\n\ndef loader(data):\n"
    "    return DataLoader(data, batch_size=8, sampler=DistributedSampler(data))\n",
    "train.py": "import torch\n\nfrom data import loader\n\n\ndef main(model, data):\n    batches = loader(data)\n"
    "    for epoch in range(3):\n        for x in batches:\n            model(x).sum().backward()\n\n\n"
    "if __name__ == '__main__':\n    main(torch.nn.Linear(2, 2), torch.zeros(64, 2))\n",
    **{f"part{n}.py": "import torch\n\ntorch.backends.cudnn.benchmark = True\n" * 20 for n in range(6)},
    "clean/nothing.py": "x = 1\n",
    "pyproject.toml": "",
}
BAD = ("LOST", "HALF WRITTEN", "MIXED", "LEFTOVERS")
ENDED = "ended before the kill"
MOST_RUNS = 10  # for each that is killed


def written(folder: Path) -> None:
    for name, text in OLD.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def contents(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in OLD if (folder / name).exists()}


def started(folder: Path, path: str) -> int:
    """A fork that fixes the files under a path; its process id."""
    child = os.fork()
    if child:
        return child
    status = 3
    try:
        os.chdir(folder)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        from torchrepro_lint.cli.program import program

        program(["check", path, "--fix", "--isolated"], standalone_mode=False)
        status = 0
    finally:
        os._exit(status)


def ended(child: int) -> int:
    return os.waitpid(child, 0)[1]


def killed(child: int, folder: Path, moment: float) -> bool:
    """Kill it after so many seconds; with a negative number, once it writes. Whether it was still running."""
    deadline = time.monotonic() + (moment if moment >= 0 else 30)
    while time.monotonic() < deadline:
        if moment < 0 and any(name.startswith(".torchrepro-") for name in os.listdir(folder)):
            time.sleep(-moment)
            break
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            break
        time.sleep(0.0002)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(ended(child))


def outcome(before: dict[str, str], after_kill: dict[str, str], after_next: dict[str, str], new: dict[str, str]) -> str:
    """In a word, what a kill did."""
    for name in OLD:
        if name not in after_kill or name not in after_next:
            return "LOST"
        if after_kill[name] not in (before[name], new[name]) or after_next[name] not in (before[name], new[name]):
            return "HALF WRITTEN"
    if after_next not in (before, new):
        return "MIXED"
    if after_kill not in (before, new):
        return "finished by the next run"
    return "before it wrote" if after_kill == before else "after it wrote"


def load(folder: Path) -> None:
    """A run in this process, so that no fork has to import and read what every run needs."""
    from torchrepro_lint import cards
    from torchrepro_lint.engine import Request
    from torchrepro_lint.repair import fix
    from torchrepro_lint.report import renderer
    from torchrepro_lint.settings import SettingsResolver

    fix(Request((folder,), SettingsResolver(cards.codes(), isolated=True)), unsafe=False, write=False)
    renderer("full")


def times(folder: Path) -> tuple[float, float]:
    """How long a run writes, and takes as a whole, in seconds."""
    start = time.monotonic()
    child = started(folder, ".")
    while not any(name.startswith(".torchrepro-") for name in os.listdir(folder)):
        time.sleep(0.0002)
    seen = time.monotonic()
    assert ended(child) == 0
    end = time.monotonic()
    return end - seen, end - start


def run(kills: int, seed: int) -> Counter[str]:
    """How often each outcome was, until so many runs were killed that had not ended; so far, where it is ended by
    Ctrl-C. Where most runs end before the moment, as on a machine that was busier at the start, it gives up."""
    random_ = random.Random(seed)
    outcomes: Counter[str] = Counter()
    folder = Path(tempfile.mkdtemp())
    try:
        written(folder)
        before = contents(folder)
        load(folder)
        writing, whole = times(folder)
        new = contents(folder)
        assert new != before
        with suppress(KeyboardInterrupt):
            while outcomes.total() - outcomes[ENDED] < kills and outcomes.total() < MOST_RUNS * kills:
                written(folder)
                moment = random_.uniform(0, whole * 1.05) if random_.random() < 0.3 else -random_.uniform(1e-9, writing)
                running = killed(started(folder, "."), folder, moment)
                after_kill = contents(folder)
                assert ended(started(folder, "clean")) == 0
                left = [name for name in os.listdir(folder) if name.startswith(".torchrepro-")]
                result = outcome(before, after_kill, contents(folder), new)
                outcomes["LEFTOVERS" if left else result if running else ENDED] += 1
    finally:
        shutil.rmtree(folder)
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    start = time.monotonic()
    outcomes = run(asked.kills, asked.seed)
    for word, number in outcomes.most_common():
        print(f"{number:6} {word}")
    print(f"{outcomes.total() - outcomes[ENDED]} kills in {time.monotonic() - start:.0f} s")
    raise SystemExit(any(outcomes[word] for word in BAD))


if __name__ == "__main__":
    main()
