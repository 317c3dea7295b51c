import os
import random

import pytest


@pytest.fixture
def rng():
    """Random numbers of a seed that a failure shows: repeat with OARLOCK_TEST_SEED."""
    seed = int(os.environ.get("OARLOCK_TEST_SEED", random.getrandbits(32)))
    print(f"OARLOCK_TEST_SEED={seed}")
    return random.Random(seed)
