"""The Kernel lab page."""
