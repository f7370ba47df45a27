from google.protobuf import any_pb2 as _any_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Fallback(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FALLBACK_NONE: _ClassVar[Fallback]
    FALLBACK_OVERLOAD: _ClassVar[Fallback]
    FALLBACK_DEADLINE: _ClassVar[Fallback]
    FALLBACK_FAULT: _ClassVar[Fallback]
    FALLBACK_NO_POLICY: _ClassVar[Fallback]
FALLBACK_NONE: Fallback
FALLBACK_OVERLOAD: Fallback
FALLBACK_DEADLINE: Fallback
FALLBACK_FAULT: Fallback
FALLBACK_NO_POLICY: Fallback

class TraceContext(_message.Message):
    __slots__ = ("traceparent", "tracestate")
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    TRACESTATE_FIELD_NUMBER: _ClassVar[int]
    traceparent: str
    tracestate: str
    def __init__(self, traceparent: _Optional[str] = ..., tracestate: _Optional[str] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("event_id", "topic", "timestamp_ns", "source", "payload", "correlation_id", "reply_to", "trace", "schema_version", "headers", "order_key", "sequence", "attempt")
    class HeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_NS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    REPLY_TO_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_VERSION_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    ORDER_KEY_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    event_id: str
    topic: str
    timestamp_ns: int
    source: str
    payload: _any_pb2.Any
    correlation_id: str
    reply_to: str
    trace: TraceContext
    schema_version: int
    headers: _containers.ScalarMap[str, str]
    order_key: str
    sequence: int
    attempt: int
    def __init__(self, event_id: _Optional[str] = ..., topic: _Optional[str] = ..., timestamp_ns: _Optional[int] = ..., source: _Optional[str] = ..., payload: _Optional[_Union[_any_pb2.Any, _Mapping]] = ..., correlation_id: _Optional[str] = ..., reply_to: _Optional[str] = ..., trace: _Optional[_Union[TraceContext, _Mapping]] = ..., schema_version: _Optional[int] = ..., headers: _Optional[_Mapping[str, str]] = ..., order_key: _Optional[str] = ..., sequence: _Optional[int] = ..., attempt: _Optional[int] = ...) -> None: ...

class Observation(_message.Message):
    __slots__ = ("values", "legal_mask", "rows")
    VALUES_FIELD_NUMBER: _ClassVar[int]
    LEGAL_MASK_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    values: bytes
    legal_mask: bytes
    rows: int
    def __init__(self, values: _Optional[bytes] = ..., legal_mask: _Optional[bytes] = ..., rows: _Optional[int] = ...) -> None: ...

class ForeignState(_message.Message):
    __slots__ = ("form", "body")
    FORM_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    form: str
    body: bytes
    def __init__(self, form: _Optional[str] = ..., body: _Optional[bytes] = ...) -> None: ...

class GameState(_message.Message):
    __slots__ = ("observation", "snapshot", "by_keys", "foreign")
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    BY_KEYS_FIELD_NUMBER: _ClassVar[int]
    FOREIGN_FIELD_NUMBER: _ClassVar[int]
    observation: Observation
    snapshot: bytes
    by_keys: _struct_pb2.Struct
    foreign: ForeignState
    def __init__(self, observation: _Optional[_Union[Observation, _Mapping]] = ..., snapshot: _Optional[bytes] = ..., by_keys: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., foreign: _Optional[_Union[ForeignState, _Mapping]] = ...) -> None: ...

class Choosing(_message.Message):
    __slots__ = ("sample", "temperature", "seed", "alternatives")
    SAMPLE_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    ALTERNATIVES_FIELD_NUMBER: _ClassVar[int]
    sample: bool
    temperature: float
    seed: int
    alternatives: int
    def __init__(self, sample: _Optional[bool] = ..., temperature: _Optional[float] = ..., seed: _Optional[int] = ..., alternatives: _Optional[int] = ...) -> None: ...

class LearningDecisionRequest(_message.Message):
    __slots__ = ("request_id", "game", "game_version", "game_state", "available_actions", "time_limit_ms", "choosing", "context", "policy", "session_id", "available_labels")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    GAME_FIELD_NUMBER: _ClassVar[int]
    GAME_VERSION_FIELD_NUMBER: _ClassVar[int]
    GAME_STATE_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_MS_FIELD_NUMBER: _ClassVar[int]
    CHOOSING_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_LABELS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    game: str
    game_version: int
    game_state: GameState
    available_actions: _containers.RepeatedScalarFieldContainer[int]
    time_limit_ms: int
    choosing: Choosing
    context: _struct_pb2.Struct
    policy: str
    session_id: str
    available_labels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, request_id: _Optional[str] = ..., game: _Optional[str] = ..., game_version: _Optional[int] = ..., game_state: _Optional[_Union[GameState, _Mapping]] = ..., available_actions: _Optional[_Iterable[int]] = ..., time_limit_ms: _Optional[int] = ..., choosing: _Optional[_Union[Choosing, _Mapping]] = ..., context: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., policy: _Optional[str] = ..., session_id: _Optional[str] = ..., available_labels: _Optional[_Iterable[str]] = ...) -> None: ...

class Action(_message.Message):
    __slots__ = ("number", "label", "words", "block", "items", "field")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    number: int
    label: str
    words: str
    block: str
    items: _containers.RepeatedScalarFieldContainer[int]
    field: str
    def __init__(self, number: _Optional[int] = ..., label: _Optional[str] = ..., words: _Optional[str] = ..., block: _Optional[str] = ..., items: _Optional[_Iterable[int]] = ..., field: _Optional[str] = ...) -> None: ...

class Alternative(_message.Message):
    __slots__ = ("action", "probability")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    action: Action
    probability: float
    def __init__(self, action: _Optional[_Union[Action, _Mapping]] = ..., probability: _Optional[float] = ...) -> None: ...

class PolicyIdentity(_message.Message):
    __slots__ = ("game", "name", "version", "hash", "game_version")
    GAME_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    GAME_VERSION_FIELD_NUMBER: _ClassVar[int]
    game: str
    name: str
    version: str
    hash: str
    game_version: int
    def __init__(self, game: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[str] = ..., hash: _Optional[str] = ..., game_version: _Optional[int] = ...) -> None: ...

class Timing(_message.Message):
    __slots__ = ("queue_ms", "inference_ms", "total_ms", "batch_size")
    QUEUE_MS_FIELD_NUMBER: _ClassVar[int]
    INFERENCE_MS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_MS_FIELD_NUMBER: _ClassVar[int]
    BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    queue_ms: float
    inference_ms: float
    total_ms: float
    batch_size: int
    def __init__(self, queue_ms: _Optional[float] = ..., inference_ms: _Optional[float] = ..., total_ms: _Optional[float] = ..., batch_size: _Optional[int] = ...) -> None: ...

class LearningDecisionResponse(_message.Message):
    __slots__ = ("request_id", "selected_action", "confidence", "alternatives", "value", "strategy_name", "used_llm", "fallback", "fallback_reason", "policy", "timing", "cached", "refusal", "advice", "hints")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SELECTED_ACTION_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    ALTERNATIVES_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_NAME_FIELD_NUMBER: _ClassVar[int]
    USED_LLM_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_REASON_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    CACHED_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    HINTS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    selected_action: Action
    confidence: float
    alternatives: _containers.RepeatedCompositeFieldContainer[Alternative]
    value: float
    strategy_name: str
    used_llm: bool
    fallback: Fallback
    fallback_reason: str
    policy: PolicyIdentity
    timing: Timing
    cached: bool
    refusal: Refusal
    advice: str
    hints: _containers.RepeatedCompositeFieldContainer[Hint]
    def __init__(self, request_id: _Optional[str] = ..., selected_action: _Optional[_Union[Action, _Mapping]] = ..., confidence: _Optional[float] = ..., alternatives: _Optional[_Iterable[_Union[Alternative, _Mapping]]] = ..., value: _Optional[float] = ..., strategy_name: _Optional[str] = ..., used_llm: _Optional[bool] = ..., fallback: _Optional[_Union[Fallback, str]] = ..., fallback_reason: _Optional[str] = ..., policy: _Optional[_Union[PolicyIdentity, _Mapping]] = ..., timing: _Optional[_Union[Timing, _Mapping]] = ..., cached: _Optional[bool] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ..., advice: _Optional[str] = ..., hints: _Optional[_Iterable[_Union[Hint, _Mapping]]] = ...) -> None: ...

class Hint(_message.Message):
    __slots__ = ("kind", "subjects", "channel", "strength", "low", "high", "evidence", "words")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECTS_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    STRENGTH_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    kind: str
    subjects: _containers.RepeatedScalarFieldContainer[str]
    channel: str
    strength: float
    low: float
    high: float
    evidence: str
    words: str
    def __init__(self, kind: _Optional[str] = ..., subjects: _Optional[_Iterable[str]] = ..., channel: _Optional[str] = ..., strength: _Optional[float] = ..., low: _Optional[float] = ..., high: _Optional[float] = ..., evidence: _Optional[str] = ..., words: _Optional[str] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("code", "code_name", "message", "retry_after_ms")
    CODE_FIELD_NUMBER: _ClassVar[int]
    CODE_NAME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    code: int
    code_name: str
    message: str
    retry_after_ms: int
    def __init__(self, code: _Optional[int] = ..., code_name: _Optional[str] = ..., message: _Optional[str] = ..., retry_after_ms: _Optional[int] = ...) -> None: ...

class StrategyRequest(_message.Message):
    __slots__ = ("request_id", "game", "game_state", "context", "candidates", "time_limit_ms", "confidence")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    GAME_FIELD_NUMBER: _ClassVar[int]
    GAME_STATE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_MS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    game: str
    game_state: GameState
    context: str
    candidates: _containers.RepeatedCompositeFieldContainer[Alternative]
    time_limit_ms: int
    confidence: float
    def __init__(self, request_id: _Optional[str] = ..., game: _Optional[str] = ..., game_state: _Optional[_Union[GameState, _Mapping]] = ..., context: _Optional[str] = ..., candidates: _Optional[_Iterable[_Union[Alternative, _Mapping]]] = ..., time_limit_ms: _Optional[int] = ..., confidence: _Optional[float] = ...) -> None: ...

class StrategyAdvice(_message.Message):
    __slots__ = ("action", "weight", "reason")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    action: int
    weight: float
    reason: str
    def __init__(self, action: _Optional[int] = ..., weight: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

class StrategyResponse(_message.Message):
    __slots__ = ("request_id", "strategy_name", "advice", "actions", "confidence", "used_llm", "source", "refusal")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_NAME_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    USED_LLM_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    strategy_name: str
    advice: str
    actions: _containers.RepeatedCompositeFieldContainer[StrategyAdvice]
    confidence: float
    used_llm: bool
    source: str
    refusal: Refusal
    def __init__(self, request_id: _Optional[str] = ..., strategy_name: _Optional[str] = ..., advice: _Optional[str] = ..., actions: _Optional[_Iterable[_Union[StrategyAdvice, _Mapping]]] = ..., confidence: _Optional[float] = ..., used_llm: _Optional[bool] = ..., source: _Optional[str] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ...) -> None: ...

class KnowledgeUpdate(_message.Message):
    __slots__ = ("update_id", "game", "kind", "subjects", "relation", "strength", "observations", "details", "learned_from")
    UPDATE_ID_FIELD_NUMBER: _ClassVar[int]
    GAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBJECTS_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    STRENGTH_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    LEARNED_FROM_FIELD_NUMBER: _ClassVar[int]
    update_id: str
    game: str
    kind: str
    subjects: _containers.RepeatedScalarFieldContainer[str]
    relation: str
    strength: float
    observations: int
    details: _struct_pb2.Struct
    learned_from: str
    def __init__(self, update_id: _Optional[str] = ..., game: _Optional[str] = ..., kind: _Optional[str] = ..., subjects: _Optional[_Iterable[str]] = ..., relation: _Optional[str] = ..., strength: _Optional[float] = ..., observations: _Optional[int] = ..., details: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., learned_from: _Optional[str] = ...) -> None: ...

class MetricEvent(_message.Message):
    __slots__ = ("run", "step", "values", "labels")
    class ValuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUN_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    run: str
    step: int
    values: _containers.ScalarMap[str, float]
    labels: _containers.ScalarMap[str, str]
    def __init__(self, run: _Optional[str] = ..., step: _Optional[int] = ..., values: _Optional[_Mapping[str, float]] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class GameStateEvent(_message.Message):
    __slots__ = ("game", "game_version", "game_id", "step", "player", "state", "seed", "options")
    GAME_FIELD_NUMBER: _ClassVar[int]
    GAME_VERSION_FIELD_NUMBER: _ClassVar[int]
    GAME_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    PLAYER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    game: str
    game_version: int
    game_id: str
    step: int
    player: int
    state: GameState
    seed: str
    options: _struct_pb2.Struct
    def __init__(self, game: _Optional[str] = ..., game_version: _Optional[int] = ..., game_id: _Optional[str] = ..., step: _Optional[int] = ..., player: _Optional[int] = ..., state: _Optional[_Union[GameState, _Mapping]] = ..., seed: _Optional[str] = ..., options: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class GameActionEvent(_message.Message):
    __slots__ = ("game", "game_version", "game_id", "step", "player", "action", "reward", "reward_terms", "policy", "request_id")
    class RewardTermsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    GAME_FIELD_NUMBER: _ClassVar[int]
    GAME_VERSION_FIELD_NUMBER: _ClassVar[int]
    GAME_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    PLAYER_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    REWARD_TERMS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    game: str
    game_version: int
    game_id: str
    step: int
    player: int
    action: Action
    reward: float
    reward_terms: _containers.ScalarMap[str, float]
    policy: PolicyIdentity
    request_id: str
    def __init__(self, game: _Optional[str] = ..., game_version: _Optional[int] = ..., game_id: _Optional[str] = ..., step: _Optional[int] = ..., player: _Optional[int] = ..., action: _Optional[_Union[Action, _Mapping]] = ..., reward: _Optional[float] = ..., reward_terms: _Optional[_Mapping[str, float]] = ..., policy: _Optional[_Union[PolicyIdentity, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class GameResultEvent(_message.Message):
    __slots__ = ("game", "game_version", "game_id", "steps", "player", "total_return", "stats", "terminated", "seed")
    class StatsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    GAME_FIELD_NUMBER: _ClassVar[int]
    GAME_VERSION_FIELD_NUMBER: _ClassVar[int]
    GAME_ID_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    PLAYER_FIELD_NUMBER: _ClassVar[int]
    TOTAL_RETURN_FIELD_NUMBER: _ClassVar[int]
    STATS_FIELD_NUMBER: _ClassVar[int]
    TERMINATED_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    game: str
    game_version: int
    game_id: str
    steps: int
    player: int
    total_return: float
    stats: _containers.ScalarMap[str, float]
    terminated: bool
    seed: str
    def __init__(self, game: _Optional[str] = ..., game_version: _Optional[int] = ..., game_id: _Optional[str] = ..., steps: _Optional[int] = ..., player: _Optional[int] = ..., total_return: _Optional[float] = ..., stats: _Optional[_Mapping[str, float]] = ..., terminated: _Optional[bool] = ..., seed: _Optional[str] = ...) -> None: ...

class LiveEvent(_message.Message):
    __slots__ = ("type", "game_id", "timestamp", "data")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    GAME_ID_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    type: str
    game_id: str
    timestamp: float
    data: _struct_pb2.Struct
    def __init__(self, type: _Optional[str] = ..., game_id: _Optional[str] = ..., timestamp: _Optional[float] = ..., data: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class RunEvent(_message.Message):
    __slots__ = ("run", "kind", "step", "path", "values", "game", "message")
    class ValuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    RUN_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    GAME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    run: str
    kind: str
    step: int
    path: str
    values: _containers.ScalarMap[str, float]
    game: str
    message: str
    def __init__(self, run: _Optional[str] = ..., kind: _Optional[str] = ..., step: _Optional[int] = ..., path: _Optional[str] = ..., values: _Optional[_Mapping[str, float]] = ..., game: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ("component", "instance", "beat", "uptime_seconds", "status", "values")
    class ValuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    COMPONENT_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    BEAT_FIELD_NUMBER: _ClassVar[int]
    UPTIME_SECONDS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    component: str
    instance: str
    beat: int
    uptime_seconds: float
    status: str
    values: _containers.ScalarMap[str, float]
    def __init__(self, component: _Optional[str] = ..., instance: _Optional[str] = ..., beat: _Optional[int] = ..., uptime_seconds: _Optional[float] = ..., status: _Optional[str] = ..., values: _Optional[_Mapping[str, float]] = ...) -> None: ...

class DeadLetter(_message.Message):
    __slots__ = ("event", "topic", "consumer", "error", "attempts", "first_attempt_ns", "last_attempt_ns", "sequence")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    FIRST_ATTEMPT_NS_FIELD_NUMBER: _ClassVar[int]
    LAST_ATTEMPT_NS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    event: bytes
    topic: str
    consumer: str
    error: str
    attempts: int
    first_attempt_ns: int
    last_attempt_ns: int
    sequence: int
    def __init__(self, event: _Optional[bytes] = ..., topic: _Optional[str] = ..., consumer: _Optional[str] = ..., error: _Optional[str] = ..., attempts: _Optional[int] = ..., first_attempt_ns: _Optional[int] = ..., last_attempt_ns: _Optional[int] = ..., sequence: _Optional[int] = ...) -> None: ...
