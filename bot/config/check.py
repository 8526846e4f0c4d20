"""Holds a tree of values against the shape of a document and notes every problem with its line.

In:  a tree of `bot.config.document` and a `Record`.
Out: a `Reading`: plain values, their lines, the problems.
"""

from dataclasses import dataclass, field
from typing import assert_never

from bot.config.document import Branch, Items, Leaf, Node, Pair, Problem
from bot.config.shapes import (
    Choice,
    Exactly,
    Flag,
    Named,
    Number,
    Place,
    Record,
    Several,
    Shape,
    Single,
    Text,
    Worded,
    homes,
)
from bot.config.words import LONGEST_QUOTE, any_of, nearest, quoted, shown

# Aliases let a small text stand for a huge one; no honest configuration has so many parts.
MOST_PARTS = 20_000

# Somebody who makes more mistakes than this has given us the wrong file.
MOST_PROBLEMS = 100


@dataclass(slots=True)
class Reading:
    """What was read: `value` is plain, with None where a part was refused; `lines` says where parts stand."""

    value: object = None
    lines: dict[Place, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    parts: int = 0

    @property
    def full(self) -> bool:
        """Whether to stop looking: enough is known, or too much would follow."""
        return self.parts >= MOST_PARTS or len(self.problems) >= MOST_PROBLEMS

    def refuse(self, place: Place, text: str) -> None:
        """Note a problem with the part at `place`."""
        where = f"{'.'.join(map(shown, place))}: " if place else ""
        self.problems.append(Problem(line=self.lines.get(place, 1), text=where + text))


def check(node: Node, document: Record) -> Reading:
    """Read the whole tree."""
    reading = Reading(lines={(): node.line})
    reading.value = _read(reading, document, node, ())
    return reading


def _read(reading: Reading, shape: Shape, node: Node, place: Place) -> object:
    if reading.full:
        return None
    reading.parts += 1
    if reading.parts == MOST_PARTS:
        reading.refuse((), f"stands for more than {MOST_PARTS} parts; write fewer aliases")
    match shape:
        case Record():
            return _read_record(reading, shape, node, place)
        case Named():
            return _read_named(reading, shape, node, place)
        case Several():
            return _read_several(reading, shape, node, place)
        case Worded():
            worded = shape.word if isinstance(node, Leaf) else shape.record
            return _read(reading, worded, node, place)
        case Text() | Number() | Flag() | Exactly() | Choice():
            return _read_leaf(reading, shape, node, place)
        case _:
            assert_never(shape)


def _read_at(reading: Reading, shape: Shape, node: Node, place: Place, line: int) -> object:
    reading.lines[place] = line
    return _read(reading, shape, node, place)


def _read_record(reading: Reading, shape: Record, node: Node, place: Place) -> object:
    value: dict[str, object] = {}
    if shape.empty == "allowed" and isinstance(node, Leaf) and node.value is None:
        return value
    if (pairs := _pairs(reading, node, place)) is None:
        return None
    for pair in pairs:
        if reading.full:
            break
        if (key := shape.keys.get(pair.key)) is None:
            reading.lines[(*place, pair.key)] = pair.line
            reading.refuse((*place, pair.key), f"unknown key; {_meant(pair.key, shape)}")
        else:
            value[pair.key] = _read_at(reading, key.shape, pair.node, (*place, pair.key), pair.line)
    for name, key in shape.keys.items():
        if key.required and name not in value and not reading.full:
            reading.refuse(place, f"{name} is missing; {key.required}")
    return value


def _meant(written: str, shape: Record) -> str:
    """Where the key belongs that stands too far out, else the nearest one of this place."""
    places = list(homes(shape, written))
    return f"it belongs under {any_of(places)}" if places else nearest(written, shape.keys)


def _read_named(reading: Reading, shape: Named, node: Node, place: Place) -> object:
    value: dict[str, object] = {}
    if (pairs := _pairs(reading, node, place)) is None:
        return None
    for pair in pairs:
        value[pair.key] = _read_at(reading, shape.value, pair.node, (*place, pair.key), pair.line)
        if not reading.full and (problem := _text_problem(shape.name, pair.key)) is not None:
            reading.refuse((*place, pair.key), f"the name {problem}")
    if len(value) < shape.needed:
        reading.refuse(place, "is empty; name at least one")
    return value


def _read_several(reading: Reading, shape: Several, node: Node, place: Place) -> object:
    if isinstance(node, Items):
        parts = enumerate(node.items)
        return [_read_at(reading, shape.of, item, (*place, at), item.line) for at, item in parts]
    reading.refuse(place, f"must be a list such as [a, b], not {_described(node)}")
    return None


def _pairs(reading: Reading, node: Node, place: Place) -> list[Pair] | None:
    """The pairs of a mapping, of repeated keys the first; None where it is no mapping."""
    if not isinstance(node, Branch):
        reading.refuse(place, f"must be keys and their values, not {_described(node)}")
        return None
    first: dict[str, Pair] = {}
    for pair in node.pairs:
        if pair is not first.setdefault(pair.key, pair):
            reading.lines[(*place, pair.key)] = pair.line
            reading.refuse((*place, pair.key), f"is written before, on line {first[pair.key].line}; keep one")
    return list(first.values())


def _read_leaf(reading: Reading, shape: Single, node: Node, place: Place) -> object:
    if not isinstance(node, Leaf):
        reading.refuse(place, f"{_wanted(shape)}, not {_described(node)}")
    elif (problem := _leaf_problem(shape, node)) is not None:
        reading.refuse(place, problem)
    else:
        return int(node.value) if _is_whole(shape) and node.value is not None else node.value
    return None


def _is_whole(shape: Single) -> bool:
    """Whether a number such as 4.0 is to be 4; JSON Schema calls it an integer."""
    return isinstance(shape, Number) and shape.kind is int


def _leaf_problem(shape: Single, leaf: Leaf) -> str | None:
    value = leaf.value
    if isinstance(shape, Text) and isinstance(value, str):
        return _text_problem(shape, value)
    if _fits(shape, value):
        return None
    match shape:
        case Text() if value is not None and shape.fits(leaf.written):
            return f'must be text, not {_described(leaf)}; write it in quotes: "{leaf.written}"'
        case Choice():
            return f"{_described(leaf)} is not a choice; {nearest(leaf.written, shape.options)}"
        case _:
            return f"{_wanted(shape)}, not {_described(leaf)}"


def _text_problem(shape: Text, value: str) -> str | None:
    if len(value) > shape.longest:
        return f"is longer than {shape.longest} characters; shorten it"
    if value and shape.fits(value):
        return None
    explained = shape.explain(value) if shape.explain and value else None
    return explained or f"{_wanted(shape)}, not {quoted(value)}"


def _fits(shape: Single, value: object) -> bool:
    match shape:
        case Choice():
            return value in shape.options
        case Flag():
            return isinstance(value, bool)
        case Exactly():
            return not isinstance(value, bool) and value == shape.value
        case Number() if isinstance(value, int | float) and not isinstance(value, bool):
            return _in_range(shape, value)
        case _:
            return False


def _in_range(shape: Number, value: float) -> bool:
    whole = shape.kind is not int or value == int(value)
    return whole and (
        (shape.least is None or value >= shape.least)
        and (shape.over is None or value > shape.over)
        and value <= shape.most
    )


def _wanted(shape: Single) -> str:
    match shape:
        case Text() | Number():
            return f"must be {shape.wants}"
        case Flag():
            return "must be true or false"
        case Exactly():
            return f"must be {shape.value}"
        case Choice():
            return f"must be {any_of(shape.options)}"
        case _:
            assert_never(shape)


def _described(node: Node) -> str:
    match node:
        case Branch():
            return "a mapping"
        case Items():
            return "a list"
        case Leaf(value=None):
            return "nothing"
        case Leaf(value=bool() | int() | float()):
            return node.written[:LONGEST_QUOTE]
        case Leaf():
            return quoted(node.written)
        case _:
            assert_never(node)
