"""Execute notebooks and write their pages: all notebooks, or those named as arguments.

``python -m notebooks peptides`` executes ``notebooks/peptides.py`` in an empty folder and
writes ``peptides.md``, ``peptides.ipynb`` and ``peptides_files`` into ``docs/notebooks``.
Cells with the tag ``check`` are in the notebook but not on the page.
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

NOTEBOOKS = Path(__file__).parent
PAGES = NOTEBOOKS.parent / "docs/notebooks"
PARALLEL_NOTEBOOKS = 2
CELL_TIMEOUT_SECONDS = 120
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def main() -> None:
    """Execute the named notebooks; without names, replace the whole folder of pages."""
    sources = [NOTEBOOKS / f"{name}.py" for name in sys.argv[1:]]
    if not sources:
        rmtree(PAGES, ignore_errors=True)
        sources = sorted(NOTEBOOKS.glob("[!_]*.py"))
    os.environ |= cell_environment()
    failures = asyncio.run(publish_notebooks(sources))
    if failures:
        sys.exit("\n\n".join(failures))


def cell_environment() -> dict[str, str]:
    """Return variables for the cells: command path, plot style and number of threads."""
    folder = str(Path(sys.executable).parent)
    return {
        "PATH": os.pathsep.join([folder, os.environ["PATH"]]),
        "MATPLOTLIBRC": str(NOTEBOOKS / "matplotlibrc"),
        "OMP_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // PARALLEL_NOTEBOOKS)),
    }


async def publish_notebooks(sources: list[Path]) -> list[str]:
    """Publish notebooks, several in parallel, and return the error messages."""
    semaphore = asyncio.Semaphore(PARALLEL_NOTEBOOKS)
    results = await asyncio.gather(
        *(publish_notebook(source, semaphore) for source in sources)
    )
    return [failure for failure in results if failure]


async def publish_notebook(source: Path, semaphore: asyncio.Semaphore) -> str | None:
    """Execute a notebook and write its page, or return an error message."""
    notebook = read_notebook(source)
    async with semaphore:
        start = time.perf_counter()
        try:
            await execute_cells(notebook)
        except CellExecutionError as error:
            return f"{source}, {describe_failure(error, notebook)}"
        print(f"{source.stem:20}{time.perf_counter() - start:6.1f} s", flush=True)
    write_page(source.stem, notebook)
    return None


def read_notebook(path: Path) -> Any:
    """Read a Python file as a notebook without outputs."""
    notebook = jupytext.read(path, fmt="py:percent")
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL})
    return notebook


async def execute_cells(notebook: Any) -> None:
    """Execute the cells in an empty folder and store their outputs."""
    with TemporaryDirectory(prefix="seqloom-notebook-") as folder:
        resources = {"metadata": {"path": folder}}
        # The kernel uses Unix sockets in its folder instead of network ports.
        config = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/.kernel"}})
        client = NotebookClient(
            notebook, config=config, resources=resources, timeout=CELL_TIMEOUT_SECONDS
        )
        await client.async_execute()


def describe_failure(error: CellExecutionError, notebook: Any) -> str:
    """Return a message with the number, the error and the source of the failed cell."""
    number, cell = next(
        (number, cell)
        for number, cell in enumerate(notebook.cells, start=1)
        if any(output.output_type == "error" for output in cell.get("outputs", []))
    )
    return f"cell {number}: {error.ename}: {error.evalue}\n\n{cell.source}"


def write_page(name: str, notebook: Any) -> None:
    """Write the page, its pictures and the notebook."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # execution times
    resources = {"unique_key": name, "output_files_dir": f"{name}_files"}
    exporter = MarkdownExporter(template_file=str(NOTEBOOKS / "page.md.j2"))
    page, output = exporter.from_notebook_node(notebook, resources)
    title, text = page.strip().split("\n", 1)
    link = f"[Download this page as a notebook]({name}.ipynb){{ download }}"

    rmtree(PAGES / f"{name}_files", ignore_errors=True)
    (PAGES / f"{name}_files").mkdir(parents=True)
    for path, picture in output["outputs"].items():
        is_png = path.endswith(".png")
        (PAGES / path).write_bytes(shrink_png(picture) if is_png else picture)
    (PAGES / f"{name}.md").write_text(f"{title}\n\n{link}\n{text}\n", encoding="utf-8")
    nbformat.write(notebook, PAGES / f"{name}.ipynb")


def shrink_png(picture: bytes) -> bytes:
    """Return a PNG with 256 colours: plots look the same at a third of the size."""
    small, plot = io.BytesIO(), Image.open(io.BytesIO(picture)).convert("RGB")
    plot.quantize(256, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


if __name__ == "__main__":
    main()
