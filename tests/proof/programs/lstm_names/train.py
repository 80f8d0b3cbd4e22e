import math
import time

import torch

from data import all_categories, n_letters, random_training_example

n_hidden = 24
n_iters = 120
print_every = 40

torch.manual_seed(0)


class LSTM(torch.nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(LSTM, self).__init__()
        self.lstm = torch.nn.LSTM(input_size, hidden_size)
        self.h2o = torch.nn.Linear(hidden_size, output_size)
        self.softmax = torch.nn.LogSoftmax(dim=1)

    def forward(self, line):
        _, (hidden, _) = self.lstm(line)
        return self.softmax(self.h2o(hidden[0]))


rnn = LSTM(n_letters, n_hidden, len(all_categories))
optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1)
criterion = torch.nn.NLLLoss()


def time_since(since):
    s = time.time() - since
    m = math.floor(s / 60)
    return '%dm %ds' % (m, s - m * 60)


start = time.time()
current_loss = 0
for it in range(1, n_iters + 1):
    category, line, category_tensor, line_tensor = random_training_example()
    output = rnn(line_tensor)
    loss = criterion(output, category_tensor)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    current_loss += loss.item()
    if it % print_every == 0:
        guess = all_categories[output.topk(1)[1][0].item()]
        correct = '✓' if guess == category else '✗ (%s)' % category
        print('%d %d%% (%s) %.4f %s / %s %s' % (
            it, it / n_iters * 100, time_since(start), current_loss / print_every, line, guess, correct))
        current_loss = 0

torch.save(rnn, 'char-rnn-classification.pt')
