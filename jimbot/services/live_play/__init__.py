"""A policy plays a game that runs elsewhere, through the protocol of its bought edition: `jimbot play --live`.

`client` is one call over HTTP with a deadline; `driver` makes calls safe: what was not answered is never sent again
before the game's state has said that it did not happen; `player` decides, move after move; `record` writes every
decision down. What is particular to a game is behind its hook (`hooks.LivePlay`).
"""
