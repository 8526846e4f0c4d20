"""Draw a golden comment as GitHub shows it: `python -m tests.picture mixed docs/comment.png`.

Needs Chromium; the README's picture is made with it.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cmarkgfm
from cmarkgfm.cmark import Options

GOLDEN = Path(__file__).parent / "golden" / "comment"

PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 24px; background: #fff; color: #1f2328; width: 1000px;
  font: 14px/1.5 "Segoe UI", "Noto Sans", "DejaVu Sans", Helvetica, Arial, sans-serif, "Noto Color Emoji"; }}
article {{ border: 1px solid #d1d9e0; border-radius: 6px; padding: 16px; }}
h2 {{ font-size: 21px; margin: 0 0 12px; padding-bottom: 6px; border-bottom: 1px solid #d1d9e0; }}
table {{ border-collapse: collapse; margin: 12px 0; }}
th, td {{ border: 1px solid #d1d9e0; padding: 6px 13px; }}
tr:nth-child(2n) {{ background: #f6f8fa; }}
code {{ background: #eff1f3; border-radius: 6px; padding: .2em .4em; font-size: 85%; }}
blockquote {{ margin: 0 0 12px; padding: 0 1em; border-left: .25em solid #d1d9e0; color: #59636e; }}
a {{ color: #0969da; text-decoration: none; }}
</style><article>{comment}</article>"""


def main(name: str, picture: str) -> None:
    """Render `name` of the golden comments into the file `picture`."""
    text = (GOLDEN / f"{name}.md").read_text(encoding="utf-8")
    comment = cmarkgfm.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(PAGE.format(comment=comment), encoding="utf-8")
        browser = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-background-networking",
            f"--user-data-dir={folder}/profile",
            "--window-size=1100,1000",
            f"--screenshot={Path(picture).absolute()}",
        ]
        subprocess.run([browser, *options, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main(*sys.argv[1:3])
