"""Which kept runs may stand beside those of other days, as conditions of questions.

In:  nothing. Out: `bot.runs.records.keeps_pace` as an expression and as text, which a test holds together.
"""

from sqlalchemy import or_

from bot.runs.records import Origin
from bot.storage.tables import RUN

KEEPS_PACE = or_(RUN.c.origin == Origin.FOUND, RUN.c.place.is_not(None))
KEEPS_PACE_TEXT = "(run.origin = 'found' OR run.place IS NOT NULL)"
