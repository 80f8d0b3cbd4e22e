from .reproducibility import seed_everything
