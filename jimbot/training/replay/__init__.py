"""What off-policy learners remember (experience replay): one compressed store of steps, drawn from by priority.

`store` holds the steps, `lockstep` and `episodes` write a batch of games or whole episodes into it, `rare_events` says
which steps deserve more than their share, `files` keeps a store on disk. The learners' own buffers around it are
`sb3/compressed_replay.py` and `ray/episode_replay.py`.
"""
