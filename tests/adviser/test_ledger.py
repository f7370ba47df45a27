"""The books: no number of callers, deaths or retries passes a limit, and what is written adds up."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jimbot.adviser.ledger import HOUR, LONGEST_CALL, Denied, Ledger, LedgerError, Limits, Reservation, Spent
from jimbot.adviser.prices import MODELS, NANO, Cost, Usage, model_for
from jimbot.adviser.settings import AdviserSettings
from jimbot.errors import SettingsError, UnknownNameError

WIDE = Spent(10**9, 10**12, 10**15)
CENT = NANO // 100


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def limits(hour: Spent = WIDE, run: Spent = WIDE) -> Limits:
    return Limits(hour, run)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> Ledger:
    return Ledger(tmp_path / "books" / "adviser.sqlite", clock)


def test_the_worst_case_is_charged_until_the_call_is_settled(ledger: Ledger) -> None:
    reserved = ledger.reserve("a", "m", Cost(1000, 5 * CENT), limits())
    assert isinstance(reserved, Reservation)
    assert ledger.books().all == ledger.books().open == Spent(1, 1000, 5 * CENT)
    ledger.settle(reserved, Cost(200, CENT), "answered")
    ledger.settle(reserved, Cost(0, 0), "answered")  # a second time changes nothing
    books = ledger.books()
    assert books.all == books.runs["a"] == books.hour == Spent(1, 200, CENT)
    assert (books.open, books.outcomes, books.balanced) == (Spent(), {"answered": 1}, True)


@pytest.mark.parametrize(
    ("most", "name"), [(Spent(2, 10**9, 10**12), "calls"), (Spent(9, 250, 10**12), "tokens"),
                       (Spent(9, 10**9, 2 * CENT), "dollars")],
)  # fmt: skip
@pytest.mark.parametrize("span", ["hour", "run"])
def test_each_limit_holds_to_the_last_unit_and_is_named(ledger: Ledger, most: Spent, name: str, span: str) -> None:
    held = limits(**{span: most})
    for _ in range(2):
        assert isinstance(ledger.reserve("a", "m", Cost(100, CENT), held), Reservation)
    denied = ledger.reserve("a", "m", Cost(100, CENT), held)
    assert isinstance(denied, Denied)
    assert denied.limit == f"{name}_per_{span}"
    assert denied.limit in denied.sentence
    assert ledger.books().all.calls == 2
    other = ledger.reserve("b", "m", Cost(100, CENT), held)
    assert isinstance(other, Reservation if span == "run" else Denied)


def test_an_hour_forgets_what_is_older_and_a_run_never(ledger: Ledger, clock: Clock) -> None:
    once = limits(hour=Spent(1, 10**9, 10**12))
    reserved = ledger.reserve("a", "m", Cost(1, 1), once)
    assert isinstance(reserved, Reservation)
    clock.now += LONGEST_CALL - 1
    ledger.settle(reserved, Cost(1, 1), "answered")
    clock.now += HOUR - 1  # an hour after the reservation, but not after the money was spent
    assert isinstance(ledger.reserve("a", "m", Cost(1, 1), once), Denied)
    clock.now += 2
    assert isinstance(ledger.reserve("a", "m", Cost(1, 1), once), Reservation)
    clock.now += 100 * HOUR
    assert isinstance(ledger.reserve("a", "m", Cost(1, 1), limits(run=Spent(2, 9, 9))), Denied)


def test_a_reservation_nobody_settles_stays_charged(ledger: Ledger, clock: Clock) -> None:
    once = limits(hour=Spent(1, 10**9, 10**12))
    ledger.reserve("a", "m", Cost(7, 7), once)
    clock.now += HOUR + LONGEST_CALL - 1
    assert isinstance(ledger.reserve("a", "m", Cost(1, 1), once), Denied)
    clock.now += 2
    assert isinstance(ledger.reserve("b", "m", Cost(1, 1), once), Reservation)
    assert ledger.books().runs["a"] == Spent(1, 7, 7)


def test_a_clock_that_goes_back_frees_nothing(ledger: Ledger, clock: Clock) -> None:
    once = limits(hour=Spent(1, 10**9, 10**12))
    ledger.reserve("a", "m", Cost(1, 1), once)
    clock.now -= 10 * HOUR
    assert isinstance(ledger.reserve("a", "m", Cost(1, 1), once), Denied)


CALLER = """
import json, random, sys, threading
from pathlib import Path
from jimbot.adviser.ledger import Ledger, Limits, Reservation, Spent
from jimbot.adviser.prices import Cost

path, seed, threads, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
ledger, limits = Ledger(Path(path)), Limits(Spent(*most), Spent(*most))
spent = [0, 0]

def call(luck):
    while isinstance(reserved := ledger.reserve("one run", "m", Cost(luck.randint(50, 100), luck.randint(500, 1000)),
                                                limits), Reservation):
        kind = luck.random()
        if kind < 0.2:
            continue  # a caller that is never heard of again
        share = luck.random() if kind < 0.8 else 0.0  # a real answer, or an error that costs nothing
        cost = Cost(int(reserved.cost.tokens * share), int(reserved.cost.nano * share))
        ledger.settle(reserved, cost, "answered")
        print(f"{cost.tokens} {cost.nano}\\n", end="", flush=True)  # in one piece: threads share the pipe

