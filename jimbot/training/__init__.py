"""Learning: settings, the trainer contract, and the learners behind it."""
