"""Finding runs by their names: globs that are narrow enough, and names compared with known slugs."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.globs import glob_matches
from bot.domain.pull_request import branch_slug
from bot.domain.run import LogFile
from bot.domain.run_pattern import PathFacts, RunPattern
from bot.ingest.collect import group_runs

XPK = RunPattern("{variant}_ckpt_xpk_{slug}_{date}_{time}/{variant}_xpk_{slug}_{date}_{time}_{case}/*.log")

CASES = ("03_dropout", "04_int8", "11_optimizer_offload_false", "11_optimizer_offload_true")

VARIANTS = ("linen", "nnx")


def _name(
    branch: str = "main", *, variant: str = "linen", case: str = "04_int8", at: str = "20260417_235819"
) -> str:
    return f"{variant}_ckpt_xpk_{branch}_{at}/{variant}_xpk_{branch}_{at}_{case}/pod-0.log"


def _read(name: str, *slugs: str) -> PathFacts | None:
    return XPK.read(name, slugs=slugs or ("main",), variants=VARIANTS, cases=CASES)


def _file(name: str) -> LogFile:
    return LogFile(name=name, size=1, updated=0.0, generation="1")


@pytest.mark.parametrize(
    ("branch", "expected"),
    [
        ("main", "main"),
        ("feat/Migrate-Decoder-And-Tests-to-NNX", "feat_Migrate_Decoder_And_Tests_to_NNX"),
        ("test_936672580", "test_936672580"),
        ("a--b//c", "a_b_c"),
        ("-x-", "_x_"),
        ("fée", "f_e"),
        ("", ""),
    ],
)
def test_a_slug_is_what_the_runner_writes(branch: str, expected: str) -> None:
    """Every stretch of other characters is one underscore; case is kept."""
    assert expected == branch_slug(branch)


@given(st.text(max_size=30))
def test_a_slug_of_a_slug_is_itself(branch: str) -> None:
    """It may be taken twice."""
    assert branch_slug(branch) == branch_slug(branch_slug(branch))


def test_a_name_says_case_variant_branch_and_start() -> None:
    """Date and time are UTC."""
    assert PathFacts(
        case="11_optimizer_offload_false",
        variant="nnx",
        slug="main",
        started=datetime(2026, 4, 17, 23, 58, 19, tzinfo=UTC).timestamp(),
    ) == _read(_name(variant="nnx", case="11_optimizer_offload_false"))


@pytest.mark.parametrize(
    "name",
    [
        _name("main_v2"),
        _name("mai"),
        _name("xmain"),
        _name(case="05_unknown"),
        _name(variant="flax"),
        _name(at="20260417_2358"),
        _name().replace("linen_xpk", "nnx_xpk"),
        _name()
        .replace("_xpk_main_20260417", "_xpk_main_20260418", 2)
        .replace("ckpt_xpk_main_20260418", "ckpt_xpk_main_20260417"),
        _name() + ".gz",
        f"{_name()}/checkpoints/x.log",
        f"old/{_name()}",
    ],
)
def test_other_names_are_not_of_this_branch(name: str) -> None:
    """Another branch, an unknown case or variant, halves that disagree, other depths."""
    assert _read(name) is None


def test_a_slug_that_begins_another_takes_only_its_own() -> None:
    """Both are known, and each gets its own runs."""
    facts = [_read(_name(branch), "main", "main_v2") for branch in ("main", "main_v2")]
    assert ["main", "main_v2"] == [found.slug for found in facts if found]


def test_an_impossible_date_is_no_start() -> None:
    """The run is there; when it began is not known."""
    facts = _read(_name(at="20261399_250000"))
    assert facts is not None
    assert facts.started is None


def test_what_the_pattern_leaves_out_is_clear_only_where_there_is_one() -> None:
    """One case needs no placeholder; of two nobody could tell."""
    pattern = RunPattern("{slug}/{date}/{sha}.log")
    name = "main/20260417/574AD3FB9.log"
    found = pattern.read(name, slugs=["main"], variants=["default"], cases=["train"])
    midnight = datetime(2026, 4, 17, tzinfo=UTC).timestamp()
    assert PathFacts(case="train", variant="default", slug="main", started=midnight, sha="574ad3fb9") == found
    assert pattern.read(name, slugs=["main"], variants=["default"], cases=["a", "b"]) is None
    assert pattern.read(name, slugs=[], variants=["default"], cases=["train"]) is None


@pytest.mark.parametrize("sha", ["574ad3", "574ad3g1", "5" * 41])
def test_what_is_not_a_commit_is_no_sha(sha: str) -> None:
    """Seven digits at least, forty at most."""
    pattern = RunPattern("{sha}/{case}.log")
    assert pattern.read(f"{sha}/a.log", slugs=[], variants=["default"], cases=["a"]) is None


def test_globs_are_as_narrow_as_what_is_known() -> None:
    """Two stars beside each other would cross levels."""
    assert XPK.glob(slug="main", variant="linen") == ("linen_ckpt_xpk_main_*_*/linen_xpk_main_*_*_*/*.log")
    assert "*_ckpt_xpk_*_*_*/*_xpk_*_*_*_*/*.log" == XPK.glob()
    assert "*/a/574ad3f*.log" == RunPattern("{slug}{date}/{case}/{sha}.log").glob(case="a", sha="574ad3fb9c")


def test_listings_begin_at_a_date_where_the_name_does() -> None:
    """Only where all before the date is known."""
    assert "linen_ckpt_xpk_main_20260418" == XPK.start_offset(
        date_from="20260418", slug="main", variant="linen"
    )
    assert XPK.start_offset(date_from="20260418", slug="main") is None
    assert RunPattern("{slug}/{case}.log").start_offset(date_from="20260418", slug="main") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{varient}/{case}", "unknown placeholder {varient}; did you mean {variant}?"),
        ("{x}", "unknown placeholder {x}; there are {variant}, {slug}, {date}, {time}, {case}, {sha}"),
        ("{case/x", "a brace without its partner; placeholders are written {case}"),
        ("a/**/b", "** is not supported; * stands for anything within one level"),
        ("a?b", "'?' is not supported; the only wildcard is *"),
        ("", "a level is empty, . or ..; write names separated by single slashes, relative to the source"),
        ("/a", "a level is empty, . or ..; write names separated by single slashes, relative to the source"),
        (
            "a/../b",
            "a level is empty, . or ..; write names separated by single slashes, relative to the source",
        ),
    ],
)
def test_a_pattern_that_cannot_work_says_why(text: str, said: str) -> None:
    """The configuration shows this beside the line."""
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        RunPattern(text)


def test_the_logs_of_several_hosts_are_one_run_newest_run_first() -> None:
    """One folder is one run; what does not belong is left out."""
    older, newer = "20260416_000000", "20260417_235819"
    names = [
        _name(at=older),
        _name(at=newer).replace("pod-0", "pod-1"),
        _name(at=newer),
        _name(at=newer, case="03_dropout"),
        _name("main_v2"),
    ]
    runs = group_runs(map(_file, names), XPK, slugs=("main",), variants=VARIANTS, cases=CASES)
    assert [("03_dropout", 1), ("04_int8", 2), ("04_int8", 1)] == [(run.case, len(run.files)) for run in runs]
    assert [names[2], names[1]] == [file.name for file in runs[1].files]
    assert names[2].rpartition("/")[0] == runs[1].folder


def test_cases_in_one_folder_are_runs_of_their_own() -> None:
    """Where the case is the file's name, the folder alone says too little."""
    pattern = RunPattern("{slug}_{date}_{time}/{case}.log")
    files = [_file(f"main_20260417_000000/{case}.log") for case in CASES]
    runs = group_runs(files, pattern, slugs=("main",), variants=("default",), cases=CASES)
    assert sorted(CASES) == [run.case for run in runs]


