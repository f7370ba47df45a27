"""The shop: what is on its shelves and what it asks, vouchers, booster packs."""
