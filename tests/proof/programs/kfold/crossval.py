"""Cross-validation of a small net on PCA features."""
import torch
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale
from torch import nn


def fit(x, y, epochs=30):
    model = nn.Sequential(nn.Linear(x.shape[1], 16), nn.GELU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return model


def cross_validate(x, y, k=3):
    results = []
    folds = StratifiedKFold(n_splits=k, shuffle=True)
    for number, (train, test) in enumerate(folds.split(x, y)):
        model = fit(x[train], y[train])
        with torch.no_grad():
            loss = nn.functional.cross_entropy(model(x[test]), y[test]).item()
        print(f"fold {number}: test loss {loss:.8f}")
        results.append({"loss": loss, "state": model.state_dict()})
    return results


def main():
    torch.manual_seed(2023)
    x, y = load_wine(return_X_y=True)
    x = PCA(6).fit_transform(scale(x))
    torch.save(cross_validate(torch.tensor(x, dtype=torch.float32), torch.tensor(y)), "folds.pt")


if __name__ == "__main__":
    main()
