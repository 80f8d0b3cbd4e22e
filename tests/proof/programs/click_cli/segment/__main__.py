import random

import click
import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.utils.data import DataLoader

from segment.discs import Discs
from segment.unet import UNet


def dice(logits, mask):
    p = logits.sigmoid()
    return 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)


@click.command()
@click.option("--epochs", default=10, show_default=True)
@click.option("--base", default=8, show_default=True)
@click.option("--lr", default=1e-3, show_default=True)
@click.option("--seed", type=int, default=None, help="Seed everything.")
def main(epochs, base, lr, seed):
    """Segment discs in noise."""
    if seed is not None:
        random.seed(seed)
        torch.manual_seed(seed)
    net = UNet(base)
    optimizer = torch.optim.NAdam(net.parameters(), lr=lr)
    loader = DataLoader(Discs(48), batch_size=8)
    for epoch in range(epochs):
        for image, mask in loader:
            logits = net(image)
            loss = binary_cross_entropy_with_logits(logits, mask) + dice(logits, mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        click.echo(f"epoch {epoch + 1}: loss {loss.item():.5f}")
    torch.save(net.state_dict(), "unet.pt")


main()
