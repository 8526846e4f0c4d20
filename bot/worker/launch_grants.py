"""The configuration as far as the operator's policy grants it, before any run is planned."""

from msgspec import Struct
from msgspec.structs import replace

from bot.config import Suite
from bot.planning.jobs import SHA_PLACEHOLDER, device_of
from bot.policy.gate import Asked, LaunchTarget, Permissions


class GrantedSuite(Struct, frozen=True, kw_only=True):
    """A suite that launches nothing which is refused, and the refusal in one line, empty if there is none."""

    suite: Suite
    refusal: str = ""


async def granted_suite(permissions: Permissions, repository: str, suite: Suite, sha: str) -> GrantedSuite:
    """The suite without its launch, if a run of this commit may not be launched."""
    device = device_of(suite.launch) if suite.launch else None
    if device is None:
        return GrantedSuite(suite=suite)
    target = LaunchTarget(
        place=device.place,
        image=device.image.replace(SHA_PLACEHOLDER, sha),
        repository=device.repository,
    )
    refusal = (await permissions.launch(repository, target, Asked.RECENTLY)).refusal
    if refusal is None:
        return GrantedSuite(suite=suite)
    return GrantedSuite(suite=replace(suite, launch=None), refusal=refusal.text)
