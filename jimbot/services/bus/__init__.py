"""The event bus: NATS with JetStream. Programs use it through `jimbot.clients.EventBusClient`; what it promises is in
`jimbot/clients/bus_contract.py`. `local_server.py` runs the server of one machine."""
