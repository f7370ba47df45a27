"""Where recorded metrics go. Each sink imports what it needs when first used."""

from jimbot.runs.sinks.contract import Sink
from jimbot.runs.sinks.jsonl import EventLogSink, JsonlSink
from jimbot.runs.sinks.prometheus import PrometheusSink
from jimbot.runs.sinks.questdb import QuestDBSink
from jimbot.runs.sinks.tensorboard import TensorBoardSink
from jimbot.runs.sinks.wandb import WandbSink

__all__ = ["EventLogSink", "JsonlSink", "PrometheusSink", "QuestDBSink", "Sink", "TensorBoardSink", "WandbSink"]
