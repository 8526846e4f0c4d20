"""Deliveries are checked (sender, size, kind) and recorded before they are accepted."""

import asyncio
import hashlib
import hmac
import json
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.delivery import Delivery
from bot.storage import deliveries
from bot.storage.database import Database, DatabaseUnavailable
from bot.webhooks.receiver import (
    MAX_BODY_BYTES,
    BodySignature,
    DeliveryRecorder,
    WebhookReceiver,
    WebhookResponse,
)

SECRET = "It's a Secret to Everybody"

BODY = b'{"action": "opened"}'

NOW = 1_000.0


def has_valid_signature(secret: bytes, body: bytes, given_signature: str) -> bool:
    """Whether the receiver would take this signature for a body that comes in two pieces."""
    digest = BodySignature(secret)
    digest.update(body[:5])
    digest.update(body[5:])
    return digest.equals(given_signature)


class DeliveryStore:
    """A store of deliveries that can be unavailable."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.problem: Exception | None = None
        self.woken = 0

    def write(self, batch: Sequence[Delivery]) -> None:
        """Record a batch, unless the store is unavailable."""
        if self.problem is not None:
            raise self.problem
        self.deliveries += batch

    def wake(self) -> None:
        """Count how often work was announced."""
        self.woken += 1


def signature(body: bytes, secret: str = SECRET) -> str:
    """What GitHub puts into X-Hub-Signature-256."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def headers(body: bytes = BODY, /, **changed: str | None) -> dict[str, str]:
    """The headers of a delivery; None leaves one out, and `_` stands for `-`."""
    usual = {
        "x-hub-signature-256": signature(body),
        "x-github-delivery": "d1",
        "x-github-event": "pull_request",
        "content-length": str(len(body)),
    }
    named = {name.replace("_", "-"): value for name, value in changed.items()}
    return {name: value for name, value in {**usual, **named}.items() if value is not None}


async def _chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def receive(
    kept: DeliveryStore,
    given_headers: Mapping[str, str],
    chunks: AsyncIterator[bytes] | None = None,
    body: bytes = BODY,
) -> WebhookResponse:
    """What a receiver answers to one request."""
    stream = _chunks(body[:3], body[3:]) if chunks is None else chunks

    async def scene() -> WebhookResponse:
        recorder = DeliveryRecorder(kept.write)
        receiver = WebhookReceiver(secret=SECRET, recorder=recorder, now=lambda: NOW, wake=kept.wake)
        answer = await receiver.receive(given_headers, stream)
        await asyncio.to_thread(recorder.close)
        return answer

    return asyncio.run(scene())


def test_the_signature_of_githubs_documentation_fits() -> None:
    """The one published pair of secret, body and signature."""
    published = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert has_valid_signature(SECRET.encode(), b"Hello, World!", published)
    assert not has_valid_signature(SECRET.encode(), b"Hello, World?", published)


@pytest.mark.parametrize("given_signature", ["", "sha256=", "sha1=abc", "757107ea", "sha256=é", "\ud800"])
def test_a_signature_of_another_form_does_not_fit(given_signature: str) -> None:
    """Whatever stands in the header, it is compared and refused, never an error."""
    assert not has_valid_signature(SECRET.encode(), b"Hello, World!", given_signature)


@given(body=st.binary(max_size=200), at=st.integers(0, 199), flip=st.integers(1, 255))
def test_a_changed_byte_breaks_the_signature(body: bytes, at: int, flip: int) -> None:
    """The signature is of the raw bytes: one changed byte and it does not fit."""
    right = signature(body)
    assert has_valid_signature(SECRET.encode(), body, right)
    if body:
        place = at % len(body)
        changed = body[:place] + bytes([body[place] ^ flip]) + body[place + 1 :]
        assert not has_valid_signature(SECRET.encode(), changed, right)


def test_a_delivery_is_kept_before_it_is_acknowledged() -> None:
    """202 with the delivery's id; the raw bytes are in the store, and work is announced."""
    kept = DeliveryStore()
    assert receive(kept, headers()) == WebhookResponse(status=202, body={"delivery": "d1"})
    assert kept.deliveries == [Delivery(id="d1", event="pull_request", payload=BODY, received=NOW)]
    assert kept.woken == 1


def test_bytes_are_checked_as_they_came() -> None:
    """A body in UTF-8, with escapes and odd spaces, is neither decoded nor written anew before the check."""
    body = '{ "title" :\t"\\u00e9é 👋",\r\n"n": 1.0 }'.encode()
    kept = DeliveryStore()
    assert receive(kept, headers(body), body=body).status == 202
    assert kept.deliveries[0].payload == body


