"""The command `oarlock fleet`: its arguments, and what it prints."""

import json
import socket
import subprocess
import time

import pytest

import oarlock
from oarlock.ray.command import main
from oarlock.ray.worker import Settings, Worker

pytestmark = pytest.mark.usefixtures("cluster", "threads_as_workers")


def ssh_key(folder, kind):
    subprocess.run(("ssh-keygen", "-q", "-t", kind, "-N", "", "-f", folder / kind), check=True)
    return (folder / f"{kind}.pub").read_text()


def test_a_file_with_keys_that_cannot_be_encrypted_to(tmp_path, capsys):
    """As https://github.com/NAME.keys lists them."""
    ecdsa, usable = ssh_key(tmp_path, "ecdsa"), ssh_key(tmp_path, "ed25519")
    hardware = "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29t me"
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a").write_bytes(b"a")
    keys = tmp_path / "me.keys"
    arguments = ["encrypt", "-R", str(keys), "--workers", "1", str(tmp_path / "src"), str(tmp_path / "dst")]
    keys.write_text(f"{ecdsa}# a comment\n{usable}{hardware}\n")
    assert main(arguments) == 0
    told = capsys.readouterr().err
    assert f"warning: {keys}: line 1: unsupported SSH key: of the type ecdsa-sha2-nistp256" in told
    assert f"{keys}: line 4: unsupported SSH key: of the type sk-ssh-ed25519@openssh.com" in told and told.count("warning") == 2
    with oarlock.open(tmp_path / "dst" / "a.age", identity=tmp_path / "ed25519") as file:
        assert file.read() == b"a"
    keys.write_text(ecdsa)
    assert main(arguments) == 2
    assert "line 1: unsupported SSH key: of the type ecdsa-sha2-nistp256: use ssh-ed25519" in capsys.readouterr().err


def test_a_cluster_without_a_free_cpu(tmp_path, capsys, monkeypatch, keys):
    """Its workers do not start. The command says so while it waits, and once."""
    begin, told = Worker.begin, []

    def late(self):
        deadline = time.monotonic() + 10
        while not any(told) and time.monotonic() < deadline:
            time.sleep(0.05)
            told.append("no free CPU" in capsys.readouterr().err)
        return begin(self)

    monkeypatch.setattr(Worker, "begin", late)
    monkeypatch.setattr("oarlock.ray.job._WAITING_SECONDS", 0.1)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a").write_bytes(b"a")
    arguments = ["encrypt", "-r", keys[0][2], "--workers", "1", "--json", str(tmp_path / "src"), str(tmp_path / "dst")]
    assert main(arguments) == 0 and told[-1]
    output = capsys.readouterr()
    assert "no free CPU" not in output.err
    assert [note for note in json.loads(output.out)["notes"] if "no free CPU" in note]


def test_a_worker_of_another_version(tmp_path, capsys, monkeypatch, keys):
    monkeypatch.setattr("oarlock.ray.worker.__version__", "0.0.1")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a").write_bytes(b"a")
    assert main(["encrypt", "-r", keys[0][2], "--workers", "1", str(tmp_path / "src"), str(tmp_path / "dst")]) == 2
    told = capsys.readouterr().err
    assert f"{socket.gethostname()} has version 0.0.1 of oarlock, and the driver {oarlock.__version__}" in told
    assert not (tmp_path / "dst" / "a.age").exists()


def test_settings_that_another_version_does_not_understand(tmp_path, capsys, monkeypatch, keys):
    """Versions are compared before the worker looks at them."""
    monkeypatch.setattr("oarlock.ray.worker.__version__", "0.0.1")
    monkeypatch.setattr(Settings, "__reduce__", lambda self: (_refused, ()), raising=False)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a").write_bytes(b"a")
    assert main(["encrypt", "-r", keys[0][2], "--workers", "1", str(tmp_path / "src"), str(tmp_path / "dst")]) == 2
    assert "has version 0.0.1 of oarlock, and the driver" in capsys.readouterr().err


def _refused():
    raise TypeError("12 fields of settings, and 11 are known")
