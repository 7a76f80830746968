"""The Block schedule page: its form, its state, its panels."""
