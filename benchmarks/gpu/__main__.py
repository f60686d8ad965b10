"""Makes the kit, runs it, and writes what it found into docs/benchmarks.md."""

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.gpu import _read, _run
from benchmarks.gpu._kit import make_kit
from benchmarks.gpu._results import Results


def main() -> int:
    """Runs one command; returns the status of the process."""
    parser = argparse.ArgumentParser("python -m benchmarks.gpu", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    kit = commands.add_parser("kit", help="make a folder that needs no network")
    kit.add_argument("folder", type=Path)
    run = commands.add_parser("run", help="run all parts, or some")
    run.add_argument("out", type=Path, help="folder of the results")
    part = commands.add_parser("part", help="run one part in this process")
    part.add_argument("file", type=Path, help="file of the results")
    part.add_argument("name", help="name of the part")
    part.add_argument("module", help="module whose function `run` does it")
    part.add_argument("seconds", type=float, help="time that it may take")
    for command in (run, part):
        command.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
        command.add_argument(
            "--tiny", action="store_true", help="small inputs: does it work?"
        )
    run.add_argument("--parts", nargs="+", choices=_run.PARTS, default=list(_run.PARTS))
    read = commands.add_parser("read", help="write the results into docs/benchmarks.md")
    read.add_argument("out", type=Path, help="folder of the results")
    given = parser.parse_args()
    if given.command == "kit":
        make_kit(given.folder)
        return 0
    if given.command == "read":
        _read.publish_results(given.out)
        return 0
    if given.command == "part":
        options = {"device": given.device, "seconds": given.seconds, "is_tiny": given.tiny}
        import_module(given.module).run(Results(given.file, given.name, **options))
        return 0
    return _run.run_parts(given.out, given.parts, given.device, is_tiny=given.tiny)


if __name__ == "__main__":
    raise SystemExit(main())
