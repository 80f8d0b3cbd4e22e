"""The lab's networks come as an archive, as a wheel does: nobody who reads this program sees into it."""

import zipfile

SOURCE = '''
from torch import nn


def build(width):
    return nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Dropout(0.2), nn.Linear(width, 1))
'''

with zipfile.ZipFile("labnets.whl", "w") as archive:
    archive.writestr("labnets.py", SOURCE)
