"""Work in the background: it tells how far it is, ends when it is asked to, and its failures are sentences."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jimbot.errors import UsageError
from jimbot.viewer.http.jobs import AT_ONCE, CANCELLED, DONE, FAILED, MOST_WAITING, Job, Jobs, check_wish, compared


@pytest.fixture
def jobs() -> Jobs:
    return Jobs()


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_a_job_ends_in_the_middle_when_it_is_cancelled(jobs: Jobs) -> None:
    def forever(job: Job) -> None:
        for number in range(10**9):
            job.found.append(number)
            job.report(number)
            time.sleep(0.001)

    job = jobs.get(jobs.start({}, forever))
    wait_for(lambda: job.done > 3)
    job.cancel()
    wait_for(lambda: job.state == CANCELLED)
    assert len(job.document()["found"]) > 3


def test_results_and_failures_are_told(jobs: Jobs) -> None:
    def refuse(job: Job) -> None:
        raise UsageError("Not like this.")

    def fall(job: Job) -> None:
        raise ZeroDivisionError("oops")

    good, refused, fallen = (jobs.get(jobs.start({}, work)) for work in (lambda job: {"n": 1}, refuse, fall))
    wait_for(lambda: all(job.document()["over"] for job in (good, refused, fallen)))
    assert (good.state, good.document()["result"]) == (DONE, {"n": 1})
    assert (refused.state, refused.complaint) == (FAILED, "Not like this.")
    assert "oops" in fallen.complaint


def test_more_jobs_than_can_wait_are_refused(jobs: Jobs) -> None:
    hold = threading.Event()
    try:
        for _ in range(AT_ONCE + MOST_WAITING):
            jobs.start({}, lambda job: hold.wait(20))
        with pytest.raises(UsageError, match="waiting already"):
            jobs.start({}, lambda job: None)
    finally:
        hold.set()
    with pytest.raises(UsageError, match="not known"):
        jobs.get("nothing")


def test_policies_are_compared_on_the_same_seeds(tmp_path: Path) -> None:
    job = Job({})
    found = compared(job, ["random", "random"], "probe", 8, {}, (tmp_path,))
    assert found["kind"] == "pairs"
    assert [one["games"] for one in found["policies"]] == [8, 8]
    assert found["differences"][0]["equal"] == 8, "the same policy on the same seeds plays the same games"
    assert (job.done, job.of) == (16, 16)


def test_a_sequential_test_shows_how_it_came_to_its_verdict(tmp_path: Path) -> None:
    job, options = Job({}), {"helpers": True}
    found = compared(job, ["heuristic", "random"], "balatro", 512, options, (tmp_path,), "0,10")
    assert (found["kind"], found["decided"]) == ("sequential", "high")
    assert [one["pairs"] for one in job.found] == [0, 256]
    assert job.found[-1]["ratio"] > found["bounds"][1]


@pytest.mark.long
def test_in_games_of_two_everybody_meets_everybody_and_is_rated(tmp_path: Path) -> None:
    found = compared(Job({}), ["vgc", "random", "heuristic"], "vgc", 8, {}, (tmp_path,))
    assert found["kind"] == "cross"
    assert len(found["ratings"]) == 3
    assert found["ratings"][-1]["player"].startswith("random")


@pytest.mark.parametrize(("policies", "games"), [(["one"], 8), (["a"] * 13, 8), (["a", "b"], 0), (["a", "b"], 10**9)])
def test_what_nobody_wants_to_wait_for_is_refused(policies: list[str], games: int) -> None:
    with pytest.raises(UsageError):
        check_wish(policies, games)
