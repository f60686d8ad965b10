"""``seqloom doctor``: what is installed, what it runs on, and what makes it slow."""

import json as json_text
import sys
from collections.abc import Iterator, Sequence

from seqloom.cli._doctor_advice import Advice, find_advice
from seqloom.cli._doctor_facts import find_facts
from seqloom.cli._machine import open_console, table_of
from seqloom.cli._options import Flag


def doctor(*, json: Flag = False) -> None:
    """Show versions, processor, threads, GPU, extras and cache, and what is slow and why.

    Example: seqloom doctor

    What it prints belongs into a report of a fault; of your files it names only the cache.

    Args:
        json: Print JSON, for another program to read.
    """
    facts, advice = find_facts(), find_advice()
    if json:
        found = {"facts": facts, "advice": [one._asdict() for one in advice]}
        sys.stdout.write(json_text.dumps(found, indent=2) + "\n")
        return
    console = open_console()
    console.print(table_of(facts))
    console.line()
    for line in _lines(advice):
        console.print(line)


def _lines(advice: Sequence[Advice]) -> Iterator[str]:
    """Writes what is slow, why, and what to do; or that nothing was found."""
    if not advice:
        yield "Nothing was found that makes seqloom slow here."
        return
    yield "What is slow or missing, and what to do:"
    for what, remedy in advice:
        yield f"- {what}"
        yield f"  {remedy}"
