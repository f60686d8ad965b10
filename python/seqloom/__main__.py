"""Run the command line with ``python -m seqloom``."""

from seqloom.cli import main

if __name__ == "__main__":
    main()
