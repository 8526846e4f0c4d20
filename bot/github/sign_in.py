"""Signs people in through the App, and asks GitHub what they may read.

No exception carries a code, a token or the secret. A token that GitHub refuses is `InvalidToken`.
"""

from collections.abc import Callable, Mapping
from urllib.parse import urlencode, urlsplit

import httpx
from msgspec import Struct

from bot.errors import InternalError, InvalidToken, TransientError, UserError
from bot.github.errors import RETRY_SECONDS, error_from_status
from bot.github.limits import REQUEST_TIMEOUT
from bot.github.transport import API_VERSION, quoted

PUBLIC_API = "https://api.github.com"

PUBLIC_SITE = "https://github.com"


class UserToken(Struct, frozen=True, kw_only=True):
    """A person's token; it never shows in `repr`. `seconds` is how long it is good for, where GitHub says."""

    secret: str
    seconds: float | None

    def __repr__(self) -> str:
        return f"UserToken(seconds={self.seconds})"


class SignInClient:
    """Signs people in through the App, and asks GitHub what they may read. Nothing is sent before a call."""

    def __init__(
        self,
        *,
        client_id: str,
        client_secret: str,
        api_url: str,
        now: Callable[[], float],
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._client_id = client_id
        self._client_secret = client_secret
        self._api = api_url
        self._site = github_site(api_url)
        self._now = now
        self._transport = transport
        self._client: httpx.AsyncClient | None = None

    def sign_in_url(self, *, back_to: str, state: str, challenge: str) -> str:
        """Where a browser asks GitHub to sign a person in; `challenge` is the SHA-256 of the verifier."""
        query = {
            "client_id": self._client_id,
            "redirect_uri": back_to,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{self._site}/login/oauth/authorize?{urlencode(query)}"

    async def token(self, *, code: str, verifier: str, back_to: str) -> UserToken:
        """The token for a code; `UserError` where the code is used, old, or of another browser."""
        body = {
            "client_id": self._client_id,
            "client_secret": self._client_secret,
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": back_to,
        }
        answer = await self._request("POST", f"{self._site}/login/oauth/access_token", body=body)
        secret = answer.get("access_token")
        if not isinstance(secret, str) or not secret:
            raise _token_error(answer.get("error"))
        seconds = answer.get("expires_in")
        return UserToken(secret=secret, seconds=float(seconds) if isinstance(seconds, int | float) else None)

    async def login(self, token: str) -> str:
        """The name of the person whose token this is."""
        login = (await self._request("GET", f"{self._api}/user", token=token)).get("login")
        if not isinstance(login, str):
            raise InternalError("GitHub's answer to GET /user names nobody")
        return login

    async def may_read(self, token: str, repository: str, number: int | None) -> bool:
        """Whether GitHub shows the repository of this `number` to the person, by its present name."""
        path = "/".join(quoted(part) for part in repository.split("/"))
        try:
            found = await self._request("GET", f"{self._api}/repos/{path}", token=token)
        except InvalidToken:
            raise
        except UserError:
            return False
        name = found.get("full_name")
        same_name = isinstance(name, str) and name.lower() == repository.lower()
        # Somebody else may have the name by now: their repository says nothing of ours.
        return same_name and number is not None and found.get("id") == number

    async def forget(self, token: str) -> None:
        """Revoke a token; one that has ended already is no error."""
        url = f"{self._api}/applications/{quoted(self._client_id)}/token"
        auth = httpx.BasicAuth(self._client_id, self._client_secret)
        try:
            await self._request("DELETE", url, body={"access_token": token}, auth=auth)
        except UserError:
            return

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _request(
        self,
        method: str,
        url: str,
        *,
        token: str | None = None,
        body: Mapping[str, str] | None = None,
        auth: httpx.BasicAuth | None = None,
    ) -> Mapping[str, object]:
        path = urlsplit(url).path
        request = f"{method} {path}"
        headers = {"Accept": "application/json", "X-GitHub-Api-Version": API_VERSION}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if self._client is None:
            self._client = httpx.AsyncClient(
                timeout=REQUEST_TIMEOUT, transport=self._transport, headers={"User-Agent": "maxview"}
            )
        try:
            response = await self._client.request(method, url, json=body, headers=headers, auth=auth)
        except httpx.TransportError as problem:
            # From None: a request holds the token.
            text = f"{request} got no answer: {type(problem).__name__}"
            raise TransientError(text, after=RETRY_SECONDS, may_have_acted=True) from None
        return self._read(method, path, response)

    def _read(self, method: str, path: str, response: httpx.Response) -> Mapping[str, object]:
        if response.status_code == 401:
            raise InvalidToken(f"GitHub refuses this token ({method} {path})")
        if not response.is_success:
            # No redirect is followed: a renamed repository is requested by the name it has now.
            raise error_from_status(
                method=method,
                path=path,
                status=response.status_code,
                headers=response.headers,
                message="",
                now=self._now(),
            )
        try:
            answer = response.json() if response.content else {}
        except ValueError:
            raise TransientError(
                f"GitHub's answer to {method} {path} is not JSON", after=RETRY_SECONDS, may_have_acted=True
            ) from None
        return answer if isinstance(answer, Mapping) else {}


def github_site(api_url: str) -> str:
    """The web address of the GitHub whose API this is: github.com, an enterprise server, or an emulator."""
    return PUBLIC_SITE if api_url == PUBLIC_API else api_url.removesuffix("/api/v3")


def _token_error(error: object) -> UserError | InternalError:
    match error:
        case "bad_verification_code":
            return UserError("GitHub's answer was used already, or came too late. Sign in again.")
        case "incorrect_client_credentials" | "redirect_uri_mismatch":
            return InternalError(
                f"GitHub refuses the App's sign-in ({error}); check GITHUB_CLIENT_ID and its callback URL"
            )
        case _:
            return UserError("GitHub did not confirm who you are. Sign in again.")
