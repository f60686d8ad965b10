"""The WebAssembly module and the page that `make web` builds, and helpers to run them."""

import gzip
import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

import chromium

REPOSITORY = Path(__file__).parent.parent
DIST_FOLDER = REPOSITORY / "web/dist"
WASM_MODULE = DIST_FOLDER / "seqloom_web.wasm"
DEMO_FASTA = REPOSITORY / "python/seqloom/_demo/test.fa.gz"

needs_module = pytest.mark.skipif(not WASM_MODULE.exists(), reason="no web/dist: make web")
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="no Node.js")
needs_page = pytest.mark.skipif(
    not (DIST_FOLDER / "splice.seqloom.zip").exists(), reason="no web/dist: make web"
)
needs_browser = pytest.mark.skipif(not chromium.find(), reason="no Chromium")


def ask(*questions: dict[str, Any]) -> list[Any]:
    """Send requests to the module in Node, one after the other."""
    command = ["node", str(REPOSITORY / "tests/web/ask.mjs"), str(WASM_MODULE)]
    text = json.dumps(questions)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def packed(folder: Path, out: Path) -> str:
    """Return an exported folder as a zip without compression."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    return str(out)


def records(count: int) -> list[tuple[str, str]]:
    """Return the first records of the demo: ids and sequences."""
    parts = gzip.decompress(DEMO_FASTA.read_bytes()).decode().split(">")[1 : count + 1]
    lines = [part.split("\n", 1) for part in parts]
    return [(head.split()[0], rest.replace("\n", "")) for head, rest in lines]


def fasta(out: Path, letters: list[tuple[str, str]]) -> str:
    """Return records as FASTA."""
    out.write_text("".join(f">{name}\n{sequence}\n" for name, sequence in letters))
    return str(out)
