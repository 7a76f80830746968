"""The Broadcast page: its form, its state, its panels."""
