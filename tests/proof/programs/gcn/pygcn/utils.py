import numpy as np
import torch


def read_edges():
    """Who talks to whom in three small offices."""
    offices = {
        "sales": ["ann", "bob", "cid", "dora", "eve"],
        "labs": ["fay", "gus", "hal", "ida", "jon"],
        "legal": ["kim", "leo", "mia", "ned", "ola"],
    }
    edges, topics = [], {}
    for office, people in offices.items():
        for i, a in enumerate(people):
            topics[a] = office
            for b in people[i + 1:]:
                edges.append((a, b))
    edges += [("eve", "fay"), ("jon", "kim"), ("ola", "ann")]
    return edges, topics


def encode_onehot(labels):
    classes = set(labels)
    classes_dict = {c: np.identity(len(classes))[i, :] for i, c in enumerate(classes)}
    return np.array(list(map(classes_dict.get, labels)), dtype=np.int32)


def load_data():
    edges, topics = read_edges()
    nodes = list({name for edge in edges for name in edge})
    index = {name: i for i, name in enumerate(nodes)}
    adj = torch.eye(len(nodes))
    for a, b in edges:
        adj[index[a], index[b]] = adj[index[b], index[a]] = 1
    degree = adj.sum(1)
    adj = adj / degree.sqrt()[:, None] / degree.sqrt()[None, :]
    labels = torch.as_tensor(encode_onehot([str(topics[n]) for n in nodes])).argmax(1)
    features = torch.eye(len(nodes))
    idx_train = torch.arange(0, len(nodes), 2)
    idx_val = torch.arange(1, len(nodes), 2)
    return adj, features, labels, idx_train, idx_val
