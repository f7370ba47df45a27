"""Population-based training: several agents take turns, the worst take over the best and change their settings.

`record` is the truth on disk, `run` is one call from settings to verdict, and `training/ray/population.py` runs it on
Ray Tune, which decides whose turn it is and who copies whom. Everything that must survive a kill is ours (run
directories and checkpoints), so a killed population simply starts Ray again and goes on.
"""
