import numpy as np
import torch
from torch.utils.data import Dataset


def make_scene(size=32, max_boxes=3):
    image = np.random.rand(size, size).astype(np.float32) * 0.2
    boxes, labels = [], []
    for _ in range(np.random.randint(1, max_boxes + 1)):
        w, h = np.random.randint(4, 12, size=2)
        x, y = np.random.randint(0, size - w), np.random.randint(0, size - h)
        label = int(np.random.rand() < 0.5)
        image[y:y + h, x:x + w] += 0.4 + 0.4 * label
        boxes.append([x, y, x + w, y + h])
        labels.append(label)
    return torch.from_numpy(image)[None], torch.tensor(boxes).float(), torch.tensor(labels)


class Scenes(Dataset):
    def __init__(self, n):
        self.scenes = [make_scene() for _ in range(n)]

    def __len__(self):
        return len(self.scenes)

    def __getitem__(self, i):
        return self.scenes[i]


def collate(batch):
    images, boxes, labels = zip(*batch)
    return torch.stack(images), list(boxes), list(labels)
