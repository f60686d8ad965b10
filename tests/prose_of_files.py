"""Find the prose of a file: paragraphs, docstrings, comments, messages and names."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_DIRECTIVE_COMMENT = re.compile(r"#\s*(?:noqa|type:|pyright:|ruff:|fmt:|pragma|%%|!|-\*-)")
_SENTENCE_END = re.compile(
    r"(?<=[.!?])(?<! al\.)[\"')\]]*\s+(?=[\"'(\[`]*[A-Z0-9`]|seqloom)"
)
_SECTION_HEADING = re.compile(
    r"(?:Args|Returns|Raises|Yields|Example|Examples|Attributes|Note):"
)
_LIST_ITEM = re.compile(r"^(?:[-*+]|\d+\.) ")
_ARGUMENT_LINE = re.compile(r"^\s+(\*{0,2}\w+(?: \([^)]*\))?): (?=\S)")


class Text(NamedTuple):
    """A piece of prose: a paragraph, a table cell, a comment, a message or a name."""

    kind: str
    file: Path
    line: int
    text: str


def texts_of(file: Path) -> Iterator[Text]:
    """Yield the prose of a Markdown, Python or Rust file."""
    source = file.read_text("utf-8")
    match file.suffix:
        case ".md":
            for line, block in _paragraphs(source.split("\n"), start=1):
                yield Text("docs", file, line, block)
        case ".py":
            yield from _python(file, source)
        case _:
            yield from _rust(file, source)


def sentences_of(text: Text) -> list[str]:
    """Return the sentences of a text as they are written."""
    return [part.strip() for part in _SENTENCE_END.split(text.text) if part.strip()]


def plain_sentences_of(text: Text) -> list[str]:
    """Return the sentences of a text, with `X` in place of code, and links as text."""
    plain = re.sub(r"``[^`]+``|`[^`]+`", "X", text.text)
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    plain = re.sub(r"https?://\S+|\*\*|\{[^}]*\}|\\[nt]", " ", plain)
    sentences = sentences_of(text._replace(text=plain))
    if text.kind != "message":
        return sentences
    # An error has the form "problem: expected and found; remedy".
    return [
        part.strip() for it in sentences for part in re.split("[;:] ", it) if part.strip()
    ]


def _paragraphs(lines: list[str], *, start: int) -> Iterator[tuple[int, str]]:
    """Yield paragraphs, headings, list items and table cells without code."""
    block: list[str] = []
    first = start
    for number, line in enumerate([*_without_code(lines), ""], start):
        alone = line.startswith(("#", "|")) or not line
        if block and (alone or _LIST_ITEM.match(line)):
            yield first, " ".join(block)
            block = []
        if alone:
            cells = (
                line.strip("|").split("|") if line.startswith("|") else [line.lstrip("# ")]
            )
            yield from (
                (number, cell.strip()) for cell in cells if re.search("[a-z]{2}", cell)
            )
        else:
            first = first if block else number
            block.append(_LIST_ITEM.sub("", line) if not block else line)


def _without_code(lines: list[str]) -> Iterator[str]:
    """Yield each line, empty where it is code."""
    fenced = False
    previous = ""
    for raw in lines:
        line = raw.strip()
        is_fence = line.startswith(("```", "~~~"))
        fenced ^= is_fence
        is_code = is_fence or fenced or (raw.startswith("    ") and not previous)
        is_code |= line.startswith("<!--")
        previous = "" if is_code else line
        yield previous


def _python(file: Path, source: str) -> Iterator[Text]:
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = [node.value for node in nodes if isinstance(node, ast.Expr)]
    for node in docstrings:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for line, block in _docstring_parts(node.value, node.lineno):
                yield Text("docstring", file, line, block)
    yield from _python_comments(file, source)
    for node in nodes:
        if name := _defined_name(node, is_test="tests" in file.parts):
            yield Text("name", file, getattr(node, "lineno", 1), _words_of(name))
    if file.is_relative_to(ROOT / "python"):
        yield from _python_messages(file, nodes, docstrings)


def _python_messages(
    file: Path, nodes: list[ast.AST], docstrings: list[ast.expr]
) -> Iterator[Text]:
    parts = [part for n in nodes if isinstance(n, ast.JoinedStr) for part in n.values]
    others = set(map(id, docstrings + parts))
    for node in nodes:
        text = "" if id(node) in others else _literal(node)
        if _is_sentence(text):
            yield Text("message", file, getattr(node, "lineno", 1), text)


def _docstring_parts(text: str, line: int) -> Iterator[tuple[int, str]]:
    """Yield paragraphs and descriptions of arguments, without examples."""
    prose: list[str] = []
    example = False
    for raw in text.split("\n"):
        stripped = raw.strip()
        example = stripped.startswith(">>>") or (example and bool(stripped))
        is_prose = not example and not _SECTION_HEADING.fullmatch(stripped)
        prose.append(_ARGUMENT_LINE.sub("- ", raw).strip() if is_prose else "")
    yield from _paragraphs(prose, start=line)


def _python_comments(file: Path, source: str) -> Iterator[Text]:
    blocks: list[tuple[int, list[str]]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not _DIRECTIVE_COMMENT.match(token.string):
            line, column = token.start
            is_trailing = bool(token.line[:column].strip())
            if is_trailing or not blocks or line != blocks[-1][0] + len(blocks[-1][1]):
                blocks.append((line, []))
            blocks[-1][1].append(re.sub("^#:? ?", "", token.string))
    for first, lines in blocks:
        for line, text in _paragraphs(lines, start=first):
            yield Text("comment", file, line, text)


def _defined_name(node: ast.AST, *, is_test: bool) -> str:
    """Return the name of a function, class or constant; in tests, only names of tests."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name if name.startswith("test_") or not is_test else ""
        case ast.ClassDef(name=name):
            return "" if is_test else name
        case (
            ast.Assign(targets=[ast.Name(id=name)])
            | ast.AnnAssign(target=ast.Name(id=name))
        ):
            return name if name.isupper() else ""
        case _:
            return ""


