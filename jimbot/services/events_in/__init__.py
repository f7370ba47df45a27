"""A door for mods that push what happens in a game: `jimbot host events`.

`events` reads and checks what they send, `ingest` counts it and hands it to the bus, `server` is WebSocket and HTTP on
one port and needs the extra `events`.
"""