def test_a_forged_signature_is_refused() -> None:
    """401 with what to check, and nothing is kept."""
    kept = DeliveryStore()
    answer = receive(kept, headers(x_hub_signature_256=signature(BODY, "another secret")))
    assert (answer.status, kept.deliveries) == (401, [])
    assert "GITHUB_WEBHOOK_SECRET" in answer.body["error"]


def test_a_wrong_secret_is_told_to_the_operator_and_not_more_than_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One line says which setting to look at; whoever sends forged webhooks fills no disk with it."""
    kept, clock = DeliveryStore(), [NOW]

    async def scene() -> None:
        recorder = DeliveryRecorder(kept.write)
        receiver = WebhookReceiver(secret=SECRET, recorder=recorder, now=lambda: clock[0], wake=kept.wake)
        for seconds in (0, 1, 59, 60, 61):
            clock[0] = NOW + seconds
            await receiver.receive(headers(x_hub_signature_256="sha256=0"), _chunks(BODY))
        await asyncio.to_thread(recorder.close)

    asyncio.run(scene())
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert all("GITHUB_WEBHOOK_SECRET is not the App's secret" in line for line in said)


def test_a_missing_signature_is_refused() -> None:
    """401 where the header is not there at all."""
    assert receive(DeliveryStore(), headers(x_hub_signature_256=None)).status == 401


@pytest.mark.parametrize(
    "signature_header",
    [
        None,
        "",
        "sha256=",
        "sha256=" + "0" * 63,
        "sha256=" + "0" * 65,
        "sha1=" + "0" * 40,
        "sha256=" + "G" * 64,
    ],
)
def test_without_a_well_formed_signature_nothing_is_read(signature_header: str | None) -> None:
    """401, and the connection ends: no byte of the body is asked for."""
    asked: list[bytes] = []

    async def watched() -> AsyncIterator[bytes]:
        asked.append(BODY)
        yield BODY

    answer = receive(DeliveryStore(), headers(x_hub_signature_256=signature_header), watched())
    assert (answer.status, answer.headers, asked) == (401, {"Connection": "close"}, [])


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """408 at the deadline, however steadily it trickles."""
    monkeypatch.setattr("bot.webhooks.receiver.BODY_SECONDS", 0.2)

    async def trickle() -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(0.02)
            yield b" "

    answer = receive(DeliveryStore(), headers(content_length=None), trickle())
    assert (answer.status, answer.headers) == (408, {"Connection": "close"})


def _receiver(kept: DeliveryStore, recorder: DeliveryRecorder) -> WebhookReceiver:
    return WebhookReceiver(secret=SECRET, recorder=recorder, now=lambda: NOW, wake=kept.wake)


def test_bodies_share_a_budget_and_the_oldest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all bodies are too much, the one that has been read longest is told to come later; a genuine one
    is taken meanwhile, and what ended gives its room back."""
    monkeypatch.setattr("bot.webhooks.receiver.BodyBudget.__init__.__defaults__", (1000,))
    kept = DeliveryStore()
    wrong = headers(x_hub_signature_256="sha256=" + "0" * 64, content_length=None)

    async def scene() -> list[WebhookResponse]:
        recorder = DeliveryRecorder(kept.write)
        receiver = _receiver(kept, recorder)
        ends = asyncio.Event()

        async def held(size: int) -> AsyncIterator[bytes]:
            yield bytes(size)
            await ends.wait()

        answers = []
        for _ in range(2):
            ends.clear()
            old = [asyncio.create_task(receiver.receive(wrong, held(400))) for _ in range(2)]
            await asyncio.sleep(0.01)
            large = b'{"a": "' + b"x" * 300 + b'"}'
            answers.append(await receiver.receive(headers(large), _chunks(large)))
            await asyncio.sleep(0.01)
            assert [task.done() for task in old] == [True, False]
            ends.set()
            answers += await asyncio.gather(*old)
        await asyncio.to_thread(recorder.close)
        return answers

    answers = asyncio.run(scene())
    assert [answer.status for answer in answers] == [202, 503, 401] * 2
    assert answers[1].headers == {"Connection": "close", "Retry-After": "5"}


