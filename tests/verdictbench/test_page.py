"""What the README says of the benchmark is what the generated page says."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_readme_quotes_the_generated_page() -> None:
    """The headline figures, word for word, and a link to the page."""
    page = (ROOT / "docs" / "verdictbench.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    quoted = page.partition("<!-- headline -->")[2].partition("<!-- /headline -->")[0].split()

    assert " ".join(quoted) in " ".join(readme.split())
    assert "(docs/verdictbench.md)" in readme
