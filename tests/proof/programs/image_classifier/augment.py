import random

import numpy as np


class RandomFlip:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, img):
        return img[:, ::-1] if random.random() < self.p else img


class RandomShift:
    def __init__(self, pixels):
        self.pixels = pixels

    def __call__(self, img):
        dy, dx = np.random.randint(-self.pixels, self.pixels + 1, size=2)
        return np.roll(img, (dy, dx), axis=(0, 1))


class Compose:
    def __init__(self, *transforms):
        self.transforms = transforms

    def __call__(self, img):
        for t in self.transforms:
            img = t(img)
        return np.ascontiguousarray(img)
