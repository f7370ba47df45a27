"""Adapters: JimBot's games behind the interfaces other libraries speak. Rules live in `jimbot.games`, nowhere here."""
