import math

import torch
from torch.nn.parameter import Parameter


class GraphConvolution(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super(GraphConvolution, self).__init__()
        self.weight = Parameter(torch.empty(in_features, out_features))
        self.bias = Parameter(torch.zeros(out_features))
        stdv = 1. / math.sqrt(out_features)
        self.weight.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        return torch.mm(adj, torch.mm(input, self.weight)) + self.bias
