"""One-stage detector on a grid: class, objectness and box at every cell, focal and smooth-L1 losses."""
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from scenes import Scenes, collate

STRIDE, CLASSES, GRID = 4, 2, 8


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.cls = nn.Conv2d(16, CLASSES, 1)
        self.box = nn.Conv2d(16, 4, 1)

    def forward(self, images):
        features = self.backbone(images)
        return self.cls(features), self.box(features).exp()


def assign(boxes, labels):
    """targets on the grid: the cell in the middle of a box is its own"""
    cls = torch.zeros(CLASSES, GRID, GRID)
    box = torch.zeros(4, GRID, GRID)
    mask = torch.zeros(GRID, GRID, dtype=torch.bool)
    for (x1, y1, x2, y2), label in zip(boxes, labels):
        i, j = int((y1 + y2) / 2 // STRIDE), int((x1 + x2) / 2 // STRIDE)
        cls[label, i, j] = 1
        cx, cy = (j + 0.5) * STRIDE, (i + 0.5) * STRIDE
        box[:, i, j] = torch.stack([cx - x1, cy - y1, x2 - cx, y2 - cy]).clamp(min=0.1) / STRIDE
        mask[i, j] = True
    return cls, box, mask


def dense_loss(cls_pred, box_pred, boxes, labels):
    cls, box, mask = map(torch.stack, zip(*[assign(b, l) for b, l in zip(boxes, labels)]))
    p = cls_pred.sigmoid()
    weight = torch.where(cls > 0, 1 - p, p) ** 2
    focal = (weight * F.binary_cross_entropy_with_logits(cls_pred, cls, reduction="none")).sum()
    chosen = mask[:, None].expand_as(box_pred)
    regression = F.smooth_l1_loss(box_pred[chosen], box[chosen], reduction="sum")
    return (focal + regression) / mask.sum()


def setup(seed=3407):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def main():
    dataset = Scenes(64)
    model = Detector()
    setup()
    loader = DataLoader(dataset, batch_size=8, shuffle=True, collate_fn=collate)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(3):
        for images, boxes, labels in loader:
            loss = dense_loss(*model(images), boxes, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"Epoch [{epoch + 1}/3], loss {loss.item():.6f}")
    torch.save(model.state_dict(), "detector.pt")


if __name__ == "__main__":
    main()
