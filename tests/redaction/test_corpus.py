"""How many secrets of a corpus are taken out, and how many lines are changed that hold none."""

import json
from collections.abc import Iterable
from pathlib import Path

from tests.redaction.corpus import Sample, held_out, samples
from tests.redaction.harmless import harmless
from tests.redaction.recovered import changed_lines, is_recoverable, shown

HERE = Path(__file__).parent

RATCHET = json.loads((HERE / "ratchet.json").read_text())
"""What was reached. A better figure is written down; a worse one is a fault."""

REAL = ("tests/golden/**/*", "docs/*.md", "locks/*.txt", "templates/*")

SUFFIXES, MANY = {".md", ".html", ".txt", ".json", ".j2", ".svg"}, 10_000

LEAST_CAUGHT, MOST_CHANGED = 0.98, 0.001


def _leaks(corpus: Iterable[Sample]) -> list[str]:
    leaks = []
    for one in corpus:
        out = shown(one.text)
        assert one.text.count("\n") == out.count("\n"), one
        if is_recoverable(out, one.core):
            leaks.append(f"{one.provider}, {one.form}: {out}")
    return leaks


def _hold(name: str, corpus: list[Sample]) -> None:
    leaks = _leaks(corpus)
    caught = len(corpus) - len(leaks)
    assert caught >= LEAST_CAUGHT * len(corpus)
    assert RATCHET[name] == {"caught": caught, "of": len(corpus)}, leaks[:20]


def test_secrets_are_caught_in_the_forms_that_they_take() -> None:
    """Formats of providers, in environments, traces, headers, documents, split and encoded."""
    _hold("samples", list(samples()))


def test_secrets_are_caught_in_forms_that_the_rules_were_not_written_beside() -> None:
    """Other providers, and other forms. At the first look, 98.2 % of them were caught."""
    _hold("held_out", list(held_out()))


def test_redacting_twice_changes_nothing_more() -> None:
    """In whole logs, whoever redacts first."""
    once = [shown(one.text) for one in (*samples(), *held_out())]
    assert [(text, again) for text in once if (again := shown(text)) != text] == []


def test_lines_without_a_secret_stay_as_they_are() -> None:
    """Hashes, steps, paths, versions, figures and pictures."""
    lines = list(harmless())
    changed = [
        (old, new) for old, new in zip(lines, shown("\n".join(lines)).split("\n"), strict=True) if old != new
    ]
    assert len(changed) <= MOST_CHANGED * len(lines)
    assert RATCHET["harmless"] == {"changed": len(changed), "of": len(lines)}, changed[:20]


def test_real_texts_lose_nothing_that_is_no_secret() -> None:
    """The golden pages and comments, the documents and the lock files of this repository."""
    root = HERE.parents[1]
    found = (path for pattern in REAL for path in root.glob(pattern))
    texts = [path.read_text("utf-8") for path in sorted(found) if path.suffix in SUFFIXES]
    lines = sum(text.count("\n") for text in texts)
    changed = sum(changed_lines(text) for text in texts)
    assert lines > MANY
    assert changed <= MOST_CHANGED * lines
    assert RATCHET["real"]["changed"] == changed
