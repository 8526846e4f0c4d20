"""The description of the API, held against its answers."""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import pytest

from bot.storage import runs
from bot.storage.tables import REPORT
from bot.web.api.openapi import openapi_document
from tests.log_writers.maxtext import maxtext_log
from tests.report import sample_states, samples
from tests.report.sample_states import hostile
from tests.verdict.made_runs import Shape, failed
from tests.verdict.made_runs import run as made
from tests.web.site_under_test import MEMBER, PRIVATE, PUBLIC, URL, SiteUnderTest

DOCUMENT: dict[str, Any] = dict(openapi_document())


def closed(shape: Any) -> Any:
    """The shape without room for keys that it does not list: in the tests every key must be described."""
    if isinstance(shape, Mapping):
        inner = {name: closed(value) for name, value in shape.items()}
        if "properties" in inner and "additionalProperties" not in inner:
            inner["additionalProperties"] = False
        return inner
    return [closed(one) for one in shape] if isinstance(shape, list) else shape


def problems(operation: str, document: object, status: str = "200") -> list[str]:
    """What of an answer is not as the description of its operation says."""
    described = next(
        entry["get"] for entry in DOCUMENT["paths"].values() if entry["get"]["operationId"] == operation
    )
    schema = described["responses"][status]["content"]["application/json"]["schema"]
    whole = {**closed(schema), "components": closed(DOCUMENT["components"])}
    found = jsonschema_rs.validator_for(whole).iter_errors(document)
    return [f"{'/'.join(map(str, one.instance_path))}: {one.message[:300]}" for one in found]


ANSWERS = (
    ("", "listRepositories", "200"),
    (PUBLIC, "readRepository", "200"),
    (f"{PUBLIC}/compare/main...pr/12", "compare", "200"),
    (f"{PUBLIC}/compare/main...cdc765a?case=11_offload&variant=nnx", "compare", "200"),
    (f"{PUBLIC}/compare/main:linen...main:nnx?case=03_dropout", "compare", "200"),
    (f"{PUBLIC}/parity/main", "readParity", "200"),
    (f"{PUBLIC}/parity/cdc765a", "readParity", "200"),
    (f"{PUBLIC}/history", "readHistory", "200"),
    (f"{PUBLIC}/history?case=04_int8", "readHistory", "200"),
    (f"{PUBLIC}/history?case=04_int8&variant=nnx&metric=final_loss", "readHistory", "200"),
    ("runs/04_int8-linen-m0", "readRun", "200"),
    ("runs/11_offload-nnx-m0", "readRun", "200"),
    (f"{PUBLIC}/compare/main", "compare", "404"),
    (f"{PUBLIC}/compare/nowhere...main", "compare", "404"),
    (f"{PUBLIC}/history?case=nothing", "readHistory", "404"),
    (f"{PUBLIC}/pull/999", "readReport", "404"),
    (PRIVATE, "readRepository", "404"),
    ("runs/none", "readRun", "404"),
)


@pytest.mark.parametrize(("path", "operation", "status"), ANSWERS)
def test_every_answer_is_as_described(
    path: str, operation: str, status: str, filled_site: SiteUnderTest
) -> None:
    """Nothing is missing, nothing is there that is not described, and all is of the kind it is said to be."""
    answer = filled_site.get(f"/api/v1/{path}")
    assert int(status) == answer.status_code
    assert [] == problems(operation, answer.json(), status)


def test_every_state_of_a_report_is_as_described(site: SiteUnderTest) -> None:
    """Whatever the comment says, its document keeps to the description."""
    found = {}
    for name, report in sample_states.every_state().items():
        site.database.write_now(lambda c: c.execute(REPORT.delete()))
        site.add_report(report)
        found[name] = problems("readReport", site.get(f"/api/v1/{PUBLIC}/pull/{report.number}").json())
    assert {} == {name: some for name, some in found.items() if some}


def test_hostile_texts_keep_to_the_description(site: SiteUnderTest) -> None:
    """Texts stay texts."""
    site.add_report(hostile())
    assert [] == problems("readReport", site.get(f"/api/v1/{PUBLIC}/pull/4270").json())


def test_a_run_that_nobody_measured_is_as_described(site: SiteUnderTest) -> None:
    """Its record alone, and with odd figures their words."""
    site.add_run("bare", b"x\n")
    assert [] == problems("readRun", site.get("/api/v1/runs/bare").json())
    nan = made(Shape(steps=5, losses=[1.0, 2.0, float("nan"), float("inf"), float("nan")], perplexity=False))
    for name, measured in (("nan", nan), ("failed", failed()), ("plain", samples.measured())):
        site.add_run(name, b"x\n", measured=measured)
        assert [] == problems("readRun", site.get(f"/api/v1/runs/{name}").json())


