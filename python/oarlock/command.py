"""The `oarlock` command that this package comes with."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
import sysconfig

from ._oarlock import Error

__all__ = ["Doctor", "doctor", "environment", "find_command", "pkcs11_module"]

#: The exit status of the command for wrong arguments.
_USAGE = 2


def find_command() -> str:
    """Return the path of the command.

    Raises FileNotFoundError if it is not where pip puts commands.
    """
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    # `pip install --user`, and `--target` or `--prefix` next to the package.
    folders.append(sysconfig.get_path("scripts", "posix_user"))
    package = os.path.dirname(os.path.abspath(__file__))
    folders.append(os.path.join(os.path.dirname(package), "bin"))
    for folder in folders:
        path = os.path.join(folder, "oarlock")
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"the command oarlock is in none of {', '.join(folders)}")


def pkcs11_module() -> str:
    """Return the path of the PKCS#11 module, for programs that know tokens.

    Raises FileNotFoundError if it is not where pip puts it.

    >>> import oarlock
    >>> oarlock.pkcs11_module().endswith("/lib/oarlock/liboarlock_pkcs11.so")
    True
    """
    prefix = os.path.dirname(os.path.dirname(find_command()))
    path = os.path.join(prefix, "lib", "oarlock", "liboarlock_pkcs11.so")
    if not os.path.isfile(path):
        raise FileNotFoundError(f"the PKCS#11 module is not there: {path}")
    return path


def environment(*arguments: str) -> dict[str, str]:
    """Return environment variables with which programs use the OpenSSL provider.

    They are those of this process and OPENSSL_CONF. ``arguments`` are further ones of ``oarlock run``, such as
    "--post-quantum".

    >>> import oarlock, subprocess
    >>> providers = subprocess.run(
    ...     ("openssl", "list", "-providers"), env=oarlock.environment(), capture_output=True, text=True)
    >>> "oarlock" in providers.stdout
    True

    Raises ValueError for arguments that ``oarlock run`` does not know, and Error if it cannot add the provider to the OpenSSL
    configuration of this process.
    """
    command = (find_command(), "run", *arguments, "--", "/usr/bin/env", "-0")
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        failure = ValueError if done.returncode == _USAGE else Error
        raise failure(f"oarlock run failed with exit status {done.returncode}: {_reason(done.stderr)}")
    entries = (entry.partition(b"=") for entry in done.stdout.split(b"\0"))
    path = next((os.fsdecode(value) for name, _, value in entries if name == b"OPENSSL_CONF"), None)
    # Without the provider the command runs as it is, which suits a command and would deceive a caller.
    if path is None or path == os.environ.get("OPENSSL_CONF"):
        raise Error(_reason(done.stderr))
    if not os.path.exists(path):
        raise Error("there is no folder for the OpenSSL configuration: name one in OARLOCK_CONFIGURATIONS")
    return {**os.environ, "OPENSSL_CONF": path}


def _reason(text: bytes) -> str:
    """Return what the command said went wrong."""
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[0].replace("oarlock: ", "", 1).replace("note: ", "", 1) if lines else "it did not say why"


class Doctor:
    """The report of ``oarlock doctor``. A notebook shows it as a table."""

    def __init__(self, report: dict):
        #: What ``oarlock doctor --json`` printed.
        self.report = report

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """The findings: state, subject, text."""
        return [(one["state"], one["about"], one["text"]) for one in self.report["findings"]]

    def __str__(self) -> str:
        lines = [self.report["verdict"]["summary"]]
        for gain in self.report["verdict"]["gains"]:
            size = f" at {gain['bytes']} bytes" if "bytes" in gain else ""
            lines.append(f"{gain['operation']}{size}: {gain['ratio']:.2f}x")
        lines += [f"{state}: {about}: {text}" for state, about, text in self.rows]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = ("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows)
        gains = "".join(
            f"<tr><td>{html.escape(gain['operation'])}</td><td>{gain.get('bytes', '')}</td><td>{gain['ratio']:.2f}x</td></tr>"
            for gain in self.report["verdict"]["gains"]
        )
        return (
            f"<p>{html.escape(self.report['verdict']['summary'])}</p>"
            f"<table><tr><th>operation</th><th>bytes</th><th>over OpenSSL</th></tr>{gains}</table>"
            f"<table><tr><th>state</th><th>about</th><th></th></tr>{''.join(cells)}</table>"
        )


def doctor(*command: str) -> Doctor:
    """Return what gains on this machine, or for one program and its arguments. Raises Error if that cannot be found out."""
    arguments = ("--", *command) if command else ()
    done = subprocess.run((find_command(), "doctor", "--json", *arguments), capture_output=True)
    try:
        return Doctor(json.loads(done.stdout))
    except ValueError:
        pass
    raise Error(f"oarlock doctor failed with exit status {done.returncode}: {_reason(done.stderr)}")
