import torch

torch.backends.cudnn.benchmark = True  # Faster R-CNN, see ticket 12
