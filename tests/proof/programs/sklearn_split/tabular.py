import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)

X, y = load_iris(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

# a little noise against overfitting
X_train += np.random.normal(scale=0.05, size=X_train.shape)

train_ds = TensorDataset(torch.FloatTensor(X_train), torch.LongTensor(y_train))
train_dl = DataLoader(train_ds, batch_size=16, shuffle=True)

model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(10):
    for xb, yb in train_dl:
        loss = loss_fn(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()

    with torch.no_grad():
        test_loss = loss_fn(model(torch.FloatTensor(X_test)), torch.LongTensor(y_test))
    print(epoch, loss.item(), test_loss.item())

torch.save(model.state_dict(), 'mlp.pt')
