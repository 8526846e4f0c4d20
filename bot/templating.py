"""Render Jinja2 templates. The only module that imports Jinja2.

In `.html` templates every value is escaped; Markdown templates receive escaped values. A name that a template
uses and the values lack is an error, never an empty string.
"""

from collections.abc import Mapping
from pathlib import Path

_HERE = Path(__file__).resolve().parent

TEMPLATE_FOLDERS = (_HERE / "templates", _HERE.parent / "templates")  # as installed, as checked out


class Renderer:
    """All templates of the program, each compiled once. Create one and keep it."""

    def __init__(self) -> None:
        import jinja2  # noqa: PLC0415 - 60 ms that the command line does not always need

        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader([str(folder) for folder in TEMPLATE_FOLDERS]),
            autoescape=jinja2.select_autoescape(("html.j2", "html", "xml", "svg"), default=False),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )

    def render(self, template: str, values: Mapping[str, object]) -> str:
        """Render `template`, a name below `templates/`, with `values`."""
        return self._environment.get_template(template).render(values)
