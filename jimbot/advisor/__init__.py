"""ADVICE: asking somebody else where a policy is not sure, on a budget that cannot be exceeded.

`adviser` puts it together. `when` says whether a decision is worth a question, `question` tells it in words, `claude`
and `scripted` answer, `reply` refuses whatever is not one legal move, `ledger` keeps the books of all processes of this
machine, `cache` remembers answers. `advised_policy` is a player that takes advice. Nobody is ever needed: without an
answer the policy's own move is played.
"""

from jimbot.advisor.settings import AdviserSettings

__all__ = ["AdviserSettings"]
