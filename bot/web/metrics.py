"""The operator's gauges behind `/metrics`, counted in the database at each scrape."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

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
