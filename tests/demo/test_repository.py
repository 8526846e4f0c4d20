"""The demonstration's repository, and what its branches really do when they are run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bot.clusters.checkout import check_out
from bot.demo.repository import CASES, DemoRepository, configuration, make_repository
from bot.demo.scenarios import Scenario, scenarios
from bot.domain.case_key import combine_keys
from bot.verdict.judgement import Verdict

LOSS = re.compile(r"loss: (\d+\.\d{3}), lm_loss: \1, perplexity: \d+\.\d{3}$", re.MULTILINE)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> DemoRepository:
    """The repository, in a path with spaces."""
    return make_repository(tmp_path_factory.mktemp("a demo") / "r.git")


def trained(repository: DemoRepository, sha: str, into: Path, case: str = "02_wide") -> tuple[int, str]:
    """Run a commit's program for a few steps; its exit code and its log."""
    check_out(repository.path, sha, into)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "training.train", f"configs/{case}.json"),
            *("run_name=test", "steps=12", "batch_size=16"),
        ],
        cwd=into,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout


def branch_sha(repository: DemoRepository, expected: Verdict) -> str:
    """The commit of the first pull request of which a case earns this verdict."""
    return next(
        branch.commit.sha for branch in repository.branches if expected in branch.scenario.expected.values()
    )


def test_every_kind_of_verdict_has_a_scenario() -> None:
    """The five that the contract demands, each from its own branch."""
    pulls = scenarios()
    assert [set(pull.expected.values()) for pull in pulls] == [
        {Verdict.SAME},
        {Verdict.SLOWER},
        {Verdict.SAME, Verdict.NEW_FAILURE},
        {Verdict.DIVERGED},
        {Verdict.NOT_LIKE_FOR_LIKE},
    ]
    assert len({pull.branch for pull in pulls}) == len(pulls)


def test_every_scenario_says_what_each_case_and_variant_earns() -> None:
    """A harmless case beside one that fails is held to its own verdict."""
    suite = yaml.safe_load(configuration(Path("/r.git")))
    keys = combine_keys(suite["cases"], suite["variants"])
    assert all(tuple(pull.expected) == keys for pull in scenarios())


def test_the_same_program_makes_the_same_commits(tmp_path: Path) -> None:
    """Two repositories differ only in the path that their configuration names."""
    one, other = make_repository(tmp_path / "1.git"), make_repository(tmp_path / "2.git")
    assert one.history[0] == other.history[0]
    assert {name for name in one.files if one.files[name] != other.files[name]} == {".github/maxview.yml"}


def test_every_branch_is_one_commit_on_main(repository: DemoRepository) -> None:
    """So main is every pull request's merge base."""
    for branch in repository.branches:
        assert branch.commit.parents == (repository.main.sha,)
        assert branch.files
        assert all(content != repository.files[name] for name, content in branch.files.items())


def test_the_configuration_names_a_repository_wherever_it_lies() -> None:
    """Quotes, spaces and signs in a path survive YAML."""
    for path in ("/a b/r.git", "/a: #b/'\"r.git"):
        read = yaml.safe_load(configuration(Path(path)))
        assert read["launch"] == {"cluster": "local", "local": {"repository": path}}
        assert list(read["cases"]) == list(CASES)


