"""What importing JimBot does to a process, and what it does not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

TOLD = "import jimbot, os, sys; print(os.environ['TF_CPP_MIN_LOG_LEVEL'], 'jax' in sys.modules)"


@pytest.mark.parametrize(("given", "found"), [({}, "3 False"), ({"TF_CPP_MIN_LOG_LEVEL": "0"}, "0 False")])
def test_the_compiler_is_quiet_unless_somebody_wants_to_hear_it(given: dict[str, str], found: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"} | given
    done = subprocess.run([sys.executable, "-c", TOLD], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == found
