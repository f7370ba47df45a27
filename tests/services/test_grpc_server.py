"""The door: calls, streams, health, tokens, TLS, limits, drain; hostile bytes."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

grpc = pytest.importorskip("grpc")

from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: E402

from jimbot.clients import DecisionClient  # noqa: E402
from jimbot.doors.access import LOOK, Tokens  # noqa: E402
from jimbot.errors import JimbotError, SettingsError  # noqa: E402
from jimbot.proto import decisions_pb2 as wire  # noqa: E402
from jimbot.proto.decisions_pb2_grpc import DecisionServiceStub  # noqa: E402
from jimbot.services.decision import Code, RefusedError  # noqa: E402
from jimbot.services.grpc_server import SERVICE, ServerSettings  # noqa: E402
from jimbot.services.limits import ClientLimits  # noqa: E402
from tests.services.asking import Scripted, batch, probe_request, request, serve, service_of, shipped  # noqa: E402
from tests.services.running import Running, running  # noqa: E402

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
GOOD, LOOKING = "a-good-long-token-1", "a-looking-long-token"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(service_of(shipped(), serve(Scripted())), reflection=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def stub(server: Running) -> Iterator[Any]:
    with grpc.insecure_channel(server.address) as channel:
        yield DecisionServiceStub(channel)


def code_of(call: Any) -> str:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value.code().name


def health(channel: Any, name: str = "") -> Any:
    return health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=name), timeout=5).status


def test_a_decision_over_the_wire(stub: Any) -> None:
    answer = stub.GetDecision(request(3, request_id="wire"), timeout=5)
    assert answer.request_id == "wire"
    assert answer.selected_action.label
    assert answer.policy.name == "shipped"


def test_a_stream_answers_message_by_message_and_survives_a_bad_one(stub: Any) -> None:
    sent = [batch(batch_id="1"), batch(game_version=77), wire.DecisionBatch(game="chess"), batch(slice(0, 5))]
    answers = list(stub.Decide(iter(sent), timeout=20))
    assert [len(answer.actions) for answer in answers] == [64, 0, 0, 5]
    assert [answer.refusal.code_name for answer in answers[1:3]] == ["FAILED_PRECONDITION", "NOT_FOUND"]


def test_policies_are_listed(stub: Any) -> None:
    names = [(about.identity.game, about.identity.name) for about in stub.GetPolicies(wire.PoliciesRequest()).policies]
    assert names == [("hackmatrix", "shipped"), ("probe", "scripted")]


def test_refusals_have_their_code_and_sentence(stub: Any) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        stub.GetDecision(request(game_version=9), timeout=5)
    assert caught.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert "version 9 of game 'hackmatrix'" in caught.value.details()
    assert code_of(lambda: stub.GetDecision(request(policy="none"), timeout=5)) == "NOT_FOUND"


@given(body=st.binary(max_size=400))
@settings(max_examples=80)
def test_fuzzed_bytes_do_not_kill_the_server(body: bytes, server_address: str) -> None:
    with grpc.insecure_channel(server_address) as channel:
        for method in ("GetDecision", "GetPolicies"):
            call = channel.unary_unary(f"/{SERVICE}/{method}")
            ended = call.future(body, timeout=5).exception()
            assert ended is None or ended.code().name in ("INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION")


def test_bytes_that_are_not_even_grpc_do_not_kill_the_server(server: Running, stub: Any) -> None:
    luck = np.random.default_rng(5)
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    noise = [luck.bytes(int(luck.integers(1, 4000))) for _ in range(12)]
    for body in (b"", b"GET / HTTP/1.1\r\n\r\n", *noise, *(preface + one for one in noise)):
        with socket.create_connection(("127.0.0.1", server.server.port), 5) as raw, suppress(OSError):
            raw.sendall(body)
    assert stub.GetDecision(request(), timeout=5).selected_action.label


@pytest.fixture(scope="module")
def server_address(server: Running) -> str:
    return server.address


def test_an_oversized_message_is_refused_unread(stub: Any) -> None:
    huge = request()
    huge.game_state.observation.values = bytes(5 * 2**20)
    assert code_of(lambda: stub.GetDecision(huge, timeout=10)) == "RESOURCE_EXHAUSTED"
    assert stub.GetDecision(request(), timeout=5).selected_action.label


def test_an_expired_deadline_is_told(server: Running, stub: Any) -> None:
    policy: Any = server.server.service._slots["probe"]["scripted"].served.policy
    policy.gate.clear()
    try:
        assert code_of(lambda: stub.GetDecision(probe_request(1), timeout=0.05)) == "DEADLINE_EXCEEDED"
    finally:
        policy.gate.set()


def test_health_is_told_by_policy(server: Running) -> None:
    with grpc.insecure_channel(server.address) as channel:
        for name in ("", SERVICE, "hackmatrix", "hackmatrix/shipped", "probe/scripted"):
            assert health(channel, name) == SERVING
        assert code_of(lambda: health(channel, "balatro")) == "NOT_FOUND"


def test_reflection_names_the_service(server: Running) -> None:
    from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

    with grpc.insecure_channel(server.address) as channel:
        asked = reflection_pb2.ServerReflectionRequest(list_services="")
        answer = next(reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter([asked]), timeout=5))
    assert SERVICE in [one.name for one in answer.list_services_response.service]


def test_not_serving_until_warmed_and_again_while_draining() -> None:
    policy = Scripted()
    service = service_of(serve(policy))
    opened = Running(service, grace_seconds=1.5)
    with grpc.insecure_channel(opened.address) as channel, ThreadPoolExecutor(2) as pool:
        assert health(channel) == NOT_SERVING
        stub = DecisionServiceStub(channel)
        assert code_of(lambda: stub.GetDecision(request(), timeout=5)) == "UNAVAILABLE", "it may come yet"
        opened.do(opened.server.ready())
        assert health(channel) == SERVING
        seen: list[Any] = []
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=""))
        watching = threading.Thread(target=lambda: seen.extend(_until_not_serving(watch)))
        watching.start()
        policy.gate.clear()
        taken = pool.submit(DecisionServiceStub(channel).GetDecision, probe_request(1, time_limit_ms=9000), timeout=9)
        time.sleep(0.2)
        stopping = pool.submit(opened.stop)
        watching.join(5)
        assert seen[-1] == NOT_SERVING
        policy.gate.set()
        assert taken.result(9).selected_action.number == 5, "what was taken is finished"
        stopping.result(9)
        assert code_of(lambda: DecisionServiceStub(channel).GetDecision(probe_request(2), timeout=2)) == "UNAVAILABLE"


def _until_not_serving(watch: Any) -> Iterator[Any]:
    for answer in watch:
        yield answer.status
        if answer.status == NOT_SERVING:
            return


def test_an_idle_stream_is_told_that_the_service_stops() -> None:
    opened = Running(service_of(serve(Scripted())), grace_seconds=60.0)
    opened.do(opened.server.ready())
    outgoing: SimpleQueue[Any] = SimpleQueue()
    with grpc.insecure_channel(opened.address) as channel:
        answers = DecisionServiceStub(channel).Decide(iter(outgoing.get, None))
        outgoing.put(wire.DecisionBatch(game="probe", observations=probe_request(1).game_state.observation))
        assert list(next(answers).actions) == [5]
        opened.stop()
        assert code_of(lambda: next(answers)) == "UNAVAILABLE"
        outgoing.put(None)


def test_calls_of_a_service_that_stops_are_answered_or_told_so() -> None:
    """None is cancelled: those that were taken are finished, those that come too late hear where to go."""
    opened = Running(service_of(serve(Scripted(seconds=0.01))), grace_seconds=20.0)
    opened.do(opened.server.ready())
    channels = [grpc.insecure_channel(opened.address, [("n", number)]) for number in range(4)]
    calls = [
        DecisionServiceStub(channels[number % 4]).GetDecision.future(
            probe_request(number, time_limit_ms=9000), timeout=30
        )
        for number in range(400)
    ]
    while not any(call.done() for call in calls):
        time.sleep(0.001)
    opened.stop()
    ended = Counter(call.code().name for call in calls)
    details = {call.details() for call in calls if call.code().name != "OK"}
    for channel in channels:
        channel.close()
    assert set(ended) <= {"OK", "UNAVAILABLE"}, ended
    assert ended["OK"]
    assert all(details)


def test_a_call_that_outlives_the_grace_is_told_so() -> None:
    policy = Scripted()
    opened = Running(service_of(serve(policy)), grace_seconds=0.3)
    opened.do(opened.server.ready())
    policy.gate.clear()
    with grpc.insecure_channel(opened.address) as channel:
        stub = DecisionServiceStub(channel)
        call = stub.GetDecision.future(probe_request(1, time_limit_ms=9000), timeout=9)
        stream = stub.Decide(
            iter([wire.DecisionBatch(game="probe", observations=probe_request(2).game_state.observation)])
        )
        while len(opened.server.service.metrics.answering) < 2:
            time.sleep(0.01)
        stopping = threading.Thread(target=opened.stop)
        stopping.start()
        for ended in (call.exception(), stream.exception()):
            assert (ended.code().name, "ask another one" in ended.details()) == ("UNAVAILABLE", True)
        policy.gate.set()
        stopping.join(20)


def held(channel: Any, path: str) -> Any:
    """A call whose question never comes."""
    return channel.stream_stream(path)(iter(SimpleQueue().get, None))


def refused(calls: list[Any], code: str, count: int) -> bool:
    """Whether so many of them end soon, and all with this code."""
    until = time.monotonic() + 20
    while sum(call.done() for call in calls) < count and time.monotonic() < until:
        time.sleep(0.02)
    return [call.code().name for call in calls if call.done()] == [code] * count


def test_watchers_of_health_and_idle_streams_do_not_take_the_place_of_callers(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"{GOOD}\n")
    limits = {"calls": 6, "watches": 3, "streams": 4, "token_file": file}
    with running(service_of(serve(Scripted())), **limits) as opened, grpc.insecure_channel(opened.address) as channel:
        stub, who = DecisionServiceStub(channel), bearer(GOOD)
        question = health_pb2.HealthCheckRequest(service="")
        watches = [health_pb2_grpc.HealthStub(channel).Watch(question) for _ in range(12)]
        assert refused(watches, "RESOURCE_EXHAUSTED", 9)
        unknown = [held(channel, f"/{SERVICE}/GetDecision") for _ in range(30)]
        assert refused(unknown, "UNAUTHENTICATED", 30), "before a message of them arrived"
        streams = [stub.Decide(iter(SimpleQueue().get, None), metadata=who) for _ in range(12)]
        assert refused(streams, "RESOURCE_EXHAUSTED", 8)
        assert stub.GetDecision(probe_request(1), timeout=20, metadata=who).selected_action.number == 5
        for call in (*watches, *streams):
            call.cancel()
        for _ in range(100):
            with suppress(grpc.RpcError):
                assert health(channel) == SERVING
                break
            time.sleep(0.02)
        else:
            pytest.fail("places of watchers that left are free again")


def test_an_observation_that_overflows_is_its_callers_fault() -> None:
    policy = Scripted()
    policy.not_numbers = 3e38
    with running(service_of(serve(policy))) as opened, grpc.insecure_channel(opened.address) as channel:
        asked = probe_request(1)
        values = np.frombuffer(asked.game_state.observation.values, "<f4").copy()
        values[0] = 3e38
        asked.game_state.observation.values = values.tobytes()
        with pytest.raises(grpc.RpcError) as caught:
            DecisionServiceStub(channel).GetDecision(asked, timeout=5)
        assert (caught.value.code().name, "3e+38" in caught.value.details()) == ("INVALID_ARGUMENT", True)
        assert not opened.server.service.metrics.faults


def test_a_client_with_too_many_open_calls_is_told_to_wait() -> None:
    policy = Scripted()
    with running(service_of(serve(policy)), calls_per_client=2) as opened, ThreadPoolExecutor(2) as pool:
        if channel := grpc.insecure_channel(opened.address):
            stub = DecisionServiceStub(channel)
            policy.gate.clear()
            open_calls = [
                pool.submit(stub.GetDecision, probe_request(n, time_limit_ms=9000), timeout=9) for n in (1, 2)
            ]
            time.sleep(0.3)
            with pytest.raises(grpc.RpcError) as caught:
                stub.GetDecision(probe_request(3), timeout=5)
            policy.gate.set()
            assert all(call.result(9).selected_action.number == 5 for call in open_calls)
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert dict(caught.value.trailing_metadata())["retry-after-ms"] == "50"


def test_a_client_that_asks_too_often_is_told_when_to_come_again() -> None:
    now = [0.0]
    limits = ClientLimits(10, per_second=2.0, clock=lambda: now[0])
    for _ in range(2):
        limits.close(limits.open("ipv4:10.0.0.1:1"))
    with pytest.raises(RefusedError, match="more than 2 calls a second") as refused:
        limits.open("ipv4:10.0.0.1:2")
    assert (refused.value.code, refused.value.retry_after_ms) == (Code.RESOURCE_EXHAUSTED, 500)
    limits.open("ipv4:10.0.0.2:1")  # another client is not concerned
    now[0] = 0.5
    limits.open("ipv4:10.0.0.1:3")
    seldom = running(service_of(serve(Scripted())), calls_per_second=0.001)
    with seldom as opened, grpc.insecure_channel(opened.address) as channel:
        stub = DecisionServiceStub(channel)
        assert stub.GetDecision(probe_request(1), timeout=5).selected_action.number == 5
        assert code_of(lambda: stub.GetDecision(probe_request(2), timeout=5)) == "RESOURCE_EXHAUSTED"
        (answer,) = stub.Decide(iter([batch(slice(0, 1))]), timeout=5)
        assert answer.refusal.code_name == "RESOURCE_EXHAUSTED"


def bearer(token: str) -> Any:
    return (("authorization", f"Bearer {token}"),)


def test_tokens_are_asked_for_scoped_and_rotated(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# who may ask\n{GOOD}\n{LOOKING} look\n")
    with running(service_of(serve(Scripted())), token_file=file) as opened:
        if channel := grpc.insecure_channel(opened.address):
            stub = DecisionServiceStub(channel)

            def ask(token: str) -> Any:
                return stub.GetDecision(probe_request(1), timeout=5, metadata=bearer(token))

            assert code_of(lambda: stub.GetDecision(probe_request(1), timeout=5)) == "UNAUTHENTICATED"
            assert code_of(lambda: ask("wrong")) == "UNAUTHENTICATED"
            assert code_of(lambda: list(stub.Decide(iter([batch()]), timeout=5))) == "UNAUTHENTICATED"
            assert ask(GOOD).selected_action.number == 5
            assert code_of(lambda: ask(LOOKING)) == "PERMISSION_DENIED"
            assert stub.GetPolicies(wire.PoliciesRequest(), timeout=5, metadata=bearer(LOOKING)).policies
            assert health(channel) == SERVING, "supervisors need no token"
            file.write_text("another-good-token-2\n")
            assert code_of(lambda: ask(GOOD)) == "UNAUTHENTICATED"
            assert ask("another-good-token-2").selected_action.number == 5


def test_a_token_file_being_rewritten_changes_nothing_and_a_deleted_one_revokes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"{GOOD}\n")
    tokens = Tokens(file)
    for text in (b"", b"# nothing yet\n", b"short\n", f"{GOOD} rule\n".encode(), b"\xff\xfe" * 20):
        file.write_bytes(text)
        assert tokens.allows(GOOD, LOOK)
        assert tokens.allows(GOOD, LOOK)
    assert len(caplog.records) == 5, "told once each"
    file.unlink()
    assert not tokens.allows(GOOD, LOOK)
    file.write_text("another-good-token-2\n")
    assert (tokens.allows(GOOD, LOOK), tokens.allows("another-good-token-2", LOOK)) == (False, True)


@pytest.mark.parametrize(("text", "sentence"), [("", "no token"), ("short", "shorter than"), (f"{GOOD} rule", "scope")])
def test_bad_token_files_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "tokens").write_text(text)
    with pytest.raises(JimbotError, match=sentence):
        Tokens(tmp_path / "tokens")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "[::]", "example.org"])
def test_the_world_is_not_served_without_a_token_or_tls(host: str) -> None:
    with pytest.raises(SettingsError, match="can be reached by other machines"):
        ServerSettings(host=host)
    assert ServerSettings(host=host, token_file=Path("tokens"))


def test_halves_of_tls_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="belong together"):
        ServerSettings(tls_cert=tmp_path / "cert")
    with pytest.raises(SettingsError, match="--client-ca needs"):
        ServerSettings(client_ca=tmp_path / "ca")


def certificates(folder: Path) -> None:
    """A root, and a pair for the server and one for a client, signed by it."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=root",
            "-keyout", "root.key", "-out", "root.pem")  # fmt: skip
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key",
                "-out", f"{name}.csr")  # fmt: skip
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial",
                "-days", "2", "-extfile", "names", "-out", f"{name}.pem")  # fmt: skip


