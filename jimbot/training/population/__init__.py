"""Population-based training: several agents take turns, the worst take over the best and change their settings.

`record` is the truth on disk, `ray_pbt` runs it on Ray Tune, `picture` draws who came from whom, `run` is one call from
settings to verdict. Ray Tune decides whose turn it is and who copies whom; everything that must survive a kill is ours
(run directories and checkpoints), so a killed population simply starts Ray again and goes on.
"""
