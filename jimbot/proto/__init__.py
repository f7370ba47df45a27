"""What travels between programs: messages (`events.proto`, `decisions.proto`) and the one list of topics.

    from jimbot.proto.events_pb2 import Event, LearningDecisionRequest, LearningDecisionResponse

The modules ending in `_pb2` are generated (`make proto`) and committed; messages need protobuf only,
`decisions_pb2_grpc` needs the extra `serve`.
"""