def _literal(node: ast.AST) -> str:
    """Return a string as it is displayed, with `X` in place of each value."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_literal(value) or "X" for value in values)
        case _:
            return ""


def _is_sentence(text: str) -> bool:
    return len(re.findall(r"(?<!\S)[a-z]{2,}(?![\w(=/])", text)) > 3 and "<" not in text


def _rust(file: Path, source: str) -> Iterator[Text]:
    block: list[str] = []
    kind, first = "", 0
    for number, line in enumerate([*source.split("\n"), ""], 1):
        match = re.match(r"\s*(//[/!]?)(?:\s(.*)|$)", line)
        now = "" if match is None else "docstring" if len(match[1]) > 2 else "comment"
        if block and now != kind:
            for at, text in _paragraphs(block, start=first):
                yield Text(kind, file, at, text)
            block = []
        kind = now
        if match is None:
            yield from _rust_code(file, number, line)
        else:
            first = first if block else number
            block.append(match[2] or "")


def _rust_code(file: Path, number: int, line: str) -> Iterator[Text]:
    """Yield the trailing comment, the messages, and the name of a line of Rust."""
    if (trailing := re.search(r"[;,{}] // (.*)", line)) is not None:
        yield Text("comment", file, number, trailing[1])
    name = re.search(r"\b(?:fn|struct|enum|trait|const|static) ([A-Za-z_]\w*)", line)
    if name is not None and name[1] not in {"fn", "mut", "for"}:
        yield Text("name", file, number, _words_of(name[1]))
    for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
        if _is_sentence(literal):
            yield Text("message", file, number, literal)


def _words_of(name: str) -> str:
    """Return the words of a name such as `_OneName` or `one_name`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").strip().lower()
