"""YAML text as plain values that know their lines. The only module that imports PyYAML.

No text is too odd: length, depth and aliases are bounded, and plain words are read as in YAML 1.2 (`off`,
`yes` and `0_1` are text, not switches or numbers).
"""

import re
from collections.abc import Iterator

import yaml
from msgspec import Struct

# 400 cases with long commands are a fifth of this.
MAX_TEXT_LENGTH = 512 * 1024

# A configuration is 4 deep; anything deeper is not one.
MAX_DEPTH = 20

# Aliases let a small text stand for a huge one; no honest configuration has so many values.
MAX_VALUES = 20_000

_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_REAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")

# The C parser is ten times as fast, and part of PyYAML's wheels.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Place = tuple[str | int, ...]
"""The keys and indexes from the document down to a value."""


class Problem(Struct, frozen=True, kw_only=True, order=True):
    """One thing to fix, at a line counted from 1."""

    line: int
    text: str


class RepeatedKey(Struct, frozen=True, kw_only=True):
    """A key that its mapping already has; the first one counts."""

    place: Place
    line: int
    first_line: int


class Document(Struct, kw_only=True):
    """A document's plain value. `lines` holds the line of each place, `written` the text of each scalar.

    Where it would have too many values, it is `truncated`.
    """

    value: object = None
    lines: dict[Place, int] = {}
    written: dict[Place, str] = {}
    repeated: list[RepeatedKey] = []
    truncated: bool = False


def parse(text: str) -> Document | Problem:
    """The document in `text`, or the problem that keeps it from being read."""
    if len(text) > MAX_TEXT_LENGTH:
        return Problem(line=1, text=f"longer than {MAX_TEXT_LENGTH // 1024} KB; shorten it")
    try:
        problem = next(_event_problems(text), None)
        root = yaml.compose(text, Loader=_LOADER) if problem is None else None
    except yaml.YAMLError as error:
        return _syntax_problem(error, text)
    if problem is not None:
        return problem
    if root is None:
        return Problem(line=1, text="nothing is written here; begin with version: 1")
    return _DocumentBuilder().build(root)


def _event_problems(text: str) -> Iterator[Problem]:
    """What must be refused before anything is built. Errors of syntax are raised on the way."""
    opened: list[str | None] = []
    for event in yaml.parse(text, Loader=_LOADER):
        line = _line(event)
        if tag := getattr(event, "tag", None):
            yield Problem(line=line, text=f"the tag {tag} is not supported; remove it")
        match event:
            case yaml.AliasEvent() if event.anchor in opened:
                yield Problem(line=line, text=f"*{event.anchor} stands inside what it stands for")
            case yaml.CollectionStartEvent() if len(opened) == MAX_DEPTH:
                yield Problem(line=line, text="nested too deeply for a configuration")
            case yaml.CollectionStartEvent():
                opened.append(event.anchor)
            case yaml.CollectionEndEvent():
                opened.pop()


class _DocumentBuilder:
    """Builds the plain value of a document from PyYAML's nodes; aliases are expanded up to `MAX_VALUES`."""

    def __init__(self) -> None:
        self._document = Document()
        self._values = 0

    def build(self, root: yaml.Node) -> Document:
        """The whole document."""
        self._document.lines[()] = _line(root)
        self._document.value = self._value(root, ())
        self._document.truncated = self._full
        return self._document

    @property
    def _full(self) -> bool:
        return self._values >= MAX_VALUES

    def _value(self, node: yaml.Node, place: Place) -> object:
        self._values += 1
        match node:
            case yaml.MappingNode():
                return self._mapping(node, place)
            case yaml.SequenceNode():
                return self._sequence(node, place)
            case _:
                self._document.written[place] = node.value
                return node.value if getattr(node, "style", None) else _plain_value(node.value)

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, object]:
        values: dict[str, object] = {}
        for key, value in node.value:
            if self._full:
                break
            # A list or mapping as a key has no text; shown as YAML's own sign for one, it is an unknown key.
            name: str = key.value if isinstance(key, yaml.ScalarNode) else "?"
            inner = (*place, name)
            if name in values:
                first = self._document.lines[inner]
                self._document.repeated.append(RepeatedKey(place=inner, line=_line(key), first_line=first))
                continue
            self._document.lines[inner] = _line(key)
            values[name] = self._value(value, inner)
        return values

    def _sequence(self, node: yaml.SequenceNode, place: Place) -> list[object]:
        values: list[object] = []
        for item in node.value:
            if self._full:
                break
            inner = (*place, len(values))
            self._document.lines[inner] = _line(item)
            values.append(self._value(item, inner))
        return values


def _line(part: yaml.Event | yaml.Node) -> int:
    return part.start_mark.line + 1 if part.start_mark else 1


def _plain_value(word: str) -> str | int | float | bool | None:
    if word in ("null", "Null", "NULL", "~", ""):
        return None
    if word in ("true", "True", "TRUE"):
        return True
    if word in ("false", "False", "FALSE"):
        return False
    if _INTEGER.fullmatch(word):
        return int(word)
    if not _REAL.fullmatch(word):
        return word
    number = float(word)
    return int(number) if number.is_integer() else number  # JSON Schema calls 4.0 an integer too


def _syntax_problem(error: yaml.YAMLError, text: str) -> Problem:
    if isinstance(error, yaml.MarkedYAMLError) and (mark := error.problem_mark or error.context_mark):
        written = text.splitlines()[mark.line : mark.line + 1]
        if written and re.match(r"\s*\t", written[0]):
            return Problem(line=mark.line + 1, text="indented with a tab; YAML wants spaces")
        return Problem(line=mark.line + 1, text=f"not YAML: {error.problem or error.context}")
    at = getattr(error, "position", 0)
    return Problem(line=text.count("\n", 0, at) + 1, text="a control character; remove it")
