"""Packs a GPU benchmark, runs it, and writes its results into docs/benchmarks.md."""

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.gpu import _run
from benchmarks.gpu._results import Results


def main() -> int:
    """Run one command and return the exit status of the process."""
    arguments = _make_parser().parse_args()
    match arguments.command:
        case "kit":
            from benchmarks.gpu._kit import make_kit

            make_kit(arguments.folder)
        case "read":
            from benchmarks.gpu._result_page import publish_results

            publish_results(arguments.out)
        case "part":
            _run_part(arguments)
        case _:
            device, is_tiny = arguments.device, arguments.tiny
            return _run.run_parts(arguments.out, arguments.parts, device, is_tiny=is_tiny)
    return 0


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.gpu", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    kit = commands.add_parser("kit", help="make a folder that needs no network")
    kit.add_argument("folder", type=Path)
    run = commands.add_parser("run", help="run all parts, or some")
    run.add_argument("out", type=Path, help="folder of the results")
    part = commands.add_parser("part", help="run one part in this process")
    part.add_argument("file", type=Path, help="file of the results")
    part.add_argument("name", help="name of the part")
    part.add_argument(
        "module", help="module whose function `run_benchmark` measures the part"
    )
    part.add_argument("seconds", type=float, help="time that the part may take")
    for command in (run, part):
        command.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
        command.add_argument(
            "--tiny", action="store_true", help="use small inputs, to show that it works"
        )
    run.add_argument(
        "--parts",
        nargs="+",
        choices=_run.MODULE_AND_SECONDS_OF_PART,
        default=list(_run.MODULE_AND_SECONDS_OF_PART),
    )
    read = commands.add_parser("read", help="write the results into docs/benchmarks.md")
    read.add_argument("out", type=Path, help="folder of the results")
    return parser


def _run_part(arguments: argparse.Namespace) -> None:
    options = {"device": arguments.device, "is_tiny": arguments.tiny}
    # Starts the clock before the import of torch, which counts towards the limit.
    results = Results(arguments.file, arguments.name, seconds=arguments.seconds, **options)
    import_module(arguments.module).run_benchmark(results)


if __name__ == "__main__":
    raise SystemExit(main())
