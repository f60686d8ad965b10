"""Installation commands in the documentation and in the public CI."""

import re
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).parents[2]
# A CI step that calls make; the name of make differs between operating systems.
MAKE_COMMAND_PATTERN = re.compile(r"(?:make|\$\{\{ matrix\.make \}\}) (.*)")


def switch():
    """Return the folder of snippets that `mkdocs.yml` selects, and the commands in it."""
    text = (REPOSITORY / "mkdocs.yml").read_text("utf-8")
    (folder,) = re.findall(r"^ +base_path: (\S+)", text, re.MULTILINE)
    lines = (REPOSITORY / folder / "install.txt").read_text("utf-8").splitlines()
    commands = [line.partition("#")[0].strip() for line in lines if line.startswith("    ")]
    return Path(folder).name, [command for command in commands if command]


def test_readme_and_documentation_have_the_same_install_commands():
    readme = (REPOSITORY / "README.md").read_text("utf-8").partition("\n## ")[0]
    assert [command for command in switch()[1] if command not in readme] == []


def test_no_page_installs_a_wheel_that_is_not_published():
    pages = [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]
    modules = (REPOSITORY / "python").rglob("*.py")
    named = re.compile(r"pip install [\"']?seqloom")
    texts = {path.name: path.read_text("utf-8") for path in (*pages, *modules)}
    found = [name for name, text in texts.items() if named.search(text)]
    assert switch()[0] == "pip" or found == []


def test_each_command_of_the_public_ci_is_a_make_target():
    targets = set(
        re.findall(
            r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text("utf-8"), re.MULTILINE
        )
    )
    words: set[str] = set()
    for file in (REPOSITORY / ".github/workflows").glob("*.yml"):
        text = file.read_text("utf-8")
        assert "://" not in text
        jobs = yaml.safe_load(text)["jobs"].values()
        steps = [step.get("run", "") for job in jobs for step in job["steps"]]
        for line in filter(None, map(MAKE_COMMAND_PATTERN.fullmatch, steps)):
            words.update(re.sub(r"\$\{\{.*\}\}", "", line[1]).split())
        for job in jobs:
            matrix = job.get("strategy", {}).get("matrix", {})
            words.update(" ".join(matrix.get("command", [])).split())
    assert words <= targets
    assert {"test", "wheels", "soak", "audit"} <= words
