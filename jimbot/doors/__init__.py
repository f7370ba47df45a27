"""Who may come in: tokens (`access`), what HTTP requests are checked for (`guard`), how servers listen (`listening`).

Every server of JimBot that speaks HTTP stands behind the same guard with the same limits; docs/operations/security.md
has them door by door.
"""
