"""Read a corpus of real logs, and say how many of the facts stated of them come out.

Run as `python -m tests.log_corpus FOLDER`, with a folder of public logs' texts: `public.toml` in
`tests/logs/corpus` says which, and where they are from. Logs that trainers printed for us lie in `made`
there, with their facts in `made.toml`. Prints a line per disagreement, then "N passed, N failed" in facts;
exits with status 1 below `LEAST_RIGHT`, a ratchet.
"""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bot.logs.facts import RunLog
from bot.logs.reader import read_log

LEAST_RIGHT = 0.95
"""Share of the stated facts that must come out right."""

CORPUS = Path(__file__).parent / "logs" / "corpus"


def stated(name: str) -> list[dict[str, Any]]:
    """The logs of a table, each with its facts."""
    found: list[dict[str, Any]] = tomllib.loads((CORPUS / name).read_text(encoding="utf-8"))["log"]
    return found


def disagreements(log: dict[str, Any], content: bytes) -> Iterator[str]:
    """Facts of a log that do not come out as stated."""
    runs = read_log([content], log["file"])
    found = _facts(runs[0]) | {"runs": len(runs)}
    for name, expected in log["facts"].items():
        actual = found[name]
        if not _same(expected, actual):
            yield f"{log['file']}: {name}: {actual!r}, stated {expected!r}"


def _facts(run: RunLog) -> dict[str, object]:
    last, failure = run.steps[-1] if run.steps else None, run.outcome.failure
    return {
        "format": run.format or "",
        "state": run.outcome.state.value,
        "steps": len(run.steps),
        "last": run.outcome.last_step,
        "loss": last and last.loss,
        "seconds": last and last.seconds,
        "tokens": last and last.tokens_per_device,
        "mean": run.stated_mean_seconds,
        "expected": run.outcome.expected_steps,
        "allocated": run.max_allocated_mb,
        "kind": failure and failure.kind,
        "error": failure and failure.error,
        "where": failure and failure.where,
    }


def _same(expected: object, actual: object) -> bool:
    if isinstance(expected, float) and isinstance(actual, float):
        return expected == actual or abs(expected - actual) <= max(1e-3 * abs(expected), 1e-9)
    return expected == actual


def main(folder: str) -> int:
    """Read all texts that are there; the exit status."""
    facts, wrong = 0, list[str]()
    for log in stated("public.toml"):
        path = Path(folder) / log["file"]
        if path.exists():
            facts += len(log["facts"])
            wrong += disagreements(log, path.read_bytes())
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    sys.stdout.write(f"{facts - len(wrong)} passed, {len(wrong)} failed\n")
    return 1 if not facts or facts - len(wrong) < LEAST_RIGHT * facts else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.log_corpus FOLDER")
    sys.exit(main(sys.argv[1]))