def test_a_body_that_alone_is_over_the_budget_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes no room for itself."""
    monkeypatch.setattr("bot.webhooks.receiver.BodyBudget.__init__.__defaults__", (10,))
    assert receive(DeliveryStore(), headers()).status == 503


def test_a_genuine_body_of_many_parts_takes_little_memory() -> None:
    """Whether it is an object is seen without building its parts: lists of lists cost a hundred times their
    text."""
    body = b'{"a": [' + b",".join([b"[[]]"] * 200_000) + b"]}"
    tracemalloc.start()
    try:
        assert receive(DeliveryStore(), headers(body), body=body).status == 202
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * len(body)


@pytest.mark.parametrize("body", [b'{"a": "\\ud800"}', b'{"a": NaN}', b'{"n": 1e999}'])
def test_what_python_reads_is_taken(body: bytes) -> None:
    """Half a surrogate pair, and numbers that are none, are no reason to lose a delivery."""
    assert receive(DeliveryStore(), headers(body), body=body).status == 202


def test_the_largest_body_is_the_one_that_github_promises() -> None:
    """GitHub sends no webhook above 25 MB: 26,214,400 bytes."""
    assert MAX_BODY_BYTES == 26_214_400


@pytest.mark.parametrize("announced", [str(MAX_BODY_BYTES + 1), "9" * 5000])
def test_an_announced_body_that_is_too_large_is_not_read(announced: str) -> None:
    """413 from the announced length alone: no byte of the body is asked for."""

    asked: list[bytes] = []

    async def watched() -> AsyncIterator[bytes]:
        asked.append(BODY)
        yield BODY

    answer = receive(DeliveryStore(), headers(content_length=announced), watched())
    assert (answer.status, asked) == (413, [])


@pytest.mark.parametrize("announced", [None, "3", "many", "-1", "²"])
def test_a_body_that_grows_too_large_is_cut_off(announced: str | None) -> None:
    """413 as soon as the limit is passed, whatever length was announced."""
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield bytes(1024 * 1024)

    answer = receive(DeliveryStore(), headers(content_length=announced), endless())
    assert (answer.status, sent) == (413, 26)


def test_the_largest_body_that_github_sends_is_taken() -> None:
    """Exactly 25 MB is not too much."""
    body = b'{"a": "' + b"x" * (MAX_BODY_BYTES - 9) + b'"}'
    assert receive(DeliveryStore(), headers(body), body=body).status == 202


@pytest.mark.parametrize(
    "body", [b"", b"payload=%7B%7D", b"[1]", b'"text"', b"{", b"\xff\xfe", b"[" * 100_000, b"NaN", b"null"]
)
def test_what_is_not_a_json_object_is_refused(body: bytes) -> None:
    """400 that says what to set, for forms, lists, broken and bottomless JSON."""
    kept = DeliveryStore()
    answer = receive(kept, headers(body), body=body)
    assert (answer.status, kept.deliveries) == (400, [])
    assert "JSON" in answer.body["error"]


@pytest.mark.parametrize("name", ["x_github_delivery", "x_github_event"])
def test_a_request_that_is_no_delivery_is_refused(name: str) -> None:
    """400 that names both headers where one is missing."""
    answer = receive(DeliveryStore(), headers(**{name: None}))
    assert answer.status == 400
    assert "X-GitHub-Delivery and X-GitHub-Event" in answer.body["error"]


def test_a_ping_is_answered_and_not_kept() -> None:
    """200: GitHub tries out the address, and there is nothing to do."""
    kept = DeliveryStore()
    answer = receive(kept, headers(x_github_event="ping"))
    assert answer == WebhookResponse(status=200, body={"delivery": "d1"})
    assert kept.deliveries == []


def test_an_unsigned_ping_is_refused() -> None:
    """Even a ping must come from who knows the secret."""
    assert (
        receive(DeliveryStore(), headers(x_github_event="ping", x_hub_signature_256="sha256=0")).status == 401
    )


def test_without_a_database_nothing_is_acknowledged() -> None:
    """503 says that it was not recorded; GitHub keeps the delivery, and nobody is woken."""
    kept = DeliveryStore()
    kept.problem = DatabaseUnavailable("the database: connection refused")
    answer = receive(kept, headers())
    assert (answer.status, kept.woken) == (503, 0)
    assert "database" in answer.body["error"]


def test_a_database_that_comes_back_is_used_again() -> None:
    """One failing batch does not end the writer."""
    kept = DeliveryStore()

    async def scene() -> list[int]:
        recorder = DeliveryRecorder(kept.write)
        receiver = WebhookReceiver(secret=SECRET, recorder=recorder, now=lambda: NOW, wake=kept.wake)
        statuses = []
        for problem in (None, DatabaseUnavailable("away"), None):
            kept.problem = problem
            answer = await receiver.receive(headers(), _chunks(BODY))
            statuses.append(answer.status)
        recorder.close()
        return statuses

    assert asyncio.run(scene()) == [202, 503, 202]


def test_a_database_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """GitHub cuts the connection after 10 s: 503 comes before that."""
    monkeypatch.setattr("bot.webhooks.receiver.RECORD_TIMEOUT_SECONDS", 0.05)

    async def scene() -> int:
        recorder = DeliveryRecorder(lambda _batch: time.sleep(0.3))
        receiver = WebhookReceiver(secret=SECRET, recorder=recorder, now=lambda: NOW, wake=lambda: None)
        answer = await receiver.receive(headers(), _chunks(BODY))
        recorder.close()
        return answer.status

    assert asyncio.run(scene()) == 503


def test_a_failure_reaches_everyone_who_waited_for_that_batch_and_nobody_else() -> None:
    """Each of those who share a failed commit is told; what was acknowledged before stays kept."""
    kept = DeliveryStore()

    async def scene() -> list[object]:
        recorder = DeliveryRecorder(kept.write)
        await recorder.record(_delivery("good"))
        kept.problem = DatabaseUnavailable("away")
        outcomes = await asyncio.gather(
            *(recorder.record(_delivery(f"bad{n}")) for n in range(5)), return_exceptions=True
        )
        recorder.close()
        return [type(outcome) for outcome in outcomes]

    assert asyncio.run(scene()) == [DatabaseUnavailable] * 5
    assert [one.id for one in kept.deliveries] == ["good"]


def test_what_waits_when_the_writer_is_closed_is_written() -> None:
    """A delivery that came just before the end is kept, and answered."""
    kept = DeliveryStore()

    async def scene() -> None:
        recorder = DeliveryRecorder(kept.write)
        waiting = [asyncio.create_task(recorder.record(_delivery(f"d{n}"))) for n in range(50)]
        await asyncio.sleep(0)
        await asyncio.to_thread(recorder.close)
        await asyncio.gather(*waiting)

    asyncio.run(scene())
    assert len(kept.deliveries) == 50


def test_nobody_who_went_away_stops_the_writer() -> None:
    """A request whose loop has ended meanwhile costs the others nothing."""
    kept = DeliveryStore()
    recorder = DeliveryRecorder(_slow(kept.write))

    async def leave() -> None:
        task = asyncio.create_task(recorder.record(_delivery("left")))
        await asyncio.sleep(0)
        task.cancel()

    async def stay() -> None:
        await recorder.record(_delivery("stayed"))

    asyncio.run(leave())
    asyncio.run(stay())
    recorder.close()
    assert [one.id for one in kept.deliveries] == ["left", "stayed"]


def test_kill_after_the_answer_loses_nothing(tmp_path: Path) -> None:
    """What was answered with 202 is read back by another connection, without the first being closed."""
    url = f"sqlite:///{tmp_path / 'a.sqlite'}"
    first = Database(url)
    first.migrate()

    async def scene() -> WebhookResponse:
        recorder = DeliveryRecorder(lambda batch: first.write_now(deliveries.record, batch))
        receiver = WebhookReceiver(secret=SECRET, recorder=recorder, now=lambda: NOW, wake=lambda: None)
        return await receiver.receive(headers(), _chunks(BODY))

    assert asyncio.run(scene()).status == 202
    second = Database(url)
    assert second.write_now(
        lambda connection: connection.exec_driver_sql("SELECT id FROM delivery").all()
    ) == [("d1",)]
    first.close()
    second.close()


def test_no_answer_repeats_what_was_sent() -> None:
    """Error texts hold no part of the body: it may be anything."""
    body = b'{"secret": "hunter2"'
    answer = receive(DeliveryStore(), headers(body), body=body)
    assert "hunter2" not in json.dumps(dict(answer.body))


def _delivery(name: str) -> Delivery:
    return Delivery(id=name, event="push", payload=b"{}", received=NOW)


def _slow(write: Callable[[Sequence[Delivery]], None]) -> Callable[[Sequence[Delivery]], None]:
    def slowly(batch: Sequence[Delivery]) -> None:
        time.sleep(0.05)
        write(batch)

    return slowly
