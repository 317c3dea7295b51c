"""`oarlock fleet` with an identity that stays on a cryptoserver, which is a process of its own."""

import datetime
import re
import subprocess
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from ray_support import fill_for, is_clean, job, tree
from test_remote import files

import oarlock
from oarlock.command import find_command
from oarlock.ray import JobError, plan
from oarlock.ray.keys import Server

pytestmark = pytest.mark.usefixtures("cluster", "threads_as_workers")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder of the authority, of a server with an identity."""
    folder = tmp_path_factory.mktemp("fleet") / "demo"
    subprocess.run((find_command(), "pki", "init", folder, "--key", "web"), check=True, capture_output=True)
    subprocess.run((find_command(), "keygen", "-o", folder / "keys" / "archive.key"), check=True, capture_output=True)
    config = folder / "cryptoserver.toml"
    config.write_text(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:0", config.read_text()))
    return folder


@pytest.fixture
def sealed(place, tmp_path):
    """A folder of files for the identity of the server, and their contents."""
    recipient = next(word for word in (place / "keys" / "archive.key").read_text().split() if word.startswith("age1"))
    plain = {f"{number}": b"%d" % number for number in range(3)}
    fill_for(tmp_path / "sealed", plain, "decrypt", [("", "", recipient)])
    return tmp_path / "sealed", {name.encode(): data for name, data in plain.items()}


def valid_for(place, seconds):
    """Give the client a certificate like its own that ends after some seconds. Return when."""
    old = x509.load_pem_x509_certificate((place / "client.pem").read_bytes())
    authority = serialization.load_pem_private_key((place / "ca.key").read_bytes(), None)
    end = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).replace(microsecond=0)
    new = x509.CertificateBuilder(old.issuer, old.subject, old.public_key(), x509.random_serial_number())
    new = new.not_valid_before(old.not_valid_before_utc).not_valid_after(end)
    for extension in old.extensions:
        new = new.add_extension(extension.value, extension.critical)
    (place / "client.pem").write_bytes(new.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    return end.timestamp()


def test_a_client_s_certificate_that_expires_during_a_job(place, address, sealed, tmp_path, monkeypatch):
    """The server ends the connection. The job stops, names the certificate, and goes on once that is renewed."""
    source, plain = sealed
    before, unwrap, opened, waited = (place / "client.pem").read_bytes(), Server.unwrap, [], []
    monkeypatch.setattr(plan, "_BATCH_OBJECTS", 1)
    monkeypatch.setattr("oarlock.ray.job._DELAY_SECONDS", 0.02)

    def late(self, header):
        if len(opened) == 2 and not waited:
            waited.append(True)
            time.sleep(max(0.0, end - time.time()))
            while True:
                # The server looks at the time each second.
                try:
                    unwrap(self, header)
                except oarlock.ServerError:
                    break
                assert time.time() < end + 60
                time.sleep(0.1)
        opened.append(unwrap(self, header))
        return opened[-1]

    monkeypatch.setattr(Server, "unwrap", late)
    for seconds in (2, 10, 50):
        end, target = valid_for(place, seconds), tmp_path / f"{seconds}"
        server = oarlock.Cryptoserver(address, **files(place), timeout=0.3)
        try:
            with pytest.raises(JobError, match=r"stopped after 2 objects: no server .*client\.pem expired.*: renew it"):
                job("decrypt", source, target, server=server.identity("archive"))
        except (AssertionError, JobError):
            # The machine was too slow for so short a time.
            if seconds == 50:
                raise
            opened.clear()
            waited.clear()
        else:
            break
    monkeypatch.setattr(Server, "unwrap", unwrap)
    assert len(tree(target)) == 2 and is_clean(target)
    (place / "client.pem").write_bytes(before)
    done = job("decrypt", source, target, server=oarlock.Cryptoserver(address, **files(place)).identity("archive"))
    assert (done.done, done.unchanged, done.failed) == (len(plain) - 2, 2, 0), done
    assert tree(target) == plain
