"""REST endpoints that sign people in through the App: codes, tokens, and who a token belongs to.

A code is good once, and only with the verifier it was made for (PKCE).
"""

import hashlib
import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.demo.github import payloads
from bot.demo.github.http import HttpError, RestGate
from bot.demo.github.state import GitHubState


class SignInRoutes:
    """Routes of sign-in; `create_token` makes a token of a person."""

    def __init__(self, github: GitHubState, create_token: Callable[[str], str]) -> None:
        self._github = github
        self._gate = RestGate(github)
        self._create_token = create_token

    def all(self) -> list[Route]:
        """Every route."""
        return [
            self._gate.public_route("POST", "/login/oauth/access_token", self._exchange_code),
            self._gate.public_route("DELETE", "/applications/{client_id}/token", self._delete_token),
            self._gate.route("GET", "/user", self._user),
        ]

    async def _exchange_code(self, request: Request) -> Response:
        body = json.loads(await request.body())
        code = self._github.sign_in_codes.pop(body["code"], None)
        if body["client_secret"] != self._github.client_secret:
            return JSONResponse({"error": "incorrect_client_credentials"})
        digest = urlsafe_b64encode(hashlib.sha256(body["code_verifier"].encode()).digest()).decode()
        if code is None or digest.rstrip("=") != code.challenge:
            return JSONResponse({"error": "bad_verification_code"})
        if body["redirect_uri"] != code.redirect_uri:
            return JSONResponse({"error": "redirect_uri_mismatch"})
        answer = {"access_token": self._create_token(code.login), "token_type": "bearer"}
        seconds = self._github.user_token_seconds
        return JSONResponse(answer if seconds is None else {**answer, "expires_in": seconds})

    async def _delete_token(self, request: Request) -> Response:
        _, _, encoded = request.headers.get("Authorization", "").partition(" ")
        if b64decode(encoded).decode() != f"{self._github.client_id}:{self._github.client_secret}":
            raise HttpError(401, "Requires authentication")
        token = json.loads(await request.body())["access_token"]
        if self._github.user_tokens.pop(token, None) is None:
            raise HttpError(404, "Not Found")
        return Response(status_code=204)

    async def _user(self, request: Request) -> Response:
        login = self._gate.person(request)
        if login is None:
            raise HttpError(403, "Resource not accessible by integration")
        return JSONResponse(payloads.user_json(self._github, self._github.account(login)))
