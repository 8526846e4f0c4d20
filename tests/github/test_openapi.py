"""The check against GitHub's description sees mistakes."""

import httpx
import pytest

from tests.peers.openapi import OPERATIONS, Contract, operations

pytestmark = pytest.mark.anyio

HEADERS = {"Authorization": "token x", "X-GitHub-Api-Version": "2022-11-28"}
COMMENTS = "/repos/acme/maxtext/issues/1/comments"


async def _violations(
    method: str, path: str, status: int = 200, answer: object = None, **request: object
) -> list[str]:
    contract = Contract(httpx.MockTransport(lambda _: httpx.Response(status, json=answer)))
    async with httpx.AsyncClient(transport=contract, base_url="http://g.test") as client:
        await client.request(method, path, **{"headers": HEADERS, **request})  # type: ignore[arg-type]
    return [one.text for one in contract.violations]


async def test_a_valid_request_and_response_pass() -> None:
    """An empty list of comments is one."""
    assert [] == await _violations("GET", f"{COMMENTS}?per_page=100&page=2", answer=[])


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"body": 5}, 'body body: 5 is not of type "string"'),
        ({}, 'body : "body" is a required property'),
        ({"body": "x", "color": "red"}, "the body's color is not known"),
    ],
)
async def test_a_wrong_body_is_reported(body: object, problem: str) -> None:
    """Types, missing and unknown fields."""
    assert problem in await _violations("POST", COMMENTS, 404, {}, json=body)


async def test_a_wrong_query_is_reported() -> None:
    """Unknown names and wrong types."""
    assert ["the query size is not known"] == await _violations("GET", f"{COMMENTS}?size=1", answer=[])
    assert len(await _violations("GET", f"{COMMENTS}?per_page=many", answer=[])) == 1


async def test_missing_headers_are_reported() -> None:
    """The version and the token."""
    expected = ["the request names no API version", "the request has no Authorization"]
    assert expected == await _violations("GET", COMMENTS, answer=[], headers={})


async def test_a_wrong_response_is_reported() -> None:
    """Undescribed statuses and missing fields."""
    assert ["the status 418 is not described"] == await _violations("GET", COMMENTS, 418, {})
    found = await _violations("GET", COMMENTS, answer=[{"id": 1}])
    assert 'answer 200 []: "user" is a required property' in found


async def test_an_unknown_operation_is_reported() -> None:
    """Only what is listed may be called."""
    expected = ["GitHub has no such operation, or we do not list it"]
    assert expected == await _violations("GET", "/repos/acme/maxtext/nothing", answer={})


def test_the_description_is_cut_to_what_is_used() -> None:
    """Three dozen operations at most, of more than a thousand."""
    assert len(operations()) == len(OPERATIONS) < 36
