"""Count the words of the project, and find sentences that a stranger cannot read.

`python tests/measure_prose.py` prints words and findings of each kind of text: pages,
docstrings, comments, messages and names. With paths, the program prints each finding in
these files. With `--check` the program fails if there are more findings than
`[tool.seqloom.prose]` of pyproject.toml allows. `--sentences 140` and `--names 40`
print a sample, drawn with the hash of the last commit as seed.
"""

import argparse
import random
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from prose_of_files import ROOT, Text, plain_sentences_of, sentences_of, texts_of

if TYPE_CHECKING:
    from pathlib import Path

GLOSSARY_PAGE = ROOT / "docs/concepts/glossary.md"
MAX_SENTENCE_WORDS = 25
MAX_GLOSSARY_ENTRIES = 60
MAX_EXCEPTIONS = 30

# Regular expressions of words to avoid, ignoring case, with advice for each.
ADVICE_FOR_WORD = {
    r"anew": "again",
    r"at hand": "available",
    r"behind": "after, later; 'below' in a picture",
    r"beside": "next to, in addition to; 'compared with' for comparisons",
    r"by itself|by themselves|by oneself": "alone, separately",
    r"(?:of|for) (?:ours|theirs|one's own|its own|their own)": "our, its, their; separate",
    r"go(?:es)? on|went on|going on|gone on": "continue, resume",
    r"(?:is|are|was|were) said to": "state the fact",
    r"so (?:many|much|deep|long|few|large|little)": "the number; the limit",
    r"(?:what|who|which|where)(?:so)?ever|(?:some|no|every|any)body": "the noun",
    r"someone|anyone|everyone": "the user, the caller",
    r"of which|in which case": "split the sentence",
    r"(?:of|from|for|to|than|with|by|into|in|on|at|all|as|is|are|be|and|or) what": "a noun",
    r"told|tells?|telling|says?|saying": "warn, report, print, raise",
    r"asks?|asked|asking": "request, read, call",
    r"judges?|judged|judging": "evaluate",
    r"teach(?:es)?|taught|teaching": "train",
    r"knows?|knew": "store, have, record, support",
    r"stands?|stood|standing|lies|lying|lay": "is, exists, contains",
    r"(?:is|are|was|were|be) there": "exists",
    r"lent|lends?|lending|dealt|deals?|shared out": "borrow, split",
    r"drafts?|drafted|drafters?": "make, batch maker",
    r"rings?(?! buffer)|tidy|tidied|tidies|doubts?|sights?|teams?": "a metaphor",
    r"shall": "'must', 'should' or the imperative",
    r"meant": "name the thing",
    r"hence(?:forth)?|there(?:by|in|of)|where(?:by|in)|thus": "plain words",
    r"each two": "every pair of",
    r"in the way of|after the manner": "like",
    r"by now|any more": "'already'; delete it",
    r"comes? out|came out": "result, return",
    r"take[sn]? (?:place|along(?! axis))": "happen, move",
    r"of course|simply|obviously|just|merely": "delete it",
}
_AVOIDED_WORDS_PATTERN = re.compile(
    r"(?<![\w-])(?:"
    + "|".join(f"({pattern})" for pattern in ADVICE_FOR_WORD)
    + r")(?![\w-])",
    re.IGNORECASE,
)
# Beginnings of sentences that have a clause as their subject, or no subject.
_SUBJECTLESS_START_PATTERN = re.compile(
    r"What\b(?!.*\?$)|(?:That|Whether(?! to)|How|Where|When|Who|Which)\b(?!.*[,?])"
    r"|(?:So|As) (?:that|a|an|the|long|many|much|few)\b(?!.*,)|Of (?!course)"
)
_WORD_LETTERS_PATTERN = re.compile(r"(?<![\w-])letters?(?![\w-])", re.IGNORECASE)
# Names that do not describe their object.
_VAGUE_NAME_PATTERN = re.compile(
    r"each case|found|made|given|kept|told|got|things?|most|few|many|plain|near|far|large"
    r"|small|wide|narrow|known|none|nothing|others|shown|longest|least|lowest|fewest|enough"
    r"|one|two|four|at once|looked at|alike|besides|usual|half|needed|whole|ours|pieces?"
    r"|some|any|several|apart|here|late|helped|drawn|mark"
)
# Names of tables that several modules define, because one module collects them.
_ALLOWED_REPEATED_NAMES = {
    *("grad rules", "shape rules", "library functions", "operators", "format", "stream"),
    *("t", "name", "part"),
}
_MAX_FILES_OF_A_NAME = 2
# The class, function or Rust type around a definition.
_OWNER_PATTERN = re.compile(
    r"(?:pub(?:\(\w+\))? )?(?:unsafe )?"
    r"(?:(?:class|def|trait|mod|fn) (\w+)"
    r"|impl(?:<.*?>)? (?:[\w:]+(?:<.*?>)? for )?&?(?:\w+::)*(\w+))"
)


