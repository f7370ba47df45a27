"""Commands of what can be left shut: services, adviser, bus. They are found by entry points (`jimbot.commands`)."""
