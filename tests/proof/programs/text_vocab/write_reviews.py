"""Two folders of short film reviews."""
from pathlib import Path

GOOD = "great warm funny bright moving clever".split()
BAD = "dull slow cold empty messy loud".split()
FILLER = "the film is a story of people and plot with music".split()

for label, words in ("pos", GOOD), ("neg", BAD):
    folder = Path("reviews", label)
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(24):
        picked = [words[i % 6], words[(i * 5 + 1) % 6], *FILLER[i % 4:i % 4 + 5]]
        (folder / f"{i}.txt").write_text(" ".join(picked))
