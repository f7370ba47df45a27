"""ADVICE: asking a language model or a planner where a policy is not sure, on a budget that cannot be exceeded.

`adviser` puts it together: which decisions are worth a question, the planner that stands in, the answers so far.
`question` tells a decision in words, `claude` answers, `reply` refuses whatever is not one legal move, `ledger` keeps
the books of all processes of this machine. `advised_policy` is a player that takes advice. No adviser is ever needed:
without an answer the policy's own move is played.
"""

from jimbot.adviser.settings import AdviserSettings

__all__ = ["AdviserSettings"]
