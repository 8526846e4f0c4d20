"""Finished runs as a bucket holds them: MaxText logs under the pattern of the first users."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.log_writers.maxtext import TRACEBACK, maxtext_log

PATTERN = "{variant}_ckpt_xpk_{slug}_{date}_{time}/{variant}_xpk_{slug}_{date}_{time}_{case}/*.log"

STEPS = 24

CONFIGURATION = """\
version: 1
runs:
  source: %s
  pattern: "%s"
variants: {linen: {}}
compare: [ref]
cases:
%s
"""


def configuration(source: str, cases: tuple[str, ...]) -> str:
    """A `.github/maxview.yml` that fetches runs of these cases."""
    return CONFIGURATION % (source, PATTERN, "\n".join(f"  {case}: {{}}" for case in cases))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWriter:
    """Writes logs of finished runs by `put`, which takes a name and a content."""

    put: Callable[[str, bytes], None]

    def write_run(
        self,
        case: str,
        branch: str,
        sha: str,
        *,
        hours_ago: float,
        step_seconds: float = 0.2,
        ends: str = "well",
    ) -> str:
        """Write one run that started `hours_ago`; returns the name of its log."""
        began = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=hours_ago)
        when = f"{began:%Y%m%d_%H%M%S}"
        slug = re.sub(r"[^A-Za-z0-9]+", "_", branch)
        run_name = f"linen_xpk_{slug}_{when}_{case}"
        log = maxtext_log(
            steps=0 if ends == "failing" else STEPS,
            step_seconds=step_seconds,
            seed=int(hours_ago * 100),
            start=f"{began:%Y-%m-%dT%H:%M:%S}",
            commit=sha,
            run_name=run_name,
            failure=TRACEBACK if ends == "failing" else None,
            exit_code=1 if ends == "failing" else 0,
            config=("Config param steps: 24", "Config param dtype: bfloat16"),
        )
        name = f"linen_ckpt_xpk_{slug}_{when}/{run_name}/{case}.log"
        self.put(name, log.encode())
        return name

    def write_runs(
        self, case: str, branch: str, sha: str, count: int, *, since: float = 2.0, step_seconds: float = 0.2
    ) -> None:
        """Write `count` runs, an hour apart, the newest `since` hours ago."""
        for n in range(count):
            self.write_run(case, branch, sha, hours_ago=since + n, step_seconds=step_seconds)
