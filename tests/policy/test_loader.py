"""The file of the policy, its folders and the server's own places."""

from pathlib import Path

import pytest

from bot.errors import UserError
from bot.policy.grants import Grants
from bot.policy.loader import load_policy, own_places


def _policy(tmp_path: Path, sources: str, *never: str) -> Grants:
    file = tmp_path / "policy.yml"
    file.write_text(f"version: 1\nrepositories:\n  - {{match: acme/x, sources: {sources}}}\n")
    policy = load_policy(file, never)
    return Grants(entries=policy.entries or (), never=policy.never)


def test_a_granted_folder_is_the_place_that_it_was_at_the_start(tmp_path: Path) -> None:
    """A link in the policy is resolved once; what is granted is the place behind it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    granted = _policy(tmp_path, f'["file:{tmp_path}/link/*"]')
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("/etc")

    assert granted.allows(f"file:{tmp_path.resolve()}/real/run/log.txt")
    assert not granted.allows("file:/etc/passwd")


def test_a_star_in_a_folder_is_kept(tmp_path: Path) -> None:
    """Only what stands before it is resolved."""
    granted = _policy(tmp_path, f'["file:{tmp_path}/team-*/runs"]')

    assert granted.allows(f"file:{tmp_path.resolve()}/team-a/runs/log.txt")
    assert not granted.allows(f"file:{tmp_path.resolve()}/team-a/secret")


def test_nothing_that_the_server_keeps_can_be_granted(tmp_path: Path) -> None:
    """Data, artifacts, database, policy, key and the kernel's files, whatever the operator's entry says."""
    never = own_places(
        data_dir=tmp_path / "data",
        artifacts_url=f"file:{tmp_path}/artifacts",
        database_url=f"sqlite:///{tmp_path}/elsewhere.sqlite",
        files=[tmp_path / "key.pem"],
    )
    granted = _policy(tmp_path, '["file:/*"]', *never)

    assert granted.allows(f"file:{tmp_path.resolve()}/runs/log.txt")
    for name in ("data/x", "artifacts/runs/1/log.txt", "elsewhere.sqlite", "elsewhere.sqlite-wal", "key.pem"):
        assert not granted.allows(f"file:{tmp_path.resolve()}/{name}")
    for address in (f"file:{tmp_path.resolve()}/policy.yml", "file:/proc/self/environ", "file:/dev/stdin"):
        assert not granted.allows(address)


def test_artifacts_in_a_bucket_are_the_servers_own(tmp_path: Path) -> None:
    """Other tenants' logs are there."""
    never = own_places(data_dir=tmp_path, artifacts_url="gs://b/ours", database_url="postgresql://x/y")
    granted = _policy(tmp_path, '["gs://b/*"]', *never)

    assert granted.allows("gs://b/runs/log.txt")
    assert not granted.allows("gs://b/ours/runs/1/log.txt")


def test_no_file_is_a_policy_that_reads_and_launches_nothing() -> None:
    """Deny by default."""
    assert load_policy(None).entries is None


@pytest.mark.parametrize("content", [None, b"\xff", b"versions: 1"])
def test_a_policy_that_cannot_be_read_stops_the_start(tmp_path: Path, content: bytes | None) -> None:
    """A server never runs with half a policy."""
    file = tmp_path / "policy.yml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError, match=r"policy\.yml"):
        load_policy(file)
