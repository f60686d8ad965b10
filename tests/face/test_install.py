"""One switch of the documentation says how to install; the README follows it."""

import re
from pathlib import Path

HOME = Path(__file__).parents[2]


def switch():
    """The folder of snippets that `mkdocs.yml` chooses, and the commands in it."""
    text = (HOME / "mkdocs.yml").read_text("utf-8")
    (folder,) = re.findall(r"^ +base_path: (\S+)", text, re.MULTILINE)
    lines = (HOME / folder / "install.txt").read_text("utf-8").splitlines()
    commands = [line.partition("#")[0].strip() for line in lines if line.startswith("    ")]
    return Path(folder).name, [command for command in commands if command]


def test_the_readme_installs_as_the_documentation_does():
    readme = (HOME / "README.md").read_text("utf-8").partition("\n## ")[0]
    assert [command for command in switch()[1] if command not in readme] == []


def test_nothing_installs_a_wheel_before_one_is_published():
    pages = [HOME / "README.md", *(HOME / "docs").rglob("*.md")]
    modules = (HOME / "python").rglob("*.py")
    named = re.compile(r"pip install [\"']?seqloom")
    texts = {path.name: path.read_text("utf-8") for path in (*pages, *modules)}
    found = [name for name, text in texts.items() if named.search(text)]
    assert switch()[0] == "pip" or found == []
