"""``python -m seqloom``: the command line, if the script is not on the path."""

from seqloom.cli import main

if __name__ == "__main__":
    main()
