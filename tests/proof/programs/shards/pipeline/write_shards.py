"""Eight shards of token sequences; the tag of a token is whether it repeats the one before."""
import os
import random

rng = random.Random(99)
os.makedirs("shards", exist_ok=True)
for shard in range(8):
    with open(f"shards/part-{shard:05d}.txt", "w") as f:
        for _ in range(24):
            tokens = [rng.randrange(10) for _ in range(12)]
            f.write(" ".join(map(str, tokens)) + "\n")
