"""What the tests of `oarlock.ray` need: jobs, an unwrapper of their own, and a store that fails."""

import base64
import contextlib
import glob
import http.client
import http.server
import os
import pathlib
import pickle
import random
import signal
import socket
import threading
import types
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor
from concurrent.futures import wait as wait_for

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

import oarlock
import oarlock.ray.job
from oarlock.ray import Options, run
from oarlock.ray.local import LocalStore
from oarlock.ray.objects import FOLDER
from oarlock.ray.plugin import PluginStore
from oarlock.ray.s3 import S3Store
from oarlock.ray.worker import Worker

CHUNK = 64 << 10
SIZES = (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 9 * CHUNK + 17)
LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def job(command, source, target, workers=1, **options):
    """Run a job. A worker is a process that takes a second to start."""
    return run(Options(command, str(source), str(target), workers=workers, **options))


def worker_of(settings):
    """Return a worker, outside of a job."""
    return Worker(oarlock.__version__, pickle.dumps(settings))


class WorkerHere:
    """Stands for a worker of a cluster: a thread of this process. Arguments and results are pickled, as between processes."""

    def __init__(self, *arguments):
        self._thread = ThreadPoolExecutor(1)
        self._worker = self._thread.submit(Worker, *pickle.loads(pickle.dumps(arguments)))

    def __getattr__(self, name):
        def call(arguments):
            return pickle.dumps(getattr(self._worker.result(), name)(*pickle.loads(arguments)))

        method = types.SimpleNamespace(remote=lambda *arguments: self._thread.submit(call, pickle.dumps(arguments)))
        method.options = lambda **_: method
        return method

    def kill(self):
        self._thread.shutdown(cancel_futures=True)

    @staticmethod
    def use(monkeypatch):
        """Have jobs use such workers."""

        def wait(calls, num_returns, timeout):
            return wait_for(calls, timeout, FIRST_COMPLETED if num_returns == 1 else "ALL_COMPLETED")

        monkeypatch.setattr(oarlock.ray.job, "_actor", lambda: types.SimpleNamespace(remote=WorkerHere))
        monkeypatch.setattr(oarlock.ray.job.ray, "wait", wait)
        monkeypatch.setattr(oarlock.ray.job.ray, "get", lambda call: pickle.loads(call.result()))
        monkeypatch.setattr(oarlock.ray.job.ray, "kill", WorkerHere.kill)


def tree(folder):
    """The contents of a folder, without the job's own."""
    found = {}
    for path, folders, names in os.walk(os.fsencode(folder)):
        folders[:] = [name for name in folders if name != FOLDER.encode()]
        for name in names:
            file = os.path.join(path, name)
            relative = os.path.relpath(file, os.fsencode(folder))
            with open(file, "rb") as opened:
                found[relative] = opened.read()
    return found


def make(folder, rng, sizes=SIZES):
    for number, size in enumerate(sizes):
        path = pathlib.Path(folder, *(("deep", "er") if number % 2 else ()), f"{number}.bin")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(size))
    return tree(folder)


def is_clean(folder):
    """Whether a job left nothing temporary and no lock."""
    names = os.listdir(pathlib.Path(folder, FOLDER))
    return not any(name.startswith(("tmp-", "headers-")) for name in names)


class Killer:
    """Kills workers of this process's Ray while they process objects: one, or one every so many seconds."""

    def __init__(self, seconds=None):
        self.killed = 0
        self._seconds = seconds
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _run(self):
        raylet = next(child for child in children(os.getpid()) if pathlib.Path(f"/proc/{child}/comm").read_text() == "raylet\n")
        while not self._is_over.wait(0.002):
            for worker in children(raylet):
                with contextlib.suppress(OSError):
                    # Ray's title of a process names the task.
                    title = pathlib.Path(f"/proc/{worker}/cmdline").read_bytes()
                    if title.startswith((b"ray::oarlock", b"ray::Worker.objects", b"ray::Worker.range")):
                        os.kill(worker, signal.SIGKILL)
                        self.killed += 1
                        break
            else:
                continue
            if self._seconds is None or self._is_over.wait(self._seconds):
                return


def children(process):
    """Return the processes that a process has started."""
    found = []
    for path in glob.glob(f"/proc/{process}/task/*/children"):
        with contextlib.suppress(OSError):
            found += map(int, pathlib.Path(path).read_text().split())
    return found


def secret_of(identity):
    """Return the 32 bytes of AGE-SECRET-KEY-1..., whose checksum is not looked at."""
    number, text = 0, identity.lower().split("1", 1)[1][:-6]
    for letter in text:
        number = number << 5 | LETTERS.index(letter)
    return (number >> (len(text) * 5 - 256)).to_bytes(32, "big")


