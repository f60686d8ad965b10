"""Executes the notebooks and writes their pages: all of them, or those that are named.

``python -m notebooks peptides`` executes ``notebooks/peptides.py`` in an empty folder and
writes ``peptides.md``, ``peptides.ipynb`` and ``peptides_files`` into ``docs/notebooks``. A
cell with the tag ``check`` stands in the notebook but not on the page.
"""

import asyncio
import io
import os
import sys
import time
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import MarkdownExporter
from PIL import Image
from traitlets.config import Config

HOME = Path(__file__).parent
PAGES = HOME.parent / "docs/notebooks"
AT_ONCE = 2
SECONDS_A_CELL = 120
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def main() -> None:
    """Executes what the command line names; without names, writes the whole folder anew."""
    sources = [HOME / f"{name}.py" for name in sys.argv[1:]]
    if not sources:
        rmtree(PAGES, ignore_errors=True)
        sources = sorted(HOME.glob("[!_]*.py"))
    os.environ |= surroundings()
    failures = asyncio.run(publish_all(sources))
    if failures:
        sys.exit("\n\n".join(failures))


def surroundings() -> dict[str, str]:
    """What cells find: the `seqloom` of this Python, our colours, a share of the cores."""
    folder = str(Path(sys.executable).parent)
    return {
        "PATH": os.pathsep.join([folder, os.environ["PATH"]]),
        "MATPLOTLIBRC": str(HOME / "matplotlibrc"),
        "OMP_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // AT_ONCE)),
    }


async def publish_all(sources: list[Path]) -> list[str]:
    """Publishes notebooks, some at a time; returns what went wrong in which."""
    turns = asyncio.Semaphore(AT_ONCE)
    found = await asyncio.gather(*(publish(source, turns) for source in sources))
    return [failure for failure in found if failure]


async def publish(source: Path, turns: asyncio.Semaphore) -> str | None:
    """Executes one notebook and writes its page, or returns what went wrong."""
    notebook = read(source)
    async with turns:
        begun = time.perf_counter()
        try:
            await execute(notebook)
        except CellExecutionError as error:
            return f"{source}, {describe(error, notebook)}"
        print(f"{source.stem:20}{time.perf_counter() - begun:6.1f} s", flush=True)
    write(source.stem, notebook)
    return None


def read(path: Path) -> Any:
    """Reads a Python file as a notebook without outputs."""
    notebook = jupytext.read(path, fmt="py:percent")
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL})
    return notebook


async def execute(notebook: Any) -> None:
    """Fills in the outputs, in an empty folder."""
    with TemporaryDirectory(prefix="seqloom-notebook-") as folder:
        resources = {"metadata": {"path": folder}}
        # The kernel listens at files of its folder, at no port that others could reach.
        config = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/.kernel"}})
        client = NotebookClient(
            notebook, config=config, resources=resources, timeout=SECONDS_A_CELL
        )
        await client.async_execute()


def describe(error: CellExecutionError, notebook: Any) -> str:
    """Names the cell that failed, and its error."""
    number, cell = next(
        (number, cell)
        for number, cell in enumerate(notebook.cells, start=1)
        if any(output.output_type == "error" for output in cell.get("outputs", []))
    )
    return f"cell {number}: {error.ename}: {error.evalue}\n\n{cell.source}"


def write(name: str, notebook: Any) -> None:
    """Writes the page, its pictures and the notebook."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
    resources = {"unique_key": name, "output_files_dir": f"{name}_files"}
    exporter = MarkdownExporter(template_file=str(HOME / "page.md.j2"))
    page, made = exporter.from_notebook_node(notebook, resources)
    title, text = page.strip().split("\n", 1)
    link = f"[Download this page as a notebook]({name}.ipynb){{ download }}"

    rmtree(PAGES / f"{name}_files", ignore_errors=True)
    (PAGES / f"{name}_files").mkdir(parents=True)
    for path, picture in made["outputs"].items():
        (PAGES / path).write_bytes(shrink(picture))
    (PAGES / f"{name}.md").write_text(f"{title}\n\n{link}\n{text}\n", encoding="utf-8")
    nbformat.write(notebook, PAGES / f"{name}.ipynb")


def shrink(picture: bytes) -> bytes:
    """Writes a PNG by 256 colours: a plot looks the same, and weighs a third."""
    made, plot = io.BytesIO(), Image.open(io.BytesIO(picture)).convert("RGB")
    plot.quantize(256, dither=Image.Dither.NONE).save(made, "PNG", optimize=True)
    return made.getvalue()


if __name__ == "__main__":
    main()
