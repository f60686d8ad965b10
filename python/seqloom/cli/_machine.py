"""What runs, and on what: the first line of long work."""

from importlib import metadata

from rich.console import Console

from seqloom.cli._options import MachineOptions


def version() -> str:
    """Gives the installed version."""
    return metadata.version("seqloom")


def open_console() -> Console:
    """Opens standard output; nothing in a file name is taken for markup."""
    return Console(markup=False, highlight=False, soft_wrap=True, emoji=False)


def announce(console: Console, machine: MachineOptions) -> None:
    """Prints version, backend, device and threads; an unknown backend is an error here."""
    from seqloom.tensor import backend as find_backend

    found = find_backend(machine.backend, num_threads=machine.threads)
    device = found.name.partition(":")[2] or "cpu"
    plural = "" if found.threads == 1 else "s"
    console.print(
        f"seqloom {version()}, backend {found.name.partition(':')[0]}, device {device}, "
        f"{found.threads} thread{plural}"
    )
