# expect: UNSEEDED generator=torch shown_by=torch rule=TRP101
# needs: lightning
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader


class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 1)  # cause 1

    def training_step(self, batch, index):
        return self.layer(batch).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


data = [torch.full((8,), number / 16) for number in range(16)]
trainer = L.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False)
trainer.fit(Module(), DataLoader(data, batch_size=4))
