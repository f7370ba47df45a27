"""How the rules become machine code: kernels, linking, the disk cache. No rule lives here."""