_PART = st.sampled_from(
    ["{variant}", "{slug}", "{date}", "{time}", "{case}", "{sha}", "_", "-", "x", "*", "/", "."]
)


@given(
    st.lists(_PART, min_size=1, max_size=10).map("".join),
    st.sampled_from(["main", "main_v2", "a_20260417"]),
    st.sampled_from(CASES),
    st.sampled_from(VARIANTS),
)
def test_what_a_pattern_writes_it_finds_and_reads(text: str, branch: str, case: str, variant: str) -> None:
    """A name made by a valid pattern matches its narrowest glob, lies after its start, and is read."""
    try:
        pattern = RunPattern(text)
    except ValueError:
        return
    values = {"variant": variant, "slug": branch, "date": "20260417", "time": "235819", "case": case}
    name = text.replace("*", "any")
    for placeholder, value in (values | {"sha": "574ad3fb9c"}).items():
        name = name.replace(f"{{{placeholder}}}", value)
    start = pattern.start_offset(date_from="20260417", slug=branch, variant=variant, case=case)
    assert glob_matches(pattern.glob(slug=branch, variant=variant, case=case, sha="574ad3fb9c0"), name)
    assert start is None or name >= start
    facts = pattern.read(name, slugs=(branch,), variants=(variant,), cases=(case,))
    assert facts is not None
    assert (case, variant) == (facts.case, facts.variant)
