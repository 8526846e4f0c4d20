"""axolotl's own lines (axolotl-ai-cloud/axolotl, src/axolotl/train.py). Its steps are the Trainer's."""

import re
from collections.abc import Iterator

from bot.logs.facts import Environment
from bot.logs.rules import Completed, LiteralRule, Match, Statement

# [2025-04-21 10:16:20,123] [INFO] [axolotl.train.train:226] [PID:77] [RANK:0] Starting trainer...
_LINE = re.compile(r"axolotl\.[\w.]{1,80}:\d{1,7}\]")

_COMPLETED = re.compile(r"[^\r\n]{0,200}Training [Cc]ompleted!")


def _line(match: Match) -> Iterator[Statement]:
    if _LINE.match(match.text):
        yield Environment()
        if _COMPLETED.match(match.text):
            yield Completed()


AXOLOTL = (LiteralRule(literal=b"axolotl.", read=_line, distinctive=True),)
