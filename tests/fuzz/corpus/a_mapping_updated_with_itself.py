from torch.utils.data import DataLoader

options = {"batch_size": 64}
options.update(options)
first, second = {"num_workers": 1}, {"shuffle": True}
first.update(second)
second.update(first)
loaders = [DataLoader([], **options), DataLoader([], **first), DataLoader([], **second)]
