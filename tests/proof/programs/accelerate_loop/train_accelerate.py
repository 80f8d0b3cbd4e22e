import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset


class CopyTask(Dataset):
    """Sequences that end with their first token."""

    def __init__(self, n=160, length=8, vocab=12):
        self.tokens = torch.stack([(torch.arange(length) * (i % 5 + 1) + i) % vocab for i in range(n)])

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return {"input_ids": self.tokens[i], "labels": self.tokens[i, 0]}


class Encoder(nn.Module):
    def __init__(self, vocab=12, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 32, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, input_ids, labels):
        logits = self.head(self.layer(self.embed(input_ids))[:, -1])
        return nn.functional.cross_entropy(logits, labels)


def main():
    accelerator = Accelerator(cpu=True)
    train_dataloader = DataLoader(CopyTask(), shuffle=True, batch_size=16)
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model, optimizer, train_dataloader = accelerator.prepare(model, optimizer, train_dataloader)

    for epoch in range(2):
        model.train()
        for step, batch in enumerate(train_dataloader):
            loss = model(**batch)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        accelerator.print(f"epoch {epoch}: {loss.item():.6f}")
    accelerator.wait_for_everyone()
    accelerator.save(accelerator.unwrap_model(model).state_dict(), "encoder.pt")


if __name__ == "__main__":
    main()