def unwrap(identity, stanzas):
    """Return the file key of stanzas: age v1, "X25519 recipient stanza"."""
    key = X25519PrivateKey.from_private_bytes(secret_of(identity))
    form = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    for kind, arguments, body in stanzas:
        if kind != "X25519":
            continue
        share = base64.b64decode(arguments[0] + "=")
        shared = key.exchange(X25519PublicKey.from_public_bytes(share))
        salt = share + key.public_key().public_bytes(*form)
        wrapping = HKDF(hashes.SHA256(), 32, salt, b"age-encryption.org/v1/X25519").derive(shared)
        try:
            return ChaCha20Poly1305(wrapping).decrypt(bytes(12), body, None)
        except Exception:
            continue
    raise ValueError("no stanza is for this identity")


class Unreliable:
    """A proxy on loopback that fails some requests.

    It answers with 503 before or after the store has carried them out, or cuts what goes up or comes down in the middle.
    """

    def __init__(self, port, rate, seed):
        generator = random.Random(seed)
        self.failed = 0
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def carry(self):
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                fails, kind = generator.random() < rate, generator.choice(("early", "late", "cut"))
                status, headers, answer = 503, [], b""
                if fails and kind == "cut" and body:
                    # The store gets half of what it was told to expect.
                    self.forward_half(body)
                    self.close_connection = True
                    proxy.failed += 1
                    return
                if not fails or kind != "early":
                    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                    connection.request(self.command, self.path, body, dict(self.headers))
                    response = connection.getresponse()
                    status, headers, answer = response.status, response.getheaders(), response.read()
                    connection.close()
                is_cut = fails and kind == "cut"
                if fails:
                    proxy.failed += 1
                if fails and not is_cut:
                    status, headers = 503, [("Content-Type", "application/xml")]
                    answer = b"<Error><Code>ServiceUnavailable</Code><Message>Try again.</Message></Error>"
                self.send_response_only(status)
                for name, value in headers:
                    if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                        self.send_header(name, value)
                is_head = self.command == "HEAD"
                told = dict((name.lower(), value) for name, value in headers).get("content-length")
                self.send_header("Content-Length", told if is_head and told else str(len(answer)))
                self.end_headers()
                if is_cut:
                    self.close_connection = True
                if not is_head:
                    self.wfile.write(answer[: len(answer) // 2] if is_cut else answer)

            def forward_half(self, body):
                with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                    head = f"{self.command} {self.path} HTTP/1.1\r\n{self.headers}"
                    connection.sendall(head.encode("latin-1") + body[: len(body) // 2])

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = carry

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


class Folder:
    """A destination, here or behind a server."""

    store = LocalStore
    #: The length of an object of several ranges, and what makes these short.
    long = 5 * CHUNK, {"range_chunks": 2}

    def __init__(self, path, url):
        self.url, self.options, self._path = url, {}, path

    def write(self, name, data):
        path = self._path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def read(self, name):
        return (self._path / name).read_bytes()

    def names(self):
        return sorted(os.fsdecode(name) for name in tree(self._path))


class Server(Folder):
    store = PluginStore


class Bucket:
    store = S3Store
    # Parts have at least 5 MiB.
    long = 161 * CHUNK, {"range_chunks": 80}

    def __init__(self, client, name, port, prefix="dst"):
        self.url, self.options = f"s3://{name}/{prefix}", {"endpoint": f"http://127.0.0.1:{port}"}
        self._client, self._name, self._prefix = client, name, f"{prefix}/"

    def write(self, name, data):
        self._client.put_object(Bucket=self._name, Key=f"{self._prefix}{name}", Body=data)

    def read(self, name):
        return self._client.get_object(Bucket=self._name, Key=f"{self._prefix}{name}")["Body"].read()

    def names(self):
        found = self._client.list_objects_v2(Bucket=self._name, Prefix=self._prefix).get("Contents", ())
        return sorted(one["Key"].removeprefix(self._prefix) for one in found if FOLDER not in one["Key"])


def fill_for(folder, contents, command, keys):
    """Write files that a command takes. Return the names that it makes of them."""
    folder.mkdir(exist_ok=True)
    for name, data in contents.items():
        if command == "encrypt":
            (folder / name).write_bytes(data)
        else:
            with oarlock.open(folder / f"{name}.age", "wb", recipients=keys[0][2]) as file:
                file.write(data)
    return [name if command == "decrypt" else f"{name}.age" for name in contents]
