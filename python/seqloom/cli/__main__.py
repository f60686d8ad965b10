"""Run the command line as a module, as in ``torchrun -m seqloom.cli``."""

from seqloom.cli import main

if __name__ == "__main__":
    main()
