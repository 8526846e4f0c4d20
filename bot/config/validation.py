"""Everything wrong with a document, each problem with its line and what to write instead.

pydantic says where and what kind; the words, the lines and the nearest keys are ours.
"""

import difflib
from collections.abc import Iterable, Iterator
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from bot.config.document import MAX_VALUES, Document, Place, Problem
from bot.config.models import Expected, MissingHint
from bot.config.rules import Rule

# Somebody who makes more mistakes than this has given us the wrong file.
MAX_PROBLEMS = 100

# The most that is shown of something somebody wrote.
MAX_QUOTE_LENGTH = 60

Model = TypeVar("Model", bound=BaseModel)
SectionType = type[BaseModel]


def validate(
    document: Document, model: type[Model], rules: Iterable[Rule] = ()
) -> tuple[Model | None, tuple[Problem, ...]]:
    """The document as a model, or None and its problems in the order of lines, at most `MAX_PROBLEMS`."""
    found: Model | None = None
    errors: list[ErrorDetails] = []
    try:
        found = model.model_validate(document.value)
    except ValidationError as error:
        errors = error.errors(include_url=False)
    problems = [
        _problem(one.line, one.place, f"is written before, on line {one.first_line}; keep one")
        for one in document.repeated
    ]
    if document.truncated:
        parts = f"stands for more than {MAX_VALUES} parts; write fewer aliases"
        problems.append(_problem(document.lines[()], (), parts))
        errors = [error for error in errors if error["type"] != "missing"]  # it may be in what was left out
    elif isinstance(document.value, dict):
        refused = {error["loc"] for error in errors if error["type"] != "model_type"}
        for rule in rules:
            for place, text in rule.problems(document.value):
                if place not in refused:
                    problems.append(_problem(document.lines[place], place, text))
    errors.sort(key=lambda error: document.lines[_written_place(document, error["loc"])])
    problems += [_error_problem(document, model, error) for error in errors[:MAX_PROBLEMS]]
    problems = sorted(problems)[:MAX_PROBLEMS]
    return (None if problems else found), tuple(problems)


def _problem(line: int, place: Place, text: str) -> Problem:
    where = f"{'.'.join(map(_shown_key, place))}: " if place else ""
    return Problem(line=line, text=where + text)


def _written_place(document: Document, place: Place) -> Place:
    """The innermost part of a place that is written: of a missing key its section, of `off` its own place."""
    while place not in document.lines:
        place = place[:-1]
    return place


def _error_problem(document: Document, model: SectionType, error: ErrorDetails) -> Problem:
    """One of pydantic's errors in our words."""
    place, value, kind = error["loc"], error["input"], error["type"]
    written = _written_place(document, place)
    match kind:
        case "missing":
            text = f"{place[-1]} is missing; {_missing_hint(model, place)}"
        case "extra_forbidden":
            text = f"unknown key; {_suggest_key(str(place[-1]), _section_at(model, place[:-1]))}"
        case "model_type" | "dict_type":
            text = f"must be keys and their values, not {_describe_value(document, written, value)}"
        case "list_type":
            text = f"must be a list such as [a, b], not {_describe_value(document, written, value)}"
        case "too_short":
            text = "is empty; name at least one"
        case "explained":
            text = error["ctx"]["text"]
        case "string_too_long":
            text = f"is longer than {error['ctx']['max_length']} characters; shorten it"
        case _ if _is_name(place, value):
            text = f"must be {_expectation(_names_of(model, place[:-2]))}, not {_quoted(value)}"
        case _:
            text = _value_text(document, written, value, _annotation_at(model, place))
    if _is_name(place, value):
        text = f"the name {text}"
    return _problem(document.lines[written], written, text)


def _is_name(place: Place, value: object) -> bool:
    """Whether pydantic speaks of a name of a mapping, for which it adds `[key]` to the place."""
    return len(place) > 1 and place[-1] == "[key]" and place[-2] == value


def _value_text(document: Document, place: Place, value: object, annotation: Any) -> str:
    described, wanted = _describe_value(document, place, value), _expectation(annotation)
    if isinstance(value, dict | list):
        return f"must be {wanted}, not {described}"
    written = document.written[place]
    if get_origin(_bare_type(annotation)) is Literal:
        return f"{described} is not a choice; {_suggest_word(written, get_args(_bare_type(annotation)))}"
    if isinstance(value, int | float) and _bare_type(annotation) is str and _fits(annotation, written):
        return f'must be text, not {described}; write it in quotes: "{written}"'
    return f"must be {wanted}, not {described}"


