import random


class Corridor:
    """Walk right to the door; the floor is slippery."""

    def __init__(self, length=6, slip=0.2, rng=None):
        self.length = length
        self.slip = slip
        self.rng = rng or random.Random()

    def reset(self):
        self.pos = self.rng.randrange(self.length - 1)
        self.t = 0
        return self.pos

    def step(self, action):
        if self.rng.random() < self.slip:
            action = 1 - action
        self.pos = max(0, self.pos + (1 if action else -1))
        self.t += 1
        done = self.pos == self.length - 1 or self.t >= 30
        return self.pos, 1.0 if self.pos == self.length - 1 else -0.05, done
