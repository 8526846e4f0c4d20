"""`maxview policy`: what a policy says, what one would have to say, and names that are resolved anew."""

from pathlib import Path

import pytest

from bot.policy.grants import LocalJobs
from bot.policy.models import read_entries
from bot.storage import policy as stored
from bot.storage import repositories
from bot.storage.database import Database
from bot.storage.policy import StoredMatch
from bot.storage.repositories import RepositoryRow
from tests.cli.conftest import Maxview
from tests.end_to_end.scenes import hosted_github
from tests.github.git_repository import GitRepository
from tests.peers.keys import private_key
from tests.policy.samples import CONTRACT

TABLE = """\
✅ policy.yml: valid
  who                 may     what
  AI-Hypercomputer/*  read    gs://maxtext-bench/runs/*
                      launch  on my-project/us-east5-b/v6e-32-bench: up to 2
                              slices of v6e-32, priority medium at most, images
                              gcr.io/my-project/
                      launch  on this machine, sandboxed
                      upload  runs
                      spend   500 chip-hours a day, all its repositories
                              together
  acme/x              do      nothing
  The server's own data, keys, artifacts and database are never granted.
"""

CONFIGURATION = """\
version: 1
runs: {source: "gs://acme-bench/runs/", pattern: "{slug}_{date}_{time}/*.log"}
launch: {cluster: local, local: {repository: /srv/maxtext.git}}
cases: {a: {command: "python3 x.py"}}
"""


def test_a_policy_is_shown_as_a_table(
    maxview: Maxview, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may do what; an entry that grants nothing says so."""
    monkeypatch.chdir(tmp_path)
    Path("policy.yml").write_text(f"{CONTRACT}  - match: acme/x\n")
    result = maxview("policy", "check", "policy.yml")

    assert (result.status, result.out) == (0, TABLE)


def test_mistakes_are_named_with_their_lines(maxview: Maxview, tmp_path: Path) -> None:
    """One line each, exit status 2."""
    file = tmp_path / "policy.yml"
    file.write_text("version: 1\nrepositories:\n  - match: acme/x\n    uploads: true\n    sources: [x]\n")
    result = maxview("policy", "check", str(file))

    assert result.status == 2
    first, second = result.err.splitlines()
    assert first == f"maxview: {file}:4: repositories.0.uploads: unknown key; did you mean upload?"
    assert second.startswith(f"{file}:5: repositories.0.sources.0: must be a prefix such as")


def test_the_setting_names_the_file(
    maxview: Maxview, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for the server."""
    monkeypatch.delenv("POLICY", raising=False)
    assert maxview("policy", "check").err == "maxview: no policy is named: give a file, or set POLICY\n"
    (tmp_path / "policy.yml").write_text("version: 1\n")
    monkeypatch.setenv("POLICY", str(tmp_path / "policy.yml"))

    assert "The account that owns the App may upload runs." in maxview("policy", "check").out


def test_what_is_suggested_is_a_policy_for_what_is_served(
    maxview: Maxview, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database_url: str, database: Database
) -> None:
    """Each repository's own words, to sign; where GitHub shows nothing a comment says so."""
    git = GitRepository(tmp_path / "git")
    git.write("main", {".github/maxview.yml": CONFIGURATION})
    for number, name in enumerate(("acme/maxtext", "acme/unseen"), 1):
        row = RepositoryRow(
            full_name=name, installation=1, default_branch="main", private=False, active=True, id=number
        )
        database.write_now(repositories.save_repository, row)
    with hosted_github(git, webhook_url="http://127.0.0.1:9", secret="s", app_id=42, private=False) as hosted:
        settings = {
            "GITHUB_APP_ID": "42",
            "GITHUB_PRIVATE_KEY": private_key(),
            "GITHUB_WEBHOOK_SECRET": "s",
            "GITHUB_API_URL": hosted.url,
            "DATABASE_URL": database_url,
            "DATA_DIR": str(tmp_path),
        }
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        result = maxview("policy", "suggest")

    assert result.status == 0, result.err
    (entry,) = read_entries(result.out, "suggested") or ()
    assert entry.match == "acme/maxtext"
    assert entry.sources == ("gs://acme-bench/runs/*",)
    assert entry.local is LocalJobs.SANDBOXED
    assert "# acme/unseen: it has no .github/maxview.yml" in result.out


def test_a_name_is_resolved_anew_where_the_operator_says_so(
    maxview: Maxview, monkeypatch: pytest.MonkeyPatch, database_url: str, database: Database
) -> None:
    """A repository that was deleted and made again is another one until then."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    database.write_now(stored.save_matches, {"acme/x": StoredMatch(owner_id=1, repository_id=2)}, 1.0)

    assert maxview("policy", "forget", "Acme/X").status == 0
    assert database.read_here(stored.stored_matches) == {}
    assert maxview("policy", "forget", "Acme/X").status == 2