class Finding(NamedTuple):
    """A text that violates a rule, with the match and the advice."""

    text: Text
    found: str
    advice: str


def findings_in_prose(text: Text, synonyms: dict[str, str]) -> Iterator[Finding]:
    """Yield the findings in a paragraph, comment or message."""
    for sentence in plain_sentences_of(text):
        yield from _avoided(text, sentence)
        for match in _WORD_LETTERS_PATTERN.finditer(sentence):
            yield Finding(text, match[0], "residues or bases; 'characters' for text")
        if _SUBJECTLESS_START_PATTERN.match(sentence) and len(sentence.split()) > 2:
            yield Finding(text, sentence, "begin with a noun or a verb")
        if len(re.findall(r"[\w'-]*[A-Za-z][\w'-]*", sentence)) > MAX_SENTENCE_WORDS:
            yield Finding(text, sentence, f"at most {MAX_SENTENCE_WORDS} words")
        for word, right in synonyms.items():
            if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", sentence.lower()):
                yield Finding(text, word, f"the glossary calls it {right}")


def findings_in_name(text: Text) -> Iterator[Finding]:
    """Yield the findings in a name."""
    yield from _avoided(text, text.text)
    if _VAGUE_NAME_PATTERN.fullmatch(text.text):
        yield Finding(text, text.text, "name what it holds or does")


def _avoided(text: Text, sentence: str) -> Iterator[Finding]:
    for match in _AVOIDED_WORDS_PATTERN.finditer(sentence):
        yield Finding(
            text, match[0], list(ADVICE_FOR_WORD.values())[int(match.lastindex or 1) - 1]
        )


def repeated_names(texts: list[Text]) -> Iterator[Finding]:
    """Yield constants and classes of the package that more than two files define."""
    places: dict[tuple[str, str], dict[Path, Text]] = {}
    for text in texts:
        folder = text.file.relative_to(ROOT).parts[0]
        if folder in {"python", "crates"} and _is_constant_or_class(text):
            places.setdefault((text.file.suffix, text.text), {})[text.file] = text
    for (_, name), definitions in places.items():
        if len(definitions) > _MAX_FILES_OF_A_NAME and name not in _ALLOWED_REPEATED_NAMES:
            for text in definitions.values():
                yield Finding(text, name, f"{len(definitions)} files define this name")


def _is_constant_or_class(text: Text) -> bool:
    if text.kind != "name":
        return False
    line = text.file.read_text("utf-8").split("\n")[text.line - 1]
    return re.match(r"_?[A-Z][A-Z_\d]*\b|\s*(?:pub.* )?(?:const|class) ", line) is not None


def glossary_rows() -> list[list[str]]:
    """Return the entries of the glossary: word, definition, words that it replaces."""
    lines = GLOSSARY_PAGE.read_text("utf-8").split("\n")
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
    return [row for row in rows if len(row) > 1 and row[0] != "word" and "--" not in row[0]]


def synonyms_of(rows: list[list[str]]) -> dict[str, str]:
    """Return the word of the glossary for each word that it replaces."""
    replaced = [
        (word.strip(), row[0]) for row in rows for word in "".join(row[2:]).split(",")
    ]
    return {word: right for word, right in replaced if word}


