"""``python -m tileviz``."""

from tileviz.cli import main

if __name__ == "__main__":
    main()
