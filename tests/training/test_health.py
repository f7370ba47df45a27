"""The health watch speaks up when it should, and only then."""

from __future__ import annotations

from jimbot.training.session.health import COLLAPSE_ROWS, RETURN, HealthWatch

HEALTHY = {
    "train/entropy": 0.8,
    "train/approx_kl": 0.01,
    "train/clip_frac": 0.1,
    "train/mean_episode_return": 3.0,
}
DEAD = {"train/entropy": 1e-4, "train/approx_kl": 1e-7, "train/clip_frac": 0.0, "train/mean_episode_return": 3.0}


def names(watch: HealthWatch, row: dict[str, float]) -> list[str]:
    return [finding.metric for finding in watch.look(row)]


def test_a_healthy_row_is_silent() -> None:
    assert names(HealthWatch(), HEALTHY) == []


def test_high_kl_and_clip_fraction_are_named_with_their_values() -> None:
    findings = HealthWatch().look({**HEALTHY, "train/approx_kl": 0.07, "train/clip_frac": 0.31})
    assert [finding.metric for finding in findings] == ["high_kl", "high_clip_frac"]
    assert "0.070" in findings[0].sentence
    assert "0.31" in findings[1].sentence


def test_a_policy_that_a_teacher_moves_may_move_far() -> None:
    row = {**HEALTHY, "train/approx_kl": 0.5, "train/clip_frac": 0.6}
    assert names(HealthWatch(), {**row, "train/teacher_weight": 4.0}) == []
    assert names(HealthWatch(), {**row, "train/teacher_weight": 0.0}) == ["high_kl", "high_clip_frac"]


def test_collapse_needs_several_dead_rows() -> None:
    watch = HealthWatch()
    seen = [names(watch, DEAD) for _ in range(COLLAPSE_ROWS)]
    assert seen == [[]] * (COLLAPSE_ROWS - 1) + [["entropy_collapse"]]


def test_low_entropy_with_a_growing_return_is_learning_not_collapse() -> None:
    watch = HealthWatch()
    rows = [{**DEAD, "train/mean_episode_return": float(row)} for row in range(2 * COLLAPSE_ROWS)]
    assert [names(watch, row) for row in rows] == [[]] * len(rows)


def test_one_living_row_resets_the_suspicion() -> None:
    watch = HealthWatch()
    for row in [DEAD] * (COLLAPSE_ROWS - 1) + [HEALTHY] + [DEAD] * (COLLAPSE_ROWS - 1):
        assert names(watch, row) == []


def test_a_solved_game_is_no_collapse() -> None:
    """Every game ends the same, better than ever: probe once it is solved. Worse or never better is not."""

    def told(*returns: float) -> bool:
        watch = HealthWatch()
        rows = [{**HEALTHY, RETURN: value} for value in returns[:-1]] + [{**DEAD, RETURN: returns[-1]}] * COLLAPSE_ROWS
        return "entropy_collapse" in [name for row in rows for name in names(watch, row)]

    assert not told(2.0, 5.0, 8.0)
    assert told(2.0, 5.0, 4.0)
    assert told(0.3, 0.0)
    assert told(8.0)
