import os
import random
import subprocess

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "long: runs only with OARLOCK_TEST_FLEET")


def pytest_collection_modifyitems(config, items):
    if os.environ.get("OARLOCK_TEST_FLEET"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.fixture
def rng():
    """Random numbers of a seed that a failure shows: repeat with OARLOCK_TEST_SEED."""
    seed = int(os.environ.get("OARLOCK_TEST_SEED", random.getrandbits(32)))
    print(f"OARLOCK_TEST_SEED={seed}")
    return random.Random(seed)


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """The home folder of workers."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def cluster(home):
    """Ray on this machine. Workers inherit the variables that s3fs and clients of SFTP read."""
    import ray

    patch = pytest.MonkeyPatch()
    patch.setenv("HOME", str(home))
    patch.delenv("SSH_AUTH_SOCK", raising=False)
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "testing"),
        ("AWS_SECRET_ACCESS_KEY", "testing"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
        ("AWS_CONFIG_FILE", "/dev/null"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null"),
        ("RAY_USAGE_STATS_ENABLED", "0"),
    ):
        patch.setenv(name, value)
    context = ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
    yield context
    ray.shutdown()
    patch.undo()


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """Identity files, their texts and recipients."""
    from oarlock.command import find_command

    folder = tmp_path_factory.mktemp("keys")
    made = []
    for name in ("old", "new"):
        path = folder / f"{name}.txt"
        subprocess.run((find_command(), "keygen", "-o", path), check=True, capture_output=True)
        identity = path.read_text().split()[-1]
        recipient = next(word for word in path.read_text().split() if word.startswith("age1"))
        made.append((str(path), identity, recipient))
    return made