def test_main_prints_what_maxtext_prints(repository: DemoRepository, tmp_path: Path) -> None:
    """Versions, devices, parameters, compiled memory, memory in use, checkpoints, steps, TFLOPs."""
    code, log = trained(repository, repository.main.sha, tmp_path / "main")
    assert code == 0
    assert len(LOSS.findall(log)) == 12
    prefix = r"^I\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ "
    for line in (
        r"max_utils\.py:\d+\] System Information: Jax Version: 0\.9\.2$",
        r"max_utils\.py:\d+\] System Information: Jaxlib Version: 0\.9\.2$",
        r"train\.py:\d+\] Num_devices: 1, shape \(1(, 1)+\)$",
        r"max_utils\.py:\d+\] Total memory size: \d+\.\d GB, Output size: \d+\.\d GB, Temp size: ",
        r"metric_logger\.py:\d+\] number parameters: \d+\.\d{3} billion$",
        r"max_utils\.py:\d+\] \tUsing \(GB\) 0\.\d+ / \d+\.\d+ \(\d\.\d{6}%\) on TFRT_CPU_0$",
        r"checkpointing\.py:\d+\] Waiting for step 0 to finish before checkpoint\.\.\.$",
        r"checkpointing\.py:\d+\] Started an asynchronous checkpoint save for step 11$",
        (
            r"metric_logger\.py:\d+\] completed step: 11, seconds: \d+\.\d{3}, TFLOP/s/device: \d+\.\d{3}, "
            r"Tokens/s/device: \d+\.\d{3}, total_weights: 16, loss: "
        ),
    ):
        assert re.search(prefix + line, log, re.MULTILINE), line
    assert re.search(
        r"^Per train step:\n Total TFLOPs: 0\.\d\d \n split as 100\.00% learnable", log, re.MULTILINE
    )
    assert sorted(path.parent.name for path in (tmp_path / "main" / "output").rglob("state.json")) == [
        "0",
        "11",
    ]


def test_a_step_line_follows_the_dispatch_of_the_next_step(
    repository: DemoRepository, tmp_path: Path
) -> None:
    """The last step's checkpoint comes before the last two step lines, as in MaxText's own logs."""
    _, log = trained(repository, repository.main.sha, tmp_path / "main")
    order = [log.index(f"completed step: {step},") for step in (9, 10, 11)]
    order.insert(1, log.index("save for step 11"))
    assert order == sorted(order)


def test_a_change_without_effect_trains_the_same(repository: DemoRepository, tmp_path: Path) -> None:
    """The tidying and the slow guard leave every printed loss as it was."""
    _, log = trained(repository, repository.main.sha, tmp_path / "main")
    for verdict in (Verdict.SAME, Verdict.SLOWER, Verdict.NOT_LIKE_FOR_LIKE):
        _, other = trained(repository, branch_sha(repository, verdict), tmp_path / verdict)
        assert LOSS.findall(other) == LOSS.findall(log)


def test_the_lost_momentum_changes_the_loss_curve(repository: DemoRepository, tmp_path: Path) -> None:
    """The first step is the same, and later ones are more than 5 % off."""
    _, log = trained(repository, repository.main.sha, tmp_path / "main")
    _, other = trained(repository, branch_sha(repository, Verdict.DIVERGED), tmp_path / "branch")
    before, after = ([float(loss) for loss in LOSS.findall(text)] for text in (log, other))
    assert before[0] == after[0]
    assert max(abs(new / old - 1) for old, new in zip(before, after, strict=True)) > 0.05


def test_the_crash_names_its_file_and_line(repository: DemoRepository, tmp_path: Path) -> None:
    """One case fails in the file that the pull request changed, the other passes."""
    sha = branch_sha(repository, Verdict.NEW_FAILURE)
    code, log = trained(repository, sha, tmp_path / "branch")
    assert code == 1
    assert re.search(r'/training/model\.py", line \d+, in initial_parameters\n +raise ValueError', log)
    assert log.endswith("ValueError: hidden_size 24 does not divide into blocks of 16\n")
    assert trained(repository, sha, tmp_path / "branch", case="01_base")[0] == 0


def test_the_older_environment_is_reported(repository: DemoRepository, tmp_path: Path) -> None:
    """The pins that the pull request changes are the versions that the log states."""
    _, log = trained(repository, branch_sha(repository, Verdict.NOT_LIKE_FOR_LIKE), tmp_path / "branch")
    assert "Jax Version: 0.8.1\n" in log
    assert "Jaxlib Version: 0.8.1\n" in log


def test_an_edit_that_no_longer_applies_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pull request without a change would show nothing."""
    stale = Scenario(
        branch="stale",
        title="t",
        body="b",
        edits=(scenarios()[0].edits[0], scenarios()[0].edits[0]),
        expected={},
    )
    monkeypatch.setattr("bot.demo.repository.scenarios", lambda: (stale,))
    with pytest.raises(ValueError, match="exactly once"):
        make_repository(tmp_path / "r.git")
