"""The usage line of every command, as the README lists them."""

USAGE = (
    "/benchmark run [CASE…] [VARIANT] [--fresh]",
    "/benchmark rerun [CASE…|failed|all] [VARIANT]",
    "/benchmark cancel [CASE…] [VARIANT]",
    "/benchmark status",
    "/benchmark plan",
    "/benchmark baseline [REF]",
    "/benchmark approve SHA",
    '/benchmark ack CASE [VARIANT] reason="…"',
    "/benchmark rotate-links",
    "/benchmark help",
)
