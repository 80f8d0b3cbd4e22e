import torch.nn.functional as F


def forward(parameters, x):
    return F.interpolate(x, size=(64, 64), mode="bilinear")
