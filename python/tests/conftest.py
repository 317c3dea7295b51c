import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import time

import pytest

CONFIGURATION = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin yes
Subsystem sftp internal-sftp
"""


def pytest_configure(config):
    # A shell lets commands in the background ignore it, and tests interrupt calls.
    signal.signal(signal.SIGINT, signal.default_int_handler)
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


@pytest.fixture(scope="module")
def address(place):
    """The address of a cryptoserver with the module's folder."""
    from test_remote import serve

    server, address = serve(place, "log")
    yield address
    server.send_signal(signal.SIGTERM)
    server.wait(60)


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


@pytest.fixture
def threads_as_workers():
    """For tests of the driver and the stores: a process takes a second to start. The long form has processes."""
    from ray_support import WorkerHere

    with pytest.MonkeyPatch.context() as patch:
        if not os.environ.get("OARLOCK_TEST_FLEET"):
            WorkerHere.use(patch)
        yield


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


@pytest.fixture(scope="session")
def moto(cluster):
    """The port of a server with the interface of S3."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield server.get_host_and_port()[1]
    server.stop()


@pytest.fixture
def bucket(moto):
    """The client and name of a bucket, empty and of this test alone."""
    import boto3

    name = f"bucket-{os.urandom(4).hex()}"
    client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{moto}")
    client.create_bucket(Bucket=name)
    return client, name


@pytest.fixture(scope="session")
def sshd(cluster, home, tmp_path_factory):
    """An SSH server of this user's, which the workers know: the beginning of its URLs, and its process."""
    folder = tmp_path_factory.mktemp("sshd")
    ours = home / ".ssh"
    ours.mkdir(mode=0o700)
    for key in (folder / "host_key", ours / "id_ed25519"):
        subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key), check=True)
    shutil.copy(ours / "id_ed25519.pub", folder / "authorized_keys")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "sshd_config").write_text(CONFIGURATION.format(port=port, folder=folder))
    kind, key, *_ = (folder / "host_key.pub").read_text().split()
    (ours / "known_hosts").write_text(f"[127.0.0.1]:{port} {kind} {key}\n")
    if os.geteuid() == 0:
        # For separation of privileges.
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
    program = shutil.which("sshd") or "/usr/sbin/sshd"
    log = folder / "log"
    process = subprocess.Popen((program, "-D", "-E", log, "-f", folder / "sshd_config"))
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        yield f"sftp://127.0.0.1:{port}", process
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def server(sshd):
    return sshd[0]


@pytest.fixture
def place_of(request, tmp_path):
    """A function that returns a place for objects: of a kind ("folder", "bucket" or "server"), and with a name."""
    from ray_support import Bucket, Folder, Server

    def of(kind, name):
        if kind == "folder":
            return Folder(tmp_path / name, str(tmp_path / name))
        if kind == "server":
            return Server(tmp_path / name, f"{request.getfixturevalue('server')}{tmp_path}/{name}")
        return Bucket(*request.getfixturevalue("bucket"), request.getfixturevalue("moto"), name)

    return of


@pytest.fixture(params=["folder", "bucket", "server"])
def target(request, place_of):
    """A destination of each kind."""
    return place_of(request.param, "dst")


@pytest.fixture
def work(keys, tmp_path):
    """A function that runs a job with a destination."""
    from ray_support import job

    (old, _, first), (_, _, second) = keys

    def run(command, source, target, **options):
        if command != "encrypt":
            options.setdefault("identities", (old,))
        if command != "decrypt":
            options.setdefault("recipients", (second if command == "rotate" else first,))
        return job(command, source, target.url, **target.options, **options)

    return run
