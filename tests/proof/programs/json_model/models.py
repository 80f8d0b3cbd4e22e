from torch import nn


class MLP(nn.Module):
    def __init__(self, length, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(length, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


class GRU(nn.Module):
    def __init__(self, length, hidden):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        states, _ = self.rnn(x.unsqueeze(2))
        return self.out(states[:, -1]).squeeze(1)


MODELS = {"mlp": MLP, "gru": GRU}
