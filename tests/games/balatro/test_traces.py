"""Recorded games replayed action by action; every state must be the recorded one."""

import gzip
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jimbot.games.balatro import traces

RECORDING = Path(__file__).resolve().parents[2] / "golden" / "balatro" / "traces.jsonl.gz"
with gzip.open(RECORDING, "rt", encoding="utf-8") as lines:
    RECORDS = [json.loads(line) for line in lines if line.strip()]
GAMES = [list(records) for _, records in itertools.groupby(RECORDS, key=lambda record: record["game"])]


def test_ten_games_of_1203_states_were_recorded():
    assert (len(GAMES), len(RECORDS)) == (10, 1203)


@pytest.mark.parametrize("records", GAMES, ids=[records[0]["seed"] for records in GAMES])
def test_a_recorded_game_replays_to_its_end(records):
    assert list(traces.replay(records)) == []


def test_a_replay_names_the_first_step_that_differs_and_both_values():
    records = [dict(record) for record in GAMES[0][:12]]
    records[9] = {**records[9], "state": {**records[9]["state"], "money": 99}}
    (difference,) = traces.replay(records)
    assert (difference.step, difference.field, difference.expected, difference.got) == (9, "money", 99, 7)


def test_a_replay_reports_an_action_the_rules_forbid():
    records = [*GAMES[0][:2], {**GAMES[0][2], "action": {"a": "cash_out"}}]
    (difference,) = traces.replay(records)
    assert (difference.step, difference.field) == (2, "legal")


def test_the_same_code_replays_a_recorded_game_as_plain_python(tmp_path):
    game = tmp_path / "game.json"
    game.write_text(json.dumps(GAMES[0]), encoding="utf-8")
    program = (
        "import json, sys; from jimbot.games.balatro import compile, traces; assert compile.JIT_DISABLED; "
        "print(list(traces.replay(json.load(open(sys.argv[1], encoding='utf-8')))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(game)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "[]", done.stderr
