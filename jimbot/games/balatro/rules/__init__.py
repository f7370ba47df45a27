"""The rules of Balatro, and nothing else: state, random streams, decisions, rounds, scoring, shop, jokers, bosses."""
