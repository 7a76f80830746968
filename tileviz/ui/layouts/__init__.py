"""The Layouts page."""
