"""The Banks and swizzles page."""
