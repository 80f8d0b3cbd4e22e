import numpy as np


class GridWorld:
    MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))

    def __init__(self, size=4):
        self.size = size
        self.np_random = np.random.RandomState()

    def reset(self):
        self.pos = tuple(self.np_random.randint(self.size, size=2))
        self.steps = 0
        return self.observe()

    def observe(self):
        board = np.zeros((self.size, self.size), dtype=np.float32)
        board[self.pos] = 1
        return board.ravel()

    def step(self, action):
        if self.np_random.rand() < 0.1:
            action = self.np_random.randint(4)
        dy, dx = self.MOVES[action]
        y, x = self.pos
        self.pos = (min(max(y + dy, 0), self.size - 1), min(max(x + dx, 0), self.size - 1))
        self.steps += 1
        goal = self.pos == (self.size - 1, self.size - 1)
        return self.observe(), float(goal), goal or self.steps > 15
