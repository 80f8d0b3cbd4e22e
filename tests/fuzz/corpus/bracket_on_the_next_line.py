from torch.utils.data import SubsetRandomSampler


def per_class(indices):
    return [SubsetRandomSampler
(indices[label]) for label in sorted(indices)]
