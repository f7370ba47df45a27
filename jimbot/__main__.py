"""`python -m jimbot` is `jimbot`."""

from jimbot.cli.main import main

if __name__ == "__main__":  # processes that are spawned import this file again
    main()
