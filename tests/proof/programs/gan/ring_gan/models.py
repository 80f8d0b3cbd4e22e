import torch.nn as nn


def mlp(*sizes, last=None):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    layers.pop()
    if last is not None:
        layers.append(last)
    return nn.Sequential(*layers)


def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, 0.0, 0.1)
        nn.init.zeros_(m.bias)


def build(latent):
    generator = mlp(latent, 32, 32, 2)
    discriminator = mlp(2, 32, 32, 1)
    generator.apply(weights_init)
    discriminator.apply(weights_init)
    return generator, discriminator
