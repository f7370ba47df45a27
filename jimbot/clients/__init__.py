"""Thin clients for other programs: no engine, no learner, nothing loaded before it is used."""

from jimbot.clients.decision_client import AsyncDecisionClient, DecisionClient
from jimbot.clients.event_bus import EventBusClient
from jimbot.clients.graphql_client import GraphQLClient

__all__ = ["AsyncDecisionClient", "DecisionClient", "EventBusClient", "GraphQLClient"]
