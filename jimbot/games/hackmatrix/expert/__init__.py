"""What the scripted player thinks with.

`layout` and `reading` make a row of numbers of an observation, `rules` plays on in it, `plans` says what could be
done in a stage, `habits` what is done without thinking, `worth` what comes of it; `search` puts them together.
"""
