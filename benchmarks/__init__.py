"""Side-by-side measurements; nothing here is a test, and no test depends on a time."""
