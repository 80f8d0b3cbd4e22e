from dataclasses import dataclass, fields
import json
from typing import Optional


@dataclass
class Config:
    epochs: int = 10
    window: int = 24
    lr: float = 1e-3
    hidden: int = 16
    seed: Optional[int] = None
    val_fraction: float = 0.1

    @classmethod
    def load(cls, path: str) -> "Config":
        with open(path) as f:
            raw = json.load(f)
        known = {f.name for f in fields(cls)}
        return cls(**{k: v for k, v in raw.items() if k in known})