def test_what_is_found_in_logs_is_as_described(site: SiteUnderTest) -> None:
    """Hits with their neighbours, and two logs side by side; both say where to go on."""
    log = maxtext_log(steps=60)
    for name, text in (("one", log), ("two", log.replace("step: 3", "step: 30", 1))):
        site.add_run(name, text.encode(), measured=samples.measured())
    hits = site.get("/api/v1/runs/one/log/search?q=completed+step").json()
    assert [] == problems("searchLog", hits)
    assert 50 == len(hits["hits"])
    more = site.get(hits["next"].removeprefix(URL)).json()
    assert ([], 10, None) == (problems("searchLog", more), len(more["hits"]), more["next"])
    assert [] == problems("searchLog", site.get("/api/v1/runs/one/log/search").json())
    both = site.get(f"/api/v1/{PUBLIC}/compare-logs?base=one&head=two").json()
    assert [] == problems("compareLogs", both)
    assert ("one", "two", None) == (both["base"]["id"], both["head"]["id"], both["next"])
    refused = site.get(f"/api/v1/{PUBLIC}/compare-logs?base=one").json()
    assert [] == problems("compareLogs", refused, "400")


def test_the_description_is_served_and_names_every_address(site: SiteUnderTest) -> None:
    """Version 3.1, every route of the API and no other."""
    document = site.get("/api/v1/openapi.json").json()
    assert "3.1.0" == document["openapi"]
    served = {
        path.replace(":path}", "}").replace(":int}", "}")
        for route in site.app.routes
        if (path := str(getattr(route, "path", ""))).startswith("/api/v1")
    }
    assert served == set(document["paths"])
    names = [entry["get"]["operationId"] for entry in document["paths"].values()]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("runs/r/log?at=-1", "at cannot be -1. Possible is a whole number from 0 to "),
        ("runs/r/log?at=x", "at cannot be x."),
        ("runs/r/log?at=1.5", "at cannot be 1.5."),
        ("runs/r/log?length=0", "length cannot be 0. Possible is a whole number from 1 to "),
        ("runs/r/log?at=" + "9" * 400, "at cannot be " + "9" * 60 + "…."),
        ("runs/r/log?at=1&at=2", "at is given 2 times"),
        ("runs/r/log/search?q=a&case=maybe", "case cannot be maybe. Possible is yes or no."),
        ("runs/r/log/search?q=" + "a" * 201, "Possible is a text of at most 200 characters."),
        (
            f"{PUBLIC}/history?case=04_int8&metric=speed",
            "Possible is one of parameters_billion, final_loss, ",
        ),
        (f"{PUBLIC}/history?case=04_int8&format=xml", "format cannot be xml. Possible is csv."),
        (f"{PUBLIC}/parity/main?format=x", "format cannot be x."),
        (f"{PUBLIC}/pull/4270?head=HEAD", "head cannot be HEAD. Possible is the beginning of a commit"),
        (f"{PUBLIC}/compare-logs?base=one", "head is needed: Another."),
        (f"{PUBLIC}/compare-logs?base=a&head=b&section=-1", "section cannot be -1."),
        ("runs/r/log?at=%E2%80%AE1", "at cannot be [U+202E RIGHT-TO-LEFT OVERRIDE]1."),
    ],
)
def test_an_impossible_value_is_answered_by_what_is_possible(
    path: str, said: str, site: SiteUnderTest
) -> None:
    """400 and one sentence that names the parameter, as the description says; for who may see nothing too."""
    answer = site.get(f"/api/v1/{path}")
    assert (400, "no-store") == (answer.status_code, answer.headers["cache-control"])
    assert [] == problems("compareLogs", answer.json(), "400")
    assert said in answer.json()["error"]


@pytest.mark.parametrize("query", ["at=", "at=0&length=600000", "length=1", "other=-1"])
def test_a_possible_value_is_taken(query: str, site: SiteUnderTest) -> None:
    """An empty value counts as none, and a name that means nothing is passed by."""
    site.add_run("r", b"only line\n")
    assert 200 == site.get(f"/api/v1/runs/r/log?{query}").status_code


def test_every_address_with_parameters_is_described_to_answer_400() -> None:
    """Programs are told so beforehand."""
    paths = openapi_document()["paths"]
    assert isinstance(paths, dict)
    asked = {
        path
        for path, entry in paths.items()
        if any(one["in"] == "query" for one in entry["get"]["parameters"])
    }
    assert asked == {path for path, entry in paths.items() if "400" in entry["get"]["responses"]}


def test_a_private_repository_is_described_alike(site: SiteUnderTest) -> None:
    """Who is let in reads the same shapes."""
    site.add_run("p", b"x\n", repository=PRIVATE, measured=samples.measured())
    assert [] == problems("readRun", site.get("/api/v1/runs/p", authorization=MEMBER).json())
    assert [] == problems("readRepository", site.get(f"/api/v1/{PRIVATE}", authorization=MEMBER).json())
    record = samples.record("a", "", samples.HEAD, 1)
    site.database.write_now(runs.save, record, now=1.0)
    assert 200 == site.get(f"/api/v1/runs/{record.id}").status_code
