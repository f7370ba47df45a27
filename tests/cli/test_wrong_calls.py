"""Wrong calls of every command: one sentence on stderr, exit code 2, and nothing else happens.

A row is what is typed and the key part of the answer. Where a word of it is in `MADE`, that file, run or folder is made
first; it is the only thing there beside the run `perfect`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from jimbot.games import game_entry
from jimbot.games.recording import Recording
from tests.cli.conftest import Jimbot
from tests.cli.making import save_perfect
from tests.cli.test_play import paying_actions
from tests.knowledge.samples import GAME as GRAPH_GAME
from tests.knowledge.samples import sample_file
from tests.services.asking import GAME, LEGAL, OBSERVATION

ADVISED = "evaluate random --game probe --games 2 --adviser"
VISIT = "--server ws://127.0.0.1:9/showdown/websocket --challenge somebody"
GRAPH = f"--graph graph.lbug --game {GRAPH_GAME}"
QUESTION = {"game": GAME, "observation": OBSERVATION[3].tolist(), "legal_mask": LEGAL[3].tolist()}
TOO_MANY = 10**10

CALLS = [
    # the frame
    ("evalute x", "No such command 'evalute'. Did you mean 'evaluate'?"),
    ("help trian", "Did you mean 'train'"),
    ("play probe --sed 3", "No such option: --sed (did you mean --seed?). See: jimbot play --help"),
    ("play probe --seed seven", "--seed: 'seven' is not a seed; expected a whole number"),
    ("evaluate random --game probe --gmaes 4", "did you mean --games?"),
    ("evaluate random --game probe --nothing 4", "No such option: --nothing"),
    ("settings xyzzy", "No setting has 'xyzzy'"),
    ("setup hackmatrix", "Other games need nothing"),
    # evaluate, compare, analyze
    ("evaluate random", "add --game"),
    ("evaluate random --game chess", "Unknown game 'chess'"),
    ("evaluate perfect --games 0", "--games is 0; expected a number above 0"),
    (f"evaluate perfect --games {TOO_MANY}", "10,000,000,000 games of the bank 'held-out'; expected 1 to"),
    (f"evaluate vgc max_power --games {TOO_MANY}", "expected 1 to 10,000,000"),
    ("evaluate perfect --num-envs -3", "--num-envs is -3; expected a number above 0"),
    ("evaluate perfect --seed 7LB2WVPK", "'7LB2WVPK' is not a seed"),
    ("evaluate perfect --seeds held_out", "Did you mean 'held-out'?"),
    ("evaluate perfect --seeds-file nowhere.txt", "nowhere.txt cannot be read"),
    ("evaluate perfect --seeds-file letters.txt", "line 2: 'abc' is not a seed"),
    ("evaluate perfect --option horizn=3", "Did you mean 'horizon'?"),
    ("evaluate perfect --option horizon=many", "do not fit game 'probe'"),
    ("evaluate perfect --game hackmatrix", "'hackmatrix' is needed here"),
    ("evaluate perfect --against 235%", "--against is '235%'; expected a win rate"),
    ("evaluate perfect --against two", "--against is 'two'; expected a win rate"),
    ("evaluate perfect --opponent random", "one player"),
    ("evaluate perfect --plan-seconds 0", "A plan of 0 seconds cannot be made"),
    ("compare perfect random --sprt 3,0", "--sprt 3,0 cannot be told apart"),
    ("compare perfect random --sprt 0,3", "'probe' cannot be won"),
    ("review", "Give one file to review, or a folder"),
    ("review nowhere.json", "is no file; expected a recorded game"),
    ("review letters.txt", "something else than a JSON object"),
    ("review letters.txt --moves 9-3", "--moves is '9-3'"),
    ("arena table", "There is no arena in 'arena'"),
    ("arena new chess", "Unknown game 'chess'"),
    ("arena new probe --cell long:horizn=3", "Did you mean 'horizon'?"),
    ("arena new probe --games 0", "--games is 0"),
    ("evaluate vgc max_power --opponent nobody", "nobody"),
    ("evaluate vgc max_power --option opponent=random", "--opponent"),
    ("evaluate max_power random", "two policies"),
    ("evaluate vgc max_power --game probe", "two games"),
    (f"{ADVISED} --adviser-set dollars=3", "Unknown setting of the adviser 'dollars'"),
    (f"{ADVISED} --adviser-set model=gpt --adviser-set source=claude", "Unknown model 'gpt'"),
    (f"{ADVISED} --adviser-set share=1", "share is 1"),
    ("analyze missing", "missing"),
    ("analyze perfect --games 0", "--games is 0"),
    (f"analyze perfect --games {TOO_MANY}", "expected 1 to 10,000,000"),
    ("analyze perfect --output .", "is a folder; give the name of a file"),
    ("compare perfect", "give at least two"),
    ("compare perfect random --metric matchs", "Did you mean 'matches'?"),
    ("compare random random", "which game"),
    ("compare perfect missing", "missing"),
    ("compare perfect random --games -1", "--games is -1"),
    (f"compare perfect random --games {TOO_MANY}", "expected 1 to 10,000,000"),
    ("compare perfect random --picture table.png", "one player"),
    ("compare max_power random --game vgc --picture table.txt", ".png"),
    # verify
    ("verify balatro nowhere", "'nowhere' does not exist; expected a directory of recordings."),
    ("verify balatro runs", "'runs' holds no recording; expected files named pools*.json"),
    ("verify hackmatrix .", "Unknown game to verify 'hackmatrix'."),
    ("verify balatro . --differences 0", "--differences is 0; expected a number above 0"),
    ("verify balatro recordings", "scoring.json' is not JSON: line 1"),
    # record, export
    (f"record probe --policy random --games {TOO_MANY}", "games is 10,000,000,000; expected at most"),
    ("export perfect --output policy.h5", "Unknown file kind '.h5'"),
    ("export perfect --output nowhere/policy.onnx", "is no folder"),
    ("export perfect --output letters.txt/policy.onnx", "is no folder"),
    ("export perfect --output folder.onnx", "is a folder"),
    # play
    ("play hakmatrix", "Did you mean 'hackmatrix'?"),
    ("play probe --seed -1", "--seed: '-1' is not a seed; expected a whole number from 0"),
    (f"play probe --seed {2**64}", "expected a whole number from 0"),
    ("play probe --option horizn=3", "Did you mean 'horizon'?"),
    ("play probe --option horizon=0", "horizon is 0"),
    ("play probe --option horizon", "expected --option name=value"),
    ("play hackmatrix --adviser", "--live"),
    (f"play vgc --policy heuristic {VISIT}", "No Showdown server answers"),
    ("play vgc --policy heuristic --server nowhere", "no address"),
    (f"play vgc --policy nobody {VISIT}", "nobody"),
    ("play vgc --policy heuristic --challenge somebody", "--server"),
    (f"play probe --policy perfect {VISIT}", "vgc"),
    (f"play vgc --policy heuristic {VISIT} --games 0", "--games"),
    # watch
    ("watch random", "add --game"),
    ("watch perfect --game chess", "Unknown game 'chess'"),
    ("watch perfect --latest", "give one of them"),
    ("watch balatro --game hackmatrix", "are two games"),
    ("watch perfect --games 0", "--games is 0; expected a number above 0"),
    ("watch perfect --speed -2", "--speed is -2.0; expected a number above 0"),
    ("watch perfect --seed -2", "--seed: '-2' is not a seed"),
    ("watch perfect --option horizn=2", "Did you mean 'horizon'?"),
    ("watch --latest --runs-dir elsewhere", "There is no checkpoint under elsewhere yet"),
    ("watch broken.onnx", "broken.onnx"),
    ("watch no-model.onnx --game probe", "it is not an ONNX model"),
    ("watch perfect --opponent random", "one player"),
    ("bench vgc --compare", "--compare compares everything; give jimbot bench all --compare"),
    ("watch vgc max_power --opponent nobody", "nobody"),
    ("watch vgc max_power --opponent random --record game.json", "recorded"),
    ("watch random --game probe --record nowhere/game.json", "which is no folder; create it first"),
    # replay
    ("replay nothing.json", "'nothing.json' does not exist; expected a transcript."),
    ("replay balatro.json --step 9", "--step is 9; expected 0 to 4, the number of moves."),
    ("replay half.json", "half.json' is damaged: line"),
    ("replay probe.json --step 9", "--step is 9; expected 0 to 8"),
    # seed
    ("seed", "Neither a seed nor --find is given"),
    ("seed TESTSEED --find boss:bl_hook@1", "Both a seed and --find are given"),
    ("seed AB-D", "Seed 'AB-D' has the character '-'; expected 1 to 8 characters out of 1-9 and A-Z"),
    ("seed ABCDEFGHI", "Seed 'ABCDEFGHI' has 9 characters; expected 1 to 8"),
    ("seed TESTSEED --antes 0", "antes is 0; expected 1 to 16"),
    ("seed TESTSEED --antes 17", "antes is 17; expected 1 to 16"),
    ("seed TESTSEED --cards 41", "shop_cards is 41; expected 0 to 40"),
    ("seed TESTSEED --packs 7", "first_packs is 7; expected 0 to 6"),
    ("seed TESTSEED --deck gost", "Unknown deck 'gost'. Did you mean 'b_ghost'?"),
    ("seed TESTSEED --stake 9", "Unknown stake '9'."),
    ("seed TESTSEED --start 11111111", "--start and --max-seeds belong to --find"),
    ("seed --find boss:bl_hook@1 --limit 0", "--limit is 0; expected a number above 0"),
    ("seed --find boss:bl_hook@1 --start ABC", "Seed 'ABC' has 3 characters; only seeds of 8"),
    ("seed --find boss:bl_hook@1 --start AB_D1111", "Seed 'AB_D1111' has the character '_'"),
    ("seed --find ''", "ends too early; expected a condition"),
    ("seed --find blueprint", "'blueprint' is no condition; expected one like voucher:v_telescope@1"),
    ("seed --find jocker:Blueprint", "Unknown kind of condition 'jocker'. Did you mean 'joker'?"),
    ("seed --find joker:Bluprint", "Unknown joker 'Bluprint'. Did you mean 'Blueprint'?"),
    ("seed --find planet:c_fool", "Unknown planet 'c_fool'."),
    ("seed --find joker:Joker+foyl", "Unknown edition 'foyl'. Did you mean"),
    ("seed --find boss:bl_hook+foil", "asks for an edition; only jokers"),
    ("seed --find joker:Joker@x", "has the antes 'x'; expected one of @3"),
    ("seed --find joker:Joker@9", "asks for antes 9 to 9; expected antes within 1 to 8"),
    ("seed --find '(joker:Joker'", "A bracket is not closed"),
    ("seed --find 'joker:Joker joker:Joker'", "'joker:Joker' is left over"),
    ("seed --find 'joker:Joker and'", "ends too early"),
    # bus
    ("bus publish game.reslt {}", "Did you mean 'game.result'?"),
    ("bus publish game.result {nonsense", "This is no GameResultEvent"),
    ("""bus publish game.result '{"colour": 1}'""", "This is no GameResultEvent"),
    ("bus publish game.result [1]", "This is no GameResultEvent"),
    ("bus replay --since soon", "expected a number with s, m, h or d"),
    ("bus tail --bus kafka://x", "Unknown bus 'kafka'"),
    ("bus tail games.*", "Unknown topic"),
    ("bus replay games.*", "Unknown topic"),
    ("bus stop --bus nats://127.0.0.1:4222", "not run by JimBot"),
    # graph
    (f"graph show Barron {GRAPH}", "Did you mean 'Baron'"),
    (f"graph show Baron --to 'Nobody at all' {GRAPH}", "Unknown joker"),
    (f"graph query 'MATCH (j:Joker) DETACH DELETE j' {GRAPH}", "only questions are answered"),
    (f"graph query 'MATCH (j:Joker) RETURN j.nope' {GRAPH}", "did not answer"),
    (f"graph query 'RETURN 1' --limit 0 {GRAPH}", "--limit is 0"),
    (f"graph export --output x.json --format yaml {GRAPH}", "Unknown format of a graph"),
    (f"graph export --output /nowhere/x.json {GRAPH}", "no folder"),
    (f"graph draw {GRAPH}", "Name a joker"),
    (f"graph draw Baron --core {GRAPH}", "Name a joker"),
    (f"graph import /nowhere.json {GRAPH}", "cannot be read as a graph"),
    (f"graph serve --host 0.0.0.0 {GRAPH}", "can be reached by other machines"),
    (f"graph discover --from-run nobody {GRAPH}", "nobody"),
    # serve, ask, host
    ("serve --port 0", "Nothing to serve"),
    (f"serve {GAME} --port 0 --host 0.0.0.0", "can be reached by other machines"),
    (f"serve {GAME} --port 0 --fallback hope", "fallback is 'hope'"),
    (f"serve {GAME} --port 0 --tls-cert x", "belong together"),
    (f"serve {GAME} --port 0 --canary vgc", "for which nothing is served"),
    ("serve no-such-run --port 0", "no-such-run"),
    ("ask brace.json", "is not JSON"),
    ("ask stateless.json", "exactly one state"),
    ("ask misspelled.json", "Did you mean 'state'"),
    ("ask lucky.json", "does not make a request"),
    ("ask two-states.json", "exactly one state"),
    ("host probe", "Unknown game to host 'probe'"),
    ("host balatro --dialect 3.x", "Unknown dialect '3.x'"),
    ("host balatro --trap hangs", "Unknown trap 'hangs'. Did you mean 'hang'?"),
    ("host balatro --trap hang", "hang=20"),
    ("host balatro --trap sell=3", "takes no number"),
    ("host balatro --speed warp --port 0", "Speed 'warp'"),
    ("host balatro --instances 0", "instances"),
    ("host balatro --host 0.0.0.0", "can be reached by other machines"),
]

POLICIES = {
    "perfct": "Did you mean the run 'perfect'?",
    "nowhere.npz": "nowhere.npz",
    "damaged": "damaged",
    "foreign": "'chess'",
    "other-tables": "observation table",
    "other-version": "version of the game",
    "archive.npz": "archive.npz",
    "./empty": "neither a checkpoint nor a run",
}
CALLS += [(f"{command} {policy}", said) for policy, said in POLICIES.items() for command in ("watch", "evaluate")]
CALLS += [(f"export {policy} --output out.onnx", said) for policy, said in POLICIES.items()]

CHANGED: dict[str, tuple[str, dict[str, Any], str]] = {
    "of-another-version.json": ("balatro", {"game_version": 99}, "has game_version 99; this JimBot replays"),
    "of-another-format.json": ("balatro", {"format": "other"}, "is no transcript of a Balatro game"),
    "impossible.json": ("balatro", {"moves": ["select", "cash_out"]}, "cannot be played: 'cash_out'"),
    "too-short.json": ("balatro", {"moves": ["skip"]}, "does not end as recorded after 1 moves"),
    "no-deck.json": ("balatro", {"deck": "b_nobody"}, "Unknown deck 'b_nobody'"),
    "probe-of-another-version.json": ("probe", {"game_version": 99}, "is of version 99 of probe"),
    "probe-of-another-format.json": ("probe", {"format_version": 7}, "has format_version 7"),
    "probe-without-actions.json": ("probe", {"actions": 3}, "is damaged: 'actions' is 3"),
    "chess.json": ("probe", {"game": "chess"}, "Unknown game 'chess'"),
    "probe-of-another-seed.json": ("probe", {"seed": 6}, "of the recording"),
    "probe-that-won-less.json": ("probe", {"total_return": 3.0}, "does not end as recorded"),
}
"""Recordings that do not hold: of which game, what is changed, and what is said about it."""
CALLS += [(f"replay {name}", said) for name, (_, _, said) in CHANGED.items()]


def written(content: str, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding="utf-8")


@cache
def recording(game: str) -> str:
    if game == "probe":
        return Recording(game, game_entry(game).spec.version, 5, {}, paying_actions(5), 8.0).to_json()
    from jimbot.games.balatro.transcript import RecordedRun

    played = RecordedRun("4WAX5M4D")
    for move in ("skip", "select", "play 1 2", "discard 1"):
        played.do(move)
    return played.transcript().to_json()


def recorded(game: str, changes: dict[str, Any], path: Path) -> None:
    written(json.dumps(json.loads(recording(game)) | changes), path)


def trained(changes: dict[str, Any], path: Path) -> Path:
    return save_perfect(path.parent / "runs" / path.name, **changes)


def damaged(path: Path) -> None:
    model = trained({}, path) / "policy.onnx"
    data = bytearray(model.read_bytes())
    data[len(data) // 2] ^= 255
    model.write_bytes(bytes(data))


MADE: dict[str, Callable[[Path], Any]] = {
    "letters.txt": partial(written, "17\nabc\n"),
    "no-model.onnx": partial(written, "not a model"),
    "archive.npz": partial(written, "not an archive"),
    "./empty": Path.mkdir,
    "folder.onnx": Path.mkdir,
    "recordings": lambda path: written('[{"id": 0,}]', path / "scoring.json"),
    "damaged": damaged,
    "foreign": partial(trained, {"game": "chess"}),
    "other-tables": partial(trained, {"observation_fingerprint": "0123456789abcdef"}),
    "other-version": partial(trained, {"game_version": 99}),
    "balatro.json": partial(recorded, "balatro", {}),
    "probe.json": partial(recorded, "probe", {}),
    "half.json": lambda path: written(recording("balatro")[:50], path),
    **{name: partial(recorded, game, changes) for name, (game, changes, _) in CHANGED.items()},
    "graph.lbug": lambda path: sample_file(path.parent),
    "brace.json": partial(written, "{"),
    "stateless.json": partial(written, json.dumps({"game": GAME})),
    "misspelled.json": partial(written, json.dumps({"game": GAME, "stat": {}})),
    "lucky.json": partial(written, json.dumps({**QUESTION, "seed": "lucky"})),
    "two-states.json": partial(written, json.dumps({**QUESTION, "snapshot": "x.npz"})),
}
NEEDED = {"graph.lbug": "ladybug", "serve": "grpc", "ask": "grpc", "--challenge": "poke_env"}


def everything(home: Path) -> Iterator[tuple[Path, int]]:
    for path in home.rglob("*"):
        yield path, path.stat().st_size if path.is_file() else -1


@pytest.mark.parametrize(("typed", "said"), CALLS, ids=[typed for typed, _ in CALLS])
def test_a_wrong_call_is_one_sentence_and_changes_nothing(jimbot: Jimbot, home: Path, typed: str, said: str) -> None:
    words = shlex.split(typed)
    for word in words:
        if word in NEEDED:
            pytest.importorskip(NEEDED[word])
        if word in MADE:
            MADE[word](home / word)
    before = set(everything(home))
    code, out, err = jimbot(*words)
    assert (code, out) == (2, ""), err
    assert said in " ".join(err.split())
    assert len(err.strip().splitlines()) == 1, err
    assert "Traceback" not in err
    assert set(everything(home)) == before
