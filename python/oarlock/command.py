"""The `oarlock` command that this package comes with."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
import sysconfig

__all__ = ["Doctor", "doctor", "environment", "find_command", "pkcs11_module"]


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
    """
    command = (find_command(), "run", *arguments, "--", "/usr/bin/env", "-0")
    variables = dict(os.environ)
    for entry in subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.split(b"\0"):
        name, _, value = entry.partition(b"=")
        if name == b"OPENSSL_CONF":
            variables["OPENSSL_CONF"] = os.fsdecode(value)
    return variables


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
    """Return what gains on this machine, or for one program and its arguments."""
    arguments = ("--", *command) if command else ()
    done = subprocess.run((find_command(), "doctor", "--json", *arguments), stdout=subprocess.PIPE)
    try:
        return Doctor(json.loads(done.stdout))
    except ValueError:
        raise RuntimeError(f"oarlock doctor failed with exit status {done.returncode}") from None
