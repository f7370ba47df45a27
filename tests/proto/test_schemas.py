"""The messages: generated from their schemas and nothing else, readable by older and newer programs for ever."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FileDescriptor

from jimbot.proto import decisions_pb2, events_pb2

REPOSITORY = Path(__file__).resolve().parents[2]
RELEASED = Path(__file__).with_name("released_fields.json")
SCHEMAS = ("jimbot/proto/events.proto", "jimbot/proto/decisions.proto")
FILES: tuple[FileDescriptor, ...] = (events_pb2.DESCRIPTOR, decisions_pb2.DESCRIPTOR)


def messages(parts: Iterator[Descriptor]) -> Iterator[Descriptor]:
    for message in parts:
        yield message
        yield from messages(iter(message.nested_types))


def proto(name: str) -> descriptor_pb2.DescriptorProto:
    found = descriptor_pb2.DescriptorProto()
    everything = (message for file in FILES for message in messages(iter(file.message_types_by_name.values())))
    next(message for message in everything if message.full_name == name).CopyToProto(found)
    return found


def declared() -> dict[str, dict[str, str]]:
    """Every message: field number → name and type."""
    return {
        message.full_name: {
            str(field.number): f"{field.name} {field.type}{' repeated' if field.is_repeated else ''}"
            for field in message.fields
        }
        for file in FILES
        for message in messages(iter(file.message_types_by_name.values()))
    }


def test_generating_again_changes_nothing(tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools")
    outputs = [f"--{kind}_out={tmp_path}" for kind in ("python", "pyi", "grpc_python")]
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", "-I.", *outputs, *SCHEMAS], cwd=REPOSITORY, check=True, timeout=120
    )
    committed = sorted((REPOSITORY / "jimbot/proto").glob("*_pb2*.py*"))
    assert len(committed) == 5
    for path in committed:
        assert (tmp_path / "jimbot/proto" / path.name).read_text() == path.read_text(), f"{path.name}: make proto"


def test_released_field_numbers_keep_their_meaning() -> None:
    """To add a field, add it here too (python tests/proto/test_schemas.py); to remove one, reserve its number."""
    now = declared()
    for name, fields in json.loads(RELEASED.read_text()).items():
        reserved = {number for span in proto(name).reserved_range for number in range(span.start, span.end)}
        for number, meaning in fields.items():
            found = now[name].get(number)
            assert found == meaning or (found is None and int(number) in reserved), f"{name} field {number}: {found}"


def test_every_field_is_written_down_as_released() -> None:
    assert json.loads(RELEASED.read_text()) == declared(), "python tests/proto/test_schemas.py writes new fields down"


def changed(change: Any) -> Any:
    """LearningDecisionRequest of another schema: this one, changed."""
    file = descriptor_pb2.FileDescriptorProto()
    events_pb2.DESCRIPTOR.CopyToProto(file)
    change(next(message for message in file.message_type if message.name == "LearningDecisionRequest"))
    pool = descriptor_pool.DescriptorPool()
    for dependency in events_pb2.DESCRIPTOR.dependencies:
        pool.AddSerializedFile(dependency.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("jimbot.events.v1.LearningDecisionRequest"))


def request() -> events_pb2.LearningDecisionRequest:
    return events_pb2.LearningDecisionRequest(request_id="a", game="probe", time_limit_ms=7, session_id="s")


def test_a_message_of_an_older_schema_is_read() -> None:
    def drop(message: descriptor_pb2.DescriptorProto) -> None:
        kept = [field for field in message.field if field.name in ("request_id", "game")]
        del message.field[:]
        message.field.extend(kept)

    older = changed(drop)
    assert request().FromString(older(request_id="a", game="probe").SerializeToString()).time_limit_ms == 0
    passed_on = older.FromString(request().SerializeToString())
    assert passed_on.request_id == "a"
    assert request().FromString(passed_on.SerializeToString()) == request(), "what it does not know it hands on"


def test_a_message_of_a_newer_schema_is_read() -> None:
    def add(message: descriptor_pb2.DescriptorProto) -> None:
        message.field.add(name="mood", number=500, type=descriptor_pb2.FieldDescriptorProto.TYPE_STRING, label=1)

    newer = changed(add)
    known = events_pb2.LearningDecisionRequest.FromString(newer(request_id="a", mood="good").SerializeToString())
    assert known.request_id == "a"
    assert newer.FromString(known.SerializeToString()).mood == "good", "what we do not know we hand on"


def test_an_event_carries_any_message() -> None:
    event = events_pb2.Event(event_id="1", topic="learning.decision.request")
    event.payload.Pack(request())
    unpacked = events_pb2.LearningDecisionRequest()
    assert events_pb2.Event.FromString(event.SerializeToString()).payload.Unpack(unpacked)
    assert unpacked == request()


def test_messages_need_neither_grpc_nor_the_generator() -> None:
    code = "import sys; sys.modules.update(grpc=None, grpc_tools=None); import jimbot.proto.decisions_pb2"
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True, timeout=60)


if __name__ == "__main__":
    RELEASED.write_text(json.dumps(declared(), indent=1) + "\n")
