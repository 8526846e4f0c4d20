"""A GitHub that signs people in: a code is good once, and only with the verifier it was made for.

In:  who there is, and what they may read. Out: the answers of GitHub to `bot.github.sign_in`.
"""

import hashlib
import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import parse_qs, urlsplit

import httpx

from bot.github.sign_in import SignInClient

CLIENT_ID, CLIENT_SECRET = "Iv23client", "a client secret"

API = "https://api.github.com"


@dataclass
class FakeSignInProvider:
    """`reads` says which repositories each person may read; `down` makes every call fail."""

    reads: dict[str, set[str]]
    down: bool = False
    expires_in: int | None = 28_800
    asked: list[str] = field(default_factory=list)
    tokens: dict[str, str] = field(default_factory=dict)
    _codes: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    _counts: "count[int]" = field(default_factory=lambda: count(1))

    def people(self, now: float = 0.0) -> SignInClient:
        """Our side of it."""
        return SignInClient(
            client_id=CLIENT_ID,
            client_secret=CLIENT_SECRET,
            api_url=API,
            now=lambda: now,
            transport=httpx.MockTransport(self.answer),
        )

    def agree(self, url: str, login: str) -> str:
        """What the person's browser is sent back with; GitHub's own page, where one presses the button."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert (CLIENT_ID, "S256") == (asked["client_id"], asked["code_challenge_method"])
        code = f"code-{next(self._counts)}"
        self._codes[code] = (login, asked["code_challenge"], asked["redirect_uri"])
        return f"{urlsplit(asked['redirect_uri']).path}?code={code}&state={asked['state']}"

    def mint(self, login: str) -> str:
        """A token of a person."""
        token = f"ghu_{next(self._counts):036d}"
        self.tokens[token] = login
        return token

    def answer(self, request: httpx.Request) -> httpx.Response:
        """One answer of GitHub."""
        self.asked.append(f"{request.method} {request.url.path}")
        if self.down:
            return httpx.Response(502, text="bad gateway")
        if request.url.path == "/login/oauth/access_token":
            return self._exchange(json.loads(request.content))
        if request.url.path.startswith("/applications/"):
            self.tokens.pop(json.loads(request.content)["access_token"], None)
            return httpx.Response(204)
        return self._shown(request.url.path, request.headers["authorization"].removeprefix("Bearer "))

    def _shown(self, path: str, token: str) -> httpx.Response:
        login = self.tokens.get(token)
        if login is None:
            return httpx.Response(401, json={"message": "Bad credentials"})
        if path == "/user":
            return httpx.Response(200, json={"login": login})
        name = path.removeprefix("/repos/").lower()
        found = next((one for one in self.reads.get(login, ()) if one.lower() == name), None)
        if found is None:
            return httpx.Response(404, json={"message": "Not Found"})
        return httpx.Response(200, json={"full_name": found})

    def _exchange(self, body: dict[str, str]) -> httpx.Response:
        login, challenge, back_to = self._codes.pop(body["code"], ("", "", ""))
        digest = hashlib.sha256(body["code_verifier"].encode()).digest()
        if body["client_secret"] != CLIENT_SECRET:
            return httpx.Response(200, json={"error": "incorrect_client_credentials"})
        if not login or urlsafe_b64encode(digest).decode().rstrip("=") != challenge:
            return httpx.Response(200, json={"error": "bad_verification_code"})
        assert back_to == body["redirect_uri"]
        answer = {"access_token": self.mint(login), "token_type": "bearer"}
        return httpx.Response(200, json=answer | ({"expires_in": self.expires_in} if self.expires_in else {}))
