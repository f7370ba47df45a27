"""Boss blinds: each in one `define` of `definitions`; asked through `dispatch`; the blind being played is `blind`."""