def test_tls_with_certificates_on_both_sides(tmp_path: Path) -> None:
    from jimbot.clients import DecisionClient
    from jimbot.clients.decision_client import DecisionError
    from jimbot.clients.resilience import RetryPolicy

    certificates(tmp_path)
    tls = {"tls_cert": tmp_path / "server.pem", "tls_key": tmp_path / "server.key", "client_ca": tmp_path / "root.pem"}
    quick = RetryPolicy(deadline=2.0, attempts=2)
    with running(service_of(serve(Scripted())), **tls) as opened:
        pair = (tmp_path / "client.pem", tmp_path / "client.key")
        with DecisionClient(opened.address, root_cert=tmp_path / "root.pem", client_cert=pair) as client:
            assert client.decide(probe_request(1)).selected_action.number == 5
        nobody = DecisionClient(opened.address, root_cert=tmp_path / "root.pem", patience=quick)
        with nobody, pytest.raises(DecisionError):
            nobody.decide(probe_request(1))
        with DecisionClient(opened.address, patience=quick) as plain, pytest.raises(DecisionError):
            plain.decide(probe_request(1))


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no Unix sockets here")
def test_a_socket_file_is_a_door_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "decide.sock"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()  # what a server that was killed leaves behind
    service = service_of(serve(Scripted()))
    with running(service, listen=f"unix:{path}") as opened:
        assert opened.address == f"unix:{path}"
        assert path.stat().st_mode & 0o777 == 0o600
        with DecisionClient(opened.address) as client:
            assert client.decide(probe_request()).policy.game == "probe"
        with pytest.raises(SettingsError, match="another server listens there"):
            Running(service_of(serve(Scripted())), listen=f"unix:{path}")
    assert not path.exists()


@pytest.mark.parametrize(
    ("listen", "sentence"),
    [
        ("127.0.0.1:50051", "expected unix:PATH"),
        ("unix:", "expected unix:PATH"),
        ("unix:FILE", "it is a file"),
        ("unix:missing/decide.sock", "its folder may be missing"),
    ],
)
def test_what_is_no_place_for_a_socket_is_refused(
    listen: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("FILE").write_text("mine")
    with pytest.raises(SettingsError, match=sentence):
        Running(service_of(serve(Scripted())), listen=listen)
    assert Path("FILE").read_text() == "mine"