def _fits(annotation: Any, written: str) -> bool:
    try:
        TypeAdapter(annotation).validate_python(written)
    except ValidationError:
        return False
    return True


# --- what the models say of a place -------------------------------------------------------------------


def _annotation_at(model: SectionType, place: Place) -> Any:
    """The annotated type of the value at a place."""
    annotation: Any = model
    for part in place:
        bare = _bare_type(annotation)
        if get_origin(bare) is dict:
            annotation = get_args(bare)[1]
        elif get_origin(bare) is list:
            annotation = get_args(bare)[0]
        else:
            annotation = _keys(bare)[str(part)]
    return annotation


def _section_at(model: SectionType, place: Place) -> SectionType:
    section: SectionType = _bare_type(_annotation_at(model, place))
    return section


def _names_of(model: SectionType, place: Place) -> Any:
    """The annotated type of the names of a mapping."""
    return get_args(_bare_type(_annotation_at(model, place)))[0]


def _missing_hint(model: SectionType, place: Place) -> str:
    """What to write where a required key is missing."""
    section, key = _section_at(model, place[:-1]), place[-1]
    field = next(field for name, field in section.model_fields.items() if (field.alias or name) == key)
    return field.json_schema_extra.text if isinstance(field.json_schema_extra, MissingHint) else ""


def _keys(section: SectionType) -> dict[str, Any]:
    """The keys of a section as they are written, with their annotated types."""
    hints = get_type_hints(section, include_extras=True)
    return {field.alias or name: hints[name] for name, field in section.model_fields.items()}


def _bare_type(annotation: Any) -> Any:
    """A type without its annotations, and without the None of an absent key."""
    return _split_annotations(annotation)[0]


def _split_annotations(annotation: Any) -> tuple[Any, tuple[object, ...]]:
    """The bare type, and the annotations around it."""
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        bare, inner_metadata = _split_annotations(inner)
        return bare, (*inner_metadata, *metadata)
    if NoneType in get_args(annotation):
        return _split_annotations(next(one for one in get_args(annotation) if one is not NoneType))
    return annotation, ()


def _expectation(annotation: Any) -> str:
    """Words that complete “must be …”."""
    bare, metadata = _split_annotations(annotation)
    if get_origin(bare) is Literal:
        return _any_of(get_args(bare))
    return next(one.words for one in metadata if isinstance(one, Expected))


# --- words --------------------------------------------------------------------------------------------


def _suggest_key(written: str, section: SectionType) -> str:
    """The section where an unknown key belongs, else the nearest key of its own section."""
    places = list(_sections_with(section, written))
    return f"it belongs under {_any_of(places)}" if places else _suggest_word(written, _keys(section))


def _sections_with(section: SectionType, key: str) -> Iterator[str]:
    """Sections below that know a key: `local`, or `launch.local` from further above."""
    for name, annotation in _keys(section).items():
        inner = _bare_type(annotation)
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            if key in _keys(inner):
                yield name
            yield from (f"{name}.{deeper}" for deeper in _sections_with(inner, key))


def _suggest_word(written: str, valid: Iterable[str]) -> str:
    """The valid word that was probably meant, else all of them."""
    options = list(valid)
    near = difflib.get_close_matches(written.lower().replace("_", "-"), options, n=1)
    near = near or difflib.get_close_matches(written.lower().replace("-", "_"), options, n=1)
    return f"did you mean {near[0]}?" if near else f"valid are {_any_of(options)}"


def _any_of(options: Iterable[str]) -> str:
    """`a, b or c`."""
    *most, last = options
    return f"{', '.join(most)} or {last}" if most else last


def _describe_value(document: Document, place: Place, value: object) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case None:
            return "nothing"
        case str():
            return _quoted(value)
        case _:
            return document.written[place][:MAX_QUOTE_LENGTH]


def _quoted(text: str) -> str:
    """What somebody wrote, in quotes, cut, with nothing in it that a terminal obeys."""
    cut = text if len(text) <= MAX_QUOTE_LENGTH else f"{text[:MAX_QUOTE_LENGTH]}…"
    return f"'{_shown_key(cut)}'"


def _shown_key(part: str | int) -> str:
    """A key or index, cut, with nothing in it that a terminal obeys."""
    return "".join(letter if letter.isprintable() else "·" for letter in str(part)[: MAX_QUOTE_LENGTH + 1])
