"""Trains a character-level GPT on a few lines of text."""
import numpy as np
import torch

from model import GPT, GPTConfig

TEXT = """The sea is calm to-night. The tide is full, the moon lies fair upon the straits;
on the French coast the light gleams and is gone; the cliffs of England stand,
glimmering and vast, out in the tranquil bay. Come to the window, sweet is the night-air!
""" * 3

batch_size = 8
block_size = 16
max_iters = 40
torch.manual_seed(1337)

chars = list(set(TEXT))
stoi = {ch: i for i, ch in enumerate(chars)}
itos = {i: ch for i, ch in enumerate(chars)}
data = np.array([stoi[c] for c in TEXT], dtype=np.int64)


def get_batch():
    ix = np.random.randint(len(data) - block_size, size=batch_size)
    x = np.stack([data[i:i + block_size] for i in ix])
    y = np.stack([data[i + 1:i + 1 + block_size] for i in ix])
    return torch.from_numpy(x), torch.from_numpy(y)


model = GPT(GPTConfig(vocab_size=len(chars), block_size=block_size))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for iter_num in range(max_iters):
    X, Y = get_batch()
    loss = model(X, Y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if iter_num % 10 == 0:
        print(f"iter {iter_num}: loss {loss.item():.4f}")

torch.save({"model": model.state_dict(), "itos": itos}, "ckpt.pt")