def texts_below(paths: list[str]) -> list[Text]:
    """Return the prose of all tracked files, or of those below the paths."""
    folders = ["python", "crates", "tests", "benchmarks", "examples", "notebooks", "faults"]
    names = _git(
        "ls-files", "--", *(paths or [*folders, "fuzz", "docs", "*.md"])
    ).splitlines()
    files = [ROOT / name for name in names if name.endswith((".md", ".py", ".rs"))]
    return [text for file in files for text in texts_of(file)]


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def print_sample(texts: list[Text], *, sentences: int, names: int) -> None:
    """Print sentences of at least four words, and names."""
    draw = random.Random(_git("rev-parse", "HEAD"))  # noqa: S311 - a sample, no secret
    prose = [
        f"[{text.kind}] {sentence}"
        for text in texts
        if text.kind != "name"
        for sentence in sentences_of(text)
        if len(sentence.split()) > 3
    ]
    named = [text for text in texts if text.kind == "name"]
    lines = draw.sample(prose, sentences)
    lines += map(_qualified_name, draw.sample(named, names))
    for number, line in enumerate(lines, 1):
        print(f"{number}. {line}")


def _qualified_name(text: Text) -> str:
    """Return a name with the class, function or module around it, as in `Run.save`."""
    lines = text.file.read_text("utf-8").split("\n")[: text.line]
    name, indent = text.text.replace(" ", "_"), _indent_of(lines[-1])
    for line in reversed(lines):
        if line.strip() and _indent_of(line) < indent:
            owner = _OWNER_PATTERN.match(line.strip())
            if owner is not None:
                return f"{owner[1] or owner[2]}.{name}"
            indent = _indent_of(line)
    return name if name.startswith("test_") else f"{text.file.stem.strip('_')}.{name}"


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def find(texts: list[Text], paths: list[str], exceptions: list[str]) -> list[Finding]:
    """Return the findings; find repeated names only if all files are searched."""
    synonyms = synonyms_of(glossary_rows())
    listed = {row[2] for row in glossary_rows() if len(row) > 2}
    findings = [] if paths else list(repeated_names(texts))
    for text in texts:
        if text.kind == "name":
            findings += () if text.text in exceptions else findings_in_name(text)
        elif text.text not in listed and not any(part in text.text for part in exceptions):
            findings += findings_in_prose(text, synonyms)
    return findings


def print_findings(texts: list[Text], findings: list[Finding]) -> None:
    """Print words and findings of each kind of text."""
    counts = Counter(finding.text.kind for finding in findings)
    words = Counter[str]()
    for text in texts:
        words[text.kind] += len(text.text.split())
    for kind in words:
        print(f"{kind:12} {words[kind]:8,} words {counts[kind]:7,} findings")


def check(findings: list[Finding], limit: int, exceptions: list[str]) -> None:
    """Exit with an error if there are too many findings, exceptions or glossary entries."""
    if len(findings) > limit:
        sys.exit(f"{len(findings)} findings, at most {limit}: name a file to see its own")
    if len(exceptions) > MAX_EXCEPTIONS:
        sys.exit(f"{len(exceptions)} exceptions, at most {MAX_EXCEPTIONS}")
    if len(glossary_rows()) > MAX_GLOSSARY_ENTRIES:
        sys.exit(f"the glossary has {len(glossary_rows())} entries")


def main() -> None:
    """Print words and findings, the findings of some files, or a sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sentences", type=int, default=0)
    parser.add_argument("--names", type=int, default=0)
    options = parser.parse_args()
    texts = texts_below(options.paths)
    if options.sentences or options.names:
        print_sample(texts, sentences=options.sentences, names=options.names)
        return
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    limit, exceptions = rules["tool"]["seqloom"]["prose"].values()
    findings = find(texts, options.paths, exceptions)
    for (_, file, line, _), found, advice in findings if options.paths else ():
        print(f"{file.relative_to(ROOT)}:{line}: {found[:160]} -> {advice}")
    print_findings(texts, findings)
    if options.check:
        check(findings, limit, exceptions)


if __name__ == "__main__":
    main()
