"""A small convolutional network that tells flowers apart."""

from torch import nn


class FlowerNet(nn.Module):
    def __init__(self, num_classes, width=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.ReLU(),
        )
        self.pool = nn.AdaptiveAvgPool2d(3)
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(18 * width, num_classes))

    def forward(self, images):
        return self.head(self.pool(self.features(images)))
