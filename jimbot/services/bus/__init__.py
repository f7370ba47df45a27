"""What JimBot puts on the event bus and reads from it, and the NATS server of one machine. The bus itself is a client:
`jimbot/clients/nats_bus.py`, with its promises in `bus_contract.py` beside it."""
