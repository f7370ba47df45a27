"""The bought game's protocol (balatrobot's JSON-RPC): our simulator written in it, and states in it read back."""
