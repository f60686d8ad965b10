"""The notebooks of the documentation, and the program that executes them."""

import asyncio
import re
from pathlib import Path

import pytest
from notebooks import __main__ as notebooks

REPOSITORY = Path(__file__).parents[2]
NOTEBOOK_NAMES = sorted(path.stem for path in (REPOSITORY / "notebooks").glob("[!_]*.py"))
WORKING_NOTEBOOK = """
# %% [markdown]
# # A title

# %%
print("1", "000")

# %% alt="A line."
import matplotlib.pyplot as plt
plt.plot([1, 2])
plt.show()

# %% tags=["check"]
kept = 1
"""
FAILING_NOTEBOOK = """
# %%
print("fine")

# %%
raise ValueError("far off")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def failures(folder: Path) -> list[str]:
    """Return the messages for a notebook that works, and for a notebook that fails."""
    texts = {"works": WORKING_NOTEBOOK, "fails": FAILING_NOTEBOOK}
    sources = [folder / f"{name}.py" for name in texts]
    for source, text in zip(sources, texts.values(), strict=True):
        source.write_text(text.strip())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebooks, "PAGES", folder)
        return asyncio.run(notebooks.publish_notebooks(sources))


def test_each_notebook_is_in_the_list_of_notebooks():
    page = (REPOSITORY / "docs/notebooks.md").read_text()
    assert sorted(re.findall(r"notebooks/(\w+)\.md", page)) == NOTEBOOK_NAMES


@pytest.mark.parametrize("name", NOTEBOOK_NAMES)
def test_each_image_has_an_alternative_text(name: str):
    cells = (REPOSITORY / f"notebooks/{name}.py").read_text().split("# %%")
    drawing = [cell for cell in cells if "plt.show()" in cell]
    assert drawing
    assert all(cell.startswith(' alt="') for cell in drawing)


def test_a_failing_notebook_names_the_cell_and_the_error(failures: list[str]):
    (said,) = failures
    assert re.search(r"fails\.py, cell 2: ValueError: far off\n\nraise ValueError", said)


@pytest.mark.usefixtures("failures")
def test_a_failing_notebook_leaves_no_page(folder: Path):
    assert not (folder / "fails.md").exists()


@pytest.mark.usefixtures("failures")
def test_a_page_contains_printed_output(folder: Path):
    assert "```output\n1 000\n```" in (folder / "works.md").read_text()


@pytest.mark.usefixtures("failures")
def test_a_page_contains_figures(folder: Path):
    (path,) = re.findall(r"!\[A line\.\]\((.*)\)", (folder / "works.md").read_text())
    assert (folder / path).read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("failures")
def test_assertions_are_hidden_on_the_page(folder: Path):
    assert "kept" not in (folder / "works.md").read_text()
    assert "kept" in (folder / "works.ipynb").read_text()
