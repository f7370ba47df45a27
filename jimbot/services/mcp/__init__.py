"""Games and policies as tools of the Model Context Protocol, for assistants: `jimbot mcp`.

`models` is what tools answer with, `open_games` the games in play, `tools` what each tool does (plain Python), `server`
the protocol around it, which needs the extra `mcp`.
"""
