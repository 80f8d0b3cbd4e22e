import random
import string

import torch

all_letters = string.ascii_letters + " .,;'"
n_letters = len(all_letters)

category_lines = {
    "Italian": ["Rossi", "Russo", "Ferrari", "Esposito", "Bianchi", "Romano", "Colombo"],
    "Scottish": ["Smith", "Brown", "Wilson", "Campbell", "Stewart", "Thomson", "Robertson"],
    "Japanese": ["Sato", "Suzuki", "Takahashi", "Tanaka", "Watanabe", "Ito", "Yamamoto"],
}
all_categories = list(category_lines)


def line_to_tensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for li, letter in enumerate(line):
        tensor[li][0][all_letters.find(letter)] = 1
    return tensor


def random_choice(l):
    return l[random.randint(0, len(l) - 1)]


def random_training_example():
    category = random_choice(all_categories)
    line = random_choice(category_lines[category])
    return category, line, torch.tensor([all_categories.index(category)]), line_to_tensor(line)
