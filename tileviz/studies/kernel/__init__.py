"""A user's own CUDA: it goes the same way as ours."""
