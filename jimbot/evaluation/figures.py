"""Names of the figures that every game has, whatever else it counts; as reports, comparisons and JSON spell them."""

RETURN, LENGTH, WIN_RATE = "return", "length", "win_rate"
