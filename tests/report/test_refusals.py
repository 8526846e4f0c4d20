"""What the operator's policy refuses is one line of the comment, in the repository's own words."""

from msgspec.structs import replace

from bot.report.comment import _note_lines, _problem_words
from bot.report.model import ProblemKind
from bot.report.text.pieces import markdown
from tests.report.samples import report

REFUSED = "this server may not read gs://maxtext-bench/private: ask its operator"


def test_a_refusal_names_what_the_configuration_names() -> None:
    """The bucket is not redacted: it stands in the file that everybody can read who reads the comment. It is
    no link."""
    said = markdown(_problem_words(REFUSED, ProblemKind.REFUSED))

    assert said.replace("\\", "").replace("&#8203;", "") == f"**To put right:** {REFUSED}."


def test_a_refusal_beside_a_verdict_is_a_note() -> None:
    """And cannot bring markup of its own."""
    hostile = "this server may not read gs://bb/<img>[x](http://y)@all: ask its operator"
    (note,) = _note_lines(replace(report(), refusal=hostile))
    said = markdown(note)

    assert said.startswith("⚠️ This server may not read gs")
    assert "<img>" not in said
    assert r"\[x\]" in said
