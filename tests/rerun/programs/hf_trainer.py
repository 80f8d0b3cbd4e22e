# expect: UNSEEDED generator=torch shown_by=torch rule=TRP603
# needs: transformers
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Counting(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        ids = (torch.arange(6) + index) % 16
        return {"input_ids": ids, "labels": ids}


config = GPT2Config(vocab_size=16, n_positions=8, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)  # cause 1
arguments = TrainingArguments(
    output_dir="out", max_steps=3, per_device_train_batch_size=2, report_to=[], save_strategy="no", use_cpu=True
)
Trainer(model=model, args=arguments, train_dataset=Counting()).train()
