"""The operator's gauges behind `/metrics`, counted in the database at each scrape, and who may read them.

Alone on an address of their own, with a token, or where nobody but this machine can reach the server.
"""

import asyncio
import hmac
from collections.abc import Callable, Iterable

from msgspec import Struct
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from bot.errors import UserError
from bot.storage import queue
from bot.storage.database import Database, DatabaseUnavailable


class _RowCounts(Collector):
    """Counts rows at each scrape, so the figures are right after a restart and with several processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def collect(self) -> Iterable[Metric]:
        """Deliveries by state, and due and failing rows of each table."""
        try:
            counts = self._database.write_now(queue.count_rows)
        except DatabaseUnavailable:
            yield GaugeMetricFamily("maxview_database_up", "Whether the database answers", value=0)
            return
        yield GaugeMetricFamily("maxview_database_up", "Whether the database answers", value=1)
        deliveries = GaugeMetricFamily("maxview_deliveries", "Deliveries by state", labels=["state"])
        for state, number in counts.deliveries.items():
            deliveries.add_metric([state], number)
        yield deliveries
        refused = "Open pull requests on which GitHub refuses a comment or check"
        yield GaugeMetricFamily("maxview_pull_requests_refused", refused, value=counts.refused)
        for name, meaning, numbers in (
            ("maxview_rows_waiting", "Rows that wait for their time", counts.due),
            ("maxview_rows_failing", "Rows whose last step failed", counts.failing),
        ):
            gauge = GaugeMetricFamily(name, meaning, labels=["table"])
            for table, number in numbers.items():
                gauge.add_metric([table], number)
            yield gauge


def metrics_registry(database: Database) -> CollectorRegistry:
    """A registry with this program's metrics only."""
    registry = CollectorRegistry()
    registry.register(_RowCounts(database))
    return registry


FORWARDING_HEADERS = ("x-forwarded-for", "forwarded", "x-real-ip", "via")
"""With one of these a request came through another server, from anywhere."""


class MetricsAccess(Struct, frozen=True, kw_only=True):
    """Who may read `/metrics` beside the pages: who has the token; with `local`, where nobody else can reach
    the server, everybody."""

    local: bool
    token: str = ""

    def __repr__(self) -> str:
        return f"MetricsAccess(local={self.local})"

    def allows(self, request: Request) -> bool:
        """Whether this request may read them."""
        if self.token:
            kind, _, given = request.headers.get("authorization", "").partition(" ")
            return kind.lower() == "bearer" and hmac.compare_digest(given.encode(), self.token.encode())
        return self.local and not any(name in request.headers for name in FORWARDING_HEADERS)


async def metrics_answer(registry: CollectorRegistry) -> Response:
    """The metrics in Prometheus' format."""
    text = await asyncio.to_thread(generate_latest, registry)
    return Response(text, headers={"content-type": CONTENT_TYPE_LATEST})


def serve_metrics(registry: CollectorRegistry, address: tuple[str, int]) -> Callable[[], None]:
    """Serve them alone on this host and port, on threads of its own; returns what ends that."""
    host, port = address
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise UserError(
            f"METRICS_ADDRESS {host}:{port}: cannot listen there ({reason}); give another"
        ) from problem

    def end() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return end
