"""What the simulator measures about things that work together: jokers with jokers, with poker hands, against bosses."""
