from jimbot.proto import events_pb2 as _events_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DecisionBatch(_message.Message):
    __slots__ = ("batch_id", "game", "game_version", "policy", "observations", "choosing", "time_limit_ms", "probabilities", "session_id")
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    GAME_FIELD_NUMBER: _ClassVar[int]
    GAME_VERSION_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    CHOOSING_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_MS_FIELD_NUMBER: _ClassVar[int]
    PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    batch_id: str
    game: str
    game_version: int
    policy: str
    observations: _events_pb2.Observation
    choosing: _events_pb2.Choosing
    time_limit_ms: int
    probabilities: bool
    session_id: str
    def __init__(self, batch_id: _Optional[str] = ..., game: _Optional[str] = ..., game_version: _Optional[int] = ..., policy: _Optional[str] = ..., observations: _Optional[_Union[_events_pb2.Observation, _Mapping]] = ..., choosing: _Optional[_Union[_events_pb2.Choosing, _Mapping]] = ..., time_limit_ms: _Optional[int] = ..., probabilities: _Optional[bool] = ..., session_id: _Optional[str] = ...) -> None: ...

class DecisionBatchAnswer(_message.Message):
    __slots__ = ("batch_id", "actions", "confidence", "values", "probabilities", "policy", "timing", "fallback", "fallback_reason", "refusal")
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_REASON_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    batch_id: str
    actions: _containers.RepeatedScalarFieldContainer[int]
    confidence: _containers.RepeatedScalarFieldContainer[float]
    values: _containers.RepeatedScalarFieldContainer[float]
    probabilities: bytes
    policy: _events_pb2.PolicyIdentity
    timing: _events_pb2.Timing
    fallback: _events_pb2.Fallback
    fallback_reason: str
    refusal: _events_pb2.Refusal
    def __init__(self, batch_id: _Optional[str] = ..., actions: _Optional[_Iterable[int]] = ..., confidence: _Optional[_Iterable[float]] = ..., values: _Optional[_Iterable[float]] = ..., probabilities: _Optional[bytes] = ..., policy: _Optional[_Union[_events_pb2.PolicyIdentity, _Mapping]] = ..., timing: _Optional[_Union[_events_pb2.Timing, _Mapping]] = ..., fallback: _Optional[_Union[_events_pb2.Fallback, str]] = ..., fallback_reason: _Optional[str] = ..., refusal: _Optional[_Union[_events_pb2.Refusal, _Mapping]] = ...) -> None: ...

class PoliciesRequest(_message.Message):
    __slots__ = ("game",)
    GAME_FIELD_NUMBER: _ClassVar[int]
    game: str
    def __init__(self, game: _Optional[str] = ...) -> None: ...

class PolicyDescription(_message.Message):
    __slots__ = ("identity", "status", "observation_size", "num_actions", "observation_fingerprint", "action_fingerprint", "canary_share", "state_forms", "options_json")
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_SIZE_FIELD_NUMBER: _ClassVar[int]
    NUM_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    ACTION_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    CANARY_SHARE_FIELD_NUMBER: _ClassVar[int]
    STATE_FORMS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_JSON_FIELD_NUMBER: _ClassVar[int]
    identity: _events_pb2.PolicyIdentity
    status: str
    observation_size: int
    num_actions: int
    observation_fingerprint: str
    action_fingerprint: str
    canary_share: float
    state_forms: _containers.RepeatedScalarFieldContainer[str]
    options_json: str
    def __init__(self, identity: _Optional[_Union[_events_pb2.PolicyIdentity, _Mapping]] = ..., status: _Optional[str] = ..., observation_size: _Optional[int] = ..., num_actions: _Optional[int] = ..., observation_fingerprint: _Optional[str] = ..., action_fingerprint: _Optional[str] = ..., canary_share: _Optional[float] = ..., state_forms: _Optional[_Iterable[str]] = ..., options_json: _Optional[str] = ...) -> None: ...

class PoliciesResponse(_message.Message):
    __slots__ = ("policies", "server_version")
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    SERVER_VERSION_FIELD_NUMBER: _ClassVar[int]
    policies: _containers.RepeatedCompositeFieldContainer[PolicyDescription]
    server_version: str
    def __init__(self, policies: _Optional[_Iterable[_Union[PolicyDescription, _Mapping]]] = ..., server_version: _Optional[str] = ...) -> None: ...
