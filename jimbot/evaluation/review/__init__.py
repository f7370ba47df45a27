"""A verdict on a game: the chance to win after every move, and what each move cost.

- `positions`: a recorded game as its decisions, on which policies can be asked and from which simulations start
- `verdicts`: which decisions are simulated, the better move, and what a move is called
- `report`: a review as a document, in a terminal and as one page of HTML
"""

from jimbot.evaluation.review.positions import GamePositions
from jimbot.evaluation.review.verdicts import Review, Reviewer, review_game

__all__ = ["GamePositions", "Review", "Reviewer", "review_game"]
