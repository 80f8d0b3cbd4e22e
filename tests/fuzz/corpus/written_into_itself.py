import torch
from torch import nn


class Aggregate(nn.Module):
    def forward(self, messages, index, nodes):
        out = messages.new_zeros(nodes, messages.size(-1))
        return out.scatter_add_(0, index, messages)


class Experts(nn.Module):
    def forward(self, tokens, index, weights):
        out = torch.zeros_like(tokens)
        return torch.index_add(out, 0, index, tokens * weights)


class MaskPool(nn.Module):
    def forward(self, regions, areas):
        areas = torch.zeros(8, device=regions.device)
        return areas.scatter_add_(0, regions, areas)


class Relations(nn.Module):
    def __init__(self, relations, width):
        relations().__init__()
        self.weight = nn.Parameter(torch.empty(relations, width, width))

    def forward(self, kinds):
        return torch.index_select(self.weight, 0, kinds)
