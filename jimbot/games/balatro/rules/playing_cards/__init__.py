"""Playing cards: the full deck, where each card lies, drawing, and which poker hand cards make."""
