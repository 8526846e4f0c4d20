"""Fuzz the reader: `python -m tests.fuzz [libFuzzer's options]`, ten minutes by default.

Findings go to `.cache/fuzz`. The exit status is 77 on a finding.
"""

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["bot.logs", "bot.verdict"]):
    from tests.fuzz.target import check_reader

from tests.fuzz.corpus import dictionary, logs

FOLDER = Path(".cache/fuzz")
OPTIONS = ("-max_total_time=600", "-timeout=20", "-max_len=16384", "-rss_limit_mb=2048")


def main() -> None:
    """Write the corpus and the dictionary, and begin."""
    seeds, found = FOLDER / "seeds", FOLDER / "corpus"
    for folder in (seeds, found):
        folder.mkdir(parents=True, exist_ok=True)
    for name, content in logs().items():
        for size in (0, 255):
            (seeds / f"{name}-{size}").write_bytes(bytes([size]) + content)
    words = FOLDER / "words.txt"
    words.write_text("\n".join(dictionary()) + "\n", encoding="utf-8")
    places = (f"-dict={words}", f"-artifact_prefix={FOLDER}/", str(found), str(seeds))
    atheris.Setup([sys.argv[0], *OPTIONS, *sys.argv[1:], *places], check_reader)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
