"""The Permute page: its form, its state, its panels."""
