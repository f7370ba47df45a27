"""Where recorded metrics go, one module per way; `jimbot.sinks` among the entry points adds another."""

from jimbot.runs.sinks.contract import Sink
from jimbot.runs.sinks.jsonl import EventLogSink, JsonlSink
from jimbot.runs.sinks.tensorboard import TensorBoardSink

__all__ = ["EventLogSink", "JsonlSink", "Sink", "TensorBoardSink"]
