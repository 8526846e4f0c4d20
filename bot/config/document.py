"""YAML text as a tree of values that know their lines.

In:  text. Out: a `Branch`, `Items` or `Leaf`, or the `Problem` that keeps it from being one.
The only door to PyYAML. Promises that no text is too odd: length, depth and aliases are bounded, and plain
words are read as YAML 1.2 does (`off`, `yes` and `0_1` are text, not switches or numbers).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

# 400 cases with long commands are a fifth of this.
LONGEST_TEXT = 512 * 1024

# A configuration is 4 deep; anything deeper is not one.
DEEPEST = 20

_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_REAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")

# The C parser is ten times as fast, and part of PyYAML's wheels.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """One thing to put right, at a line counted from 1."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One value; `written` is its text as it stands in the file."""

    line: int
    value: str | int | float | bool | None
    written: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """A list."""

    line: int
    items: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A key, the line it stands on, and what it holds."""

    key: str
    line: int
    node: "Node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A mapping as it is written, repeated keys included."""

    line: int
    pairs: tuple[Pair, ...]


Node = Leaf | Items | Branch


def parse(text: str) -> Node | Problem:
    """The tree of `text`, or the problem that keeps it from being read."""
    if len(text) > LONGEST_TEXT:
        return Problem(line=1, text=f"longer than {LONGEST_TEXT // 1024} KB; shorten it")
    try:
        problem = next(_problems(text), None)
        root = yaml.compose(text, Loader=_LOADER) if problem is None else None
    except yaml.YAMLError as broken:
        return _broken(broken, text)
    if problem is not None:
        return problem
    if root is None:
        return Problem(line=1, text="nothing is written here; begin with version: 1")
    return _Tree().of(root)


def _problems(text: str) -> Iterator[Problem]:
    """What must be refused before anything is built; a problem of syntax is raised on the way."""
    opened: list[str | None] = []
    for event in yaml.parse(text, Loader=_LOADER):
        line = _line(event)
        if tag := getattr(event, "tag", None):
            yield Problem(line=line, text=f"the tag {tag} is not supported; remove it")
        match event:
            case yaml.AliasEvent() if event.anchor in opened:
                yield Problem(line=line, text=f"*{event.anchor} stands inside what it stands for")
            case yaml.CollectionStartEvent() if len(opened) == DEEPEST:
                yield Problem(line=line, text="nested too deeply for a configuration")
            case yaml.CollectionStartEvent():
                opened.append(event.anchor)
            case yaml.CollectionEndEvent():
                opened.pop()


class _Tree:
    """Turns PyYAML's nodes into ours; what is aliased is turned once and shared, so it cannot grow."""

    def __init__(self) -> None:
        self._made: dict[int, Node] = {}

    def of(self, node: yaml.Node) -> Node:
        """Our node for PyYAML's."""
        if id(node) not in self._made:
            self._made[id(node)] = self._new(node)
        return self._made[id(node)]

    def _new(self, node: yaml.Node) -> Node:
        line = _line(node)
        match node:
            case yaml.MappingNode():
                return Branch(line=line, pairs=tuple(self._pair(key, value) for key, value in node.value))
            case yaml.SequenceNode():
                return Items(line=line, items=tuple(map(self.of, node.value)))
            case _:
                value = node.value if isinstance(node, yaml.ScalarNode) and node.style else _plain(node.value)
                return Leaf(line=line, value=value, written=node.value)

    def _pair(self, key: yaml.Node, value: yaml.Node) -> Pair:
        # A list or mapping as a key has no text; shown as YAML's own sign for one, it is an unknown key.
        name = key.value if isinstance(key, yaml.ScalarNode) else "?"
        return Pair(key=name, line=_line(key), node=self.of(value))


def _line(part: yaml.Event | yaml.Node) -> int:
    return part.start_mark.line + 1 if part.start_mark else 1


def _plain(word: str) -> str | int | float | bool | None:
    if word in ("null", "Null", "NULL", "~", ""):
        return None
    if word in ("true", "True", "TRUE"):
        return True
    if word in ("false", "False", "FALSE"):
        return False
    if _INTEGER.fullmatch(word):
        return int(word)
    return float(word) if _REAL.fullmatch(word) else word


def _broken(broken: yaml.YAMLError, text: str) -> Problem:
    if isinstance(broken, yaml.MarkedYAMLError) and (mark := broken.problem_mark or broken.context_mark):
        written = text.splitlines()[mark.line : mark.line + 1]
        if written and re.match(r"\s*\t", written[0]):
            return Problem(line=mark.line + 1, text="indented with a tab; YAML wants spaces")
        return Problem(line=mark.line + 1, text=f"not YAML: {broken.problem or broken.context}")
    at = getattr(broken, "position", 0)
    return Problem(line=text.count("\n", 0, at) + 1, text="a control character; remove it")
