"""A budget that is used up, from the configuration to the comment."""

from pathlib import Path

from tests.end_to_end.scenes import launch_scene

# One run may take ten minutes of one device and half a minute to be ended, 0.17 chip-hours.
TIGHT = "budget: {chip_hours_per_day: 0.2}\ntriggers: {pull_request: false}\n"


def test_a_run_over_the_budget_waits_and_the_comment_says_why(tmp_path: Path) -> None:
    """`plan` shows the price and starts nothing; then one run starts, the others wait for midnight."""
    with launch_scene(tmp_path, TIGHT) as scene:
        head = scene.commit("A = 1\n")
        number = scene.open()
        github = scene.hosted.github
        scene.hosted.run(github.comment(number, "bob", "/benchmark plan"))
        body = scene.comment(number, "<details open><summary>Plan: would start 6 runs").body
        assert "would start 6 runs, at most 1.0 chip-hours" in body
        assert "Nobody asked for these runs yet" in body
        assert scene.runs() == {}
        scene.hosted.run(github.comment(number, "bob", "/benchmark run"))
        body = scene.comment(number, "chip_hours_per_day").body
        waits = "1 case waits: chip_hours_per_day: 0.2 does not cover 0.17 + at most 0.17"
        assert f"{waits}; it resets at 00:00 UTC." in body
        scene.server.wait_until(lambda: scene.running(head), "the head is measured")
        assert sorted(scene.runs().values()).count("planned") >= 3
