"""``torchrun -m seqloom.cli``: the command line as a module that torchrun can start."""

from seqloom.cli import main

if __name__ == "__main__":
    main()
