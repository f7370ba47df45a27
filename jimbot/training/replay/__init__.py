"""What off-policy learners remember (experience replay): one compressed store of steps, drawn from by priority.

`store` holds the steps, `lockstep` writes those of a batch of games into it, `rare_events` says which steps deserve
more than their share. The learners' own buffers around it are `sb3/replay.py` and `ray/episode_replay.py`.
"""
