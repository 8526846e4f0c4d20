"""Two pages that people know, rebuilt from a store: what they said stands there, and what they left out."""

import pytest

from tests.conftest import Accept
from tests.web.pages.test_pages import settled
from tests.web.seed_site import BRANCH, NEIGHBOURS, OFFLOAD, linen_and_nnx, main_and_branch
from tests.web.site_under_test import PUBLIC, ParsedPage, SiteUnderTest

VARIANTS = f"/{PUBLIC}/compare/main:linen...main:nnx"

DROPOUT = f"/{PUBLIC}/compare/main...{BRANCH}?case=03_dropout"


def _figures(document: dict[str, object], side: str) -> dict[str, object]:
    rows = document["chosen"]["comparison"]["rows"]  # type: ignore[index]
    return {row["metric"]: row[side] for row in rows}


def test_linen_and_nnx_stand_between_their_neighbours(site: SiteUnderTest, accept: Accept) -> None:
    """The failed side is a failure with its error and place in the log, and no column of blanks."""
    linen_and_nnx(site)
    answer = site.get(f"{VARIANTS}?case={OFFLOAD}")
    page = ParsedPage(answer.text)
    accept("pages/seed_linen_and_nnx.html", settled(answer.text))
    assert f"{OFFLOAD}: fails in nnx, passes in linen" in page.text
    assert "NotImplementedError: Pure NNX support has not been implemented yet." in page.text
    assert "train_utils.py:217" in page.text
    beside = [
        next(a["href"] for tag, a in page.tags if tag == "a" and a.get("rel") == rel)
        for rel in ("prev", "next")
    ]
    assert [f"{VARIANTS}?case={case}" for case in NEIGHBOURS] == beside
    (place,) = [a["href"] for tag, a in page.tags if tag == "a" and a.get("href", "").endswith("#error")]
    assert 200 == site.get(place.partition("#")[0]).status_code


def test_the_known_figures_of_linen_are_all_there(site: SiteUnderTest) -> None:
    """To the digit that the page they come from showed."""
    linen_and_nnx(site)
    base = _figures(site.get(f"/api/v1{VARIANTS}?case={OFFLOAD}").json(), "base")
    assert (1.104, 8.179, 2.864, "0.9.2") == tuple(
        base[name] for name in ("parameters_billion", "final_loss", "avg_step_seconds", "jax")
    )
    assert 91.9 == pytest.approx(base["last_tflops_per_device"], abs=0.1)
    assert 0.14745 == pytest.approx(base["steady_step_seconds"], abs=1e-4)


def test_main_and_the_branch_are_not_like_for_like(site: SiteUnderTest, accept: Accept) -> None:
    """Another JAX, and lines from other source although both claim one commit: no verdict on time."""
    main_and_branch(site)
    answer = site.get(DROPOUT)
    page = ParsedPage(answer.text)
    accept("pages/seed_main_and_branch.html", settled(answer.text))
    assert "03_dropout: not like for like" in page.text
    assert "JAX 0.9.2 → 0.8.1" in page.text
    assert "both sides claim commit 574ad3f" in page.text
    assert "information" in page.text
    assert "worse" not in page.text


def test_the_known_figures_of_both_sides_are_all_there(site: SiteUnderTest) -> None:
    """Average, last line, loss, memory, JAX; and beside them the steady step time, which hardly differs."""
    main_and_branch(site)
    document = site.get(f"/api/v1{DROPOUT}").json()
    base, head = _figures(document, "base"), _figures(document, "head")
    known = ("avg_step_seconds", "final_loss", "memory_percent", "jax")
    assert (1.374, 6.981, 1.31, "0.9.2") == tuple(base[name] for name in known)
    assert (1.43, 6.981, 1.31, "0.8.1") == tuple(head[name] for name in known)
    assert 11.338 == pytest.approx(base["last_tflops_per_device"], abs=0.001)
    assert 0.07069 == pytest.approx(base["steady_step_seconds"], abs=1e-5)
    assert 0.07081 == pytest.approx(head["steady_step_seconds"], abs=1e-5)
    assert 4 == document["chosen"]["comparison"]["loss"]["first_difference_step"]