print("ready", flush=True)
sys.stdin.readline()
callers = [threading.Thread(target=call, args=(random.Random(seed * 1000 + one),)) for one in range(threads)]
for one in callers: one.start()
for one in callers: one.join()
print("done", flush=True)
"""


def test_64_callers_in_several_processes_one_of_them_killed_never_pass_a_limit(tmp_path: Path) -> None:
    path, most = tmp_path / "books.sqlite", Spent(10_000, 20_000, 150_000)
    callers = [
        subprocess.Popen(
            [sys.executable, "-c", CALLER, str(path), str(seed), "16", json.dumps(most)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for seed in range(4)
    ]  # fmt: skip
    for caller in callers:
        assert caller.stdout.readline() == "ready\n"
    for caller in callers:
        caller.stdin.write("go\n")
        caller.stdin.flush()
    victim = callers[0]
    lines = [victim.stdout.readline() for _ in range(5)]
    os.kill(victim.pid, signal.SIGKILL)
    printed = [*lines, *victim.communicate()[0].splitlines(True)]
    for caller in callers[1:]:
        output = caller.communicate(timeout=120)[0].splitlines(True)
        assert output[-1] == "done\n"
        printed += output[:-1]
    whole = [line for line in printed if line.endswith("\n") and line != "done\n"]
    used = [tuple(map(int, line.split())) for line in whole]
    books = Ledger(path).books()
    assert books.balanced
    assert books.all.tokens <= most.tokens
    assert books.all.nano <= most.nano
    # They did not stop too early: what the last ones gave back after the others had been denied is all that is left.
    assert books.all.nano > 0.95 * most.nano or books.all.tokens > 0.95 * most.tokens
    assert sum(nano for _, nano in used) <= books.all.nano - books.open.nano
    assert books.open.calls > 0
    assert books.all == books.runs["one run"]


def test_killed_at_random_instants_the_books_balance(tmp_path: Path) -> None:
    path, luck = tmp_path / "books.sqlite", random.Random(3)
    for seed in range(3):
        caller = subprocess.Popen(
            [sys.executable, "-c", CALLER, str(path), str(seed), "4", json.dumps(Spent(10**6, 10**9, 10**9))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        caller.stdout.readline()
        caller.stdin.write("go\n")
        caller.stdin.flush()
        for _ in range(luck.randint(1, 40)):
            caller.stdout.readline()
        caller.kill()
        caller.communicate()
        books = Ledger(path).books()
        assert books.balanced
        assert books.all.calls == sum(books.outcomes.values())


def test_threads_share_one_ledger(ledger: Ledger) -> None:
    taken: list[object] = []

    def reserve() -> None:
        taken.append(ledger.reserve("a", "m", Cost(1, 1), limits(run=Spent(10, 10**9, 10**9))))

    callers = [threading.Thread(target=reserve) for _ in range(64)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert sum(isinstance(one, Reservation) for one in taken) == 10


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be looked at" * 40, b"SQLite format 3\0"])
def test_a_damaged_ledger_is_one_sentence_and_nothing_is_spent(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "books.sqlite"
    path.write_bytes(content + b"\xff" * 200)
    with pytest.raises(LedgerError, match=r"ledger .* cannot be used: .*Nothing was asked"):
        Ledger(path).reserve("a", "m", Cost(1, 1), limits())


def test_a_ledger_of_another_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "books.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version=7")
    with pytest.raises(LedgerError, match="has format 7; this JimBot knows 1"):
        Ledger(path)


# --- what things cost ---


def test_the_estimate_is_never_below_what_a_call_can_cost() -> None:
    for model in MODELS.values():
        worst = model.worst(10_000, 500)
        for usage in (Usage(fresh=10_000, output=500), Usage(written=10_000, output=500), Usage(kept=10_000)):
            cost = model.cost(usage)
            assert cost.tokens <= worst.tokens
            assert cost.nano <= worst.nano


def test_prices_are_per_million_tokens() -> None:
    model = MODELS["claude-haiku-4-5"]
    assert model.cost(Usage(fresh=1_000_000, output=1_000_000)).dollars == pytest.approx(6.0)
    assert model.cost(Usage(kept=1_000_000)).dollars == pytest.approx(0.1)
    assert model.cost(Usage(written=1_000_000)).dollars == pytest.approx(1.25)


def test_an_unknown_model_needs_prices() -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'claude-haiku-5-5'.*input_price and output_price"):
        model_for(AdviserSettings(model="claude-haiku-5-6"))
    model = model_for(AdviserSettings(model="house-model", input_price=1, output_price=2))
    assert model.cost(Usage(1_000_000, output=1_000_000)).dollars == pytest.approx(3.0)
    assert model_for(AdviserSettings(input_price=7)).input_price == 7


@pytest.mark.parametrize(
    ("values", "said"),
    [({"dollars_per_day": 1}, "Did you mean 'dollars_per_run'"), ({"share": 0.5}, "share is 0.5"),
     ({"dollars_per_hour": -1}, "dollars_per_hour is -1"), ({"calls_per_run": "many"}, "expected a whole number"),
     ({"source": "oracle"}, "Unknown adviser 'oracle'"), ({"dollars_per_run": float("nan")}, "dollars_per_run is nan"),
     ({"calls_per_hour": 1.5}, "calls_per_hour is 1.5")],
)  # fmt: skip
def test_wrong_settings_are_refused_in_a_sentence(values: dict, said: str) -> None:
    with pytest.raises((SettingsError, UnknownNameError), match=said):
        AdviserSettings().with_values(values)
