"""Lets the tests of this folder import `checkpoint_making`, which programs run by them import, too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
