"""The comment as GitHub renders it: cmark-gfm's HTML, read back into tags, text and tables."""

import re
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options

OURS = {"details", "summary", "sub", "code", "h2", "p", "strong", "em", "a", "ul", "li", "blockquote",
        "table", "thead", "tbody", "tr", "th", "td", "br", "pre"}  # fmt: skip


class Page(HTMLParser):
    """Tags with their attributes, the text that is seen, and the cells of every table row."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[int]] = []
        self.seen = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag, and count cells."""
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self.rows.append([])
        if tag == "tr":
            self.rows[-1].append(0)
        if tag in {"td", "th"}:
            self.rows[-1][-1] += 1

    def handle_data(self, data: str) -> None:
        """Collect what is seen."""
        self.seen += data


def rendered(markdown: str) -> Page:
    """`markdown` as GitHub shows it, raw HTML included."""
    source = cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE)
    return Page(source)


def visible_text(markdown: str) -> str:
    """The text that a reader of `markdown` sees, zero-width breaks left out."""
    return rendered(markdown).seen.replace("\u200b", "").strip()


def broken_tables(markdown: str) -> list[str]:
    """Lines that look like table rows but were not rendered as rows of one width."""
    page = rendered(markdown)
    uneven = [f"uneven table: {rows}" for rows in page.rows if len(set(rows)) > 1 or len(rows) < 2]
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    rules = sum(bool(re.fullmatch(r"\|(?::?-+:?\|)+", line)) for line in lines)
    rows = sum(len(table) for table in page.rows)
    lost = [] if rows == len(lines) - rules else [f"{len(lines) - rules} row lines, {rows} rows rendered"]
    return uneven + lost
