"""What a seed holds, and which seeds hold something, without playing."""

from jimbot.games.balatro.seeds.finding import Ante, Item, Pack, SeedPreview, find, preview, search

__all__ = ["Ante", "Item", "Pack", "SeedPreview", "find", "preview", "search"]
