"""`.github/maxview.yml` as a `Suite`: what is measured, where its runs are, and what starts them.

The text of the file goes in. Out comes a `Suite`, or one `UserError` with every problem and its line. What
the published JSON Schema refuses is refused here, and the other way round. pydantic is imported when the
first configuration is read.
"""

from typing import Any

from bot.config.document import MAX_TEXT_LENGTH, Problem, parse
from bot.config.suite import (
    DEFAULT_TRUSTED,
    NO_CHECKS,
    BaselineConfig,
    Budget,
    Case,
    CheckConfig,
    CheckKind,
    ClusterKind,
    CompareMode,
    LaunchConfig,
    LocalConfig,
    RunSource,
    Suite,
    Triggers,
    TrustedAccounts,
    TrustedBot,
    Variant,
    XpkConfig,
)
from bot.errors import UserError

__all__ = [
    "CONFIG_PATH",
    "DEFAULT_TRUSTED",
    "MAX_TEXT_LENGTH",
    "NO_CHECKS",
    "BaselineConfig",
    "Budget",
    "Case",
    "CheckConfig",
    "CheckKind",
    "ClusterKind",
    "CompareMode",
    "LaunchConfig",
    "LocalConfig",
    "Problem",
    "RunSource",
    "Suite",
    "Triggers",
    "TrustedAccounts",
    "TrustedBot",
    "Variant",
    "XpkConfig",
    "json_schema",
    "read_suite",
]

CONFIG_PATH = ".github/maxview.yml"


def read_suite(text: str, name: str = CONFIG_PATH) -> Suite:
    """The configuration in `text`; `name` is its file in messages. Raises `UserError` with every problem."""
    found = _suite_or_problems(text)
    if isinstance(found, Suite):
        return found
    raise UserError("\n".join(f"{name}:{problem.line}: {problem.text}" for problem in found))


def json_schema() -> dict[str, Any]:
    """The JSON Schema of `.github/maxview.yml`, published at `/schema/maxview.json`."""
    from bot.config import models  # noqa: PLC0415 - pydantic takes a while to load

    return models.json_schema()


def _suite_or_problems(text: str) -> Suite | tuple[Problem, ...]:
    from bot.config.models import ConfigModel, to_suite  # noqa: PLC0415 - as above
    from bot.config.rules import RULES  # noqa: PLC0415
    from bot.config.validation import validate  # noqa: PLC0415

    document = parse(text)
    if isinstance(document, Problem):
        return (document,)
    config, problems = validate(document, ConfigModel, RULES)
    return problems if config is None else to_suite(config)
