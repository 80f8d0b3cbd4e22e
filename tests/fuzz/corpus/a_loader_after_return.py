def f1(a=1, *b, **c):
    return a
    loader = DataLoader(dataset, sampler=subset, generator=th.Generator().manual_seed(0))
    from torch.utils.data import DataLoader, SubsetRandomSampler


f1(f1)
