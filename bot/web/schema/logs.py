"""The shapes of what a search found in a log, and of two logs side by side.

In:  nothing. Out: `LOGS`, the schemas by name.
"""

from bot.web.log_compare.pairs import Kind
from bot.web.schema.words import (
    NUMBER,
    TEXT,
    TRUTH,
    WHOLE,
    Schema,
    maybe,
    one_of,
    record,
    ref,
    several,
    told,
)

_SCHEMA = told({"const": 1}, "The version of these shapes.")

_RUN = record("One of the two runs.", id=TEXT, case=TEXT, variant=TEXT, branch=maybe(TEXT), sha=maybe(TEXT))

_SIDE_LINE = record(
    "A line of one of the logs.",
    number=WHOLE,
    seconds=told(maybe(NUMBER), "Since the start of the log."),
    text=TEXT,
)

_ROW = record(
    "Two lines beside each other, or one alone; or so many that are the same and are not shown.",
    kind=one_of(Kind),
    base=maybe(ref("SideLine")),
    head=maybe(ref("SideLine")),
    lines_same=told(WHOLE, "How many lines the row stands for where it shows none, else 0."),
)

LOGS: dict[str, Schema] = {
    "LogLine": record("A line of a log, or a piece of a long one.", number=WHOLE, offset=WHOLE, text=TEXT),
    "SideLine": _SIDE_LINE,
    "Found": record(
        "What was found in a stretch of a log. Text that strangers may not read is never a hit.",
        schema=_SCHEMA,
        run=TEXT,
        words=TEXT,
        cased=TRUTH,
        regular=told(TRUTH, "Whether the words were a regular expression."),
        **{"from": WHOLE, "to": WHOLE},
        size=told(maybe(WHOLE), "Bytes of the whole log; null where it is stored compressed."),
        hits=several(
            record(
                "A line that holds the words, and its neighbours.",
                line=ref("LogLine"),
                before=several(ref("LogLine")),
                after=several(ref("LogLine")),
            )
        ),
        next=told(maybe(TEXT), "Where to go on; null at the log's end."),
    ),
    "LogsCompared": record(
        "Two logs, section by section; what belongs to one run alone does not make lines differ.",
        schema=_SCHEMA,
        base=_RUN,
        head=_RUN,
        settings=several(
            record("A setting that differs.", name=TEXT, base=maybe(TEXT), head=maybe(TEXT)),
            "Given with the first sections.",
        ),
        first=told(WHOLE, "The number of the first section here, from 0."),
        count=told(WHOLE, "Sections of both logs."),
        sections=several(
            record(
                "What both logs print from one event to the next.",
                name=TEXT,
                only_in=told(maybe(TEXT), "`base` or `head` where the other has no such section."),
                apart=WHOLE,
                figures=told(WHOLE, "Lines with the same words and other figures."),
                same=WHOLE,
                cut=told(TRUTH, "Whether the section goes on in the logs."),
                rows=several(_ROW),
            )
        ),
        next=told(maybe(TEXT), "The next sections; null at the end."),
    ),
}
