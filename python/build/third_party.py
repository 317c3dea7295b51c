"""Lists what others wrote that is in the programs: the texts of its licenses, and a bill of materials in CycloneDX.

The crates are those that cargo compiles into the packages for this target: no macros, build scripts or tests.
"""

from __future__ import annotations

import datetime
import hashlib
import html.parser
import json
import pathlib
import re
import subprocess
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Licenses under which a program may be passed on without its source.
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}
FILES = ("licen[sc]e*", "copying*", "copyright*", "notice*", "unlicense*")


class Crates:
    """The crates of some packages, and which of them uses which."""

    def __init__(self, packages: tuple[str, ...], target: str) -> None:
        metadata = ("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target)
        known = json.loads(subprocess.check_output(metadata, cwd=ROOT))["packages"]
        self.of_name = {(it["name"], it["version"]): it for it in known}
        self.uses: dict[tuple[str, str], set[tuple[str, str]]] = {}
        # One package at a time: together they would have each other's features.
        for package in packages:
            self._add(package, target)

    def _add(self, package: str, target: str) -> None:
        tree = ("cargo", "tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "depth", "--format", " {p}")
        printed = subprocess.check_output((*tree, "--target", target, "--package", package), cwd=ROOT, text=True)
        above: list[tuple[str, str]] = []
        for line in printed.splitlines():
            depth, name, version = line.split()[:3]
            crate = (name, version[1:])
            self.uses.setdefault(crate, set())
            del above[int(depth) :]
            if above:
                self.uses[above[-1]].add(crate)
            above.append(crate)

    def foreign(self) -> list[dict]:
        """Returns those that are not in this repository, by name."""
        return [self.of_name[it] for it in sorted(self.uses) if self.of_name[it]["source"]]


def expression(crate: dict) -> str:
    """Returns the license in SPDX's form; older crates have a slash for OR."""
    return re.sub(r"\s*/\s*", " OR ", crate["license"] or "")


def allows(text: str) -> bool:
    """Says whether an expression of SPDX can be met with allowed licenses alone."""
    words = re.findall(r"[()]|\bAND\b|\bOR\b|[A-Za-z0-9.+-]+(?: WITH [A-Za-z0-9.+-]+)?", text)

    def either() -> bool:
        result = both()
        while words and words[0] == "OR":
            words.pop(0)
            # Not `or`, which would leave words unread.
            result |= both()
        return result

    def both() -> bool:
        result = one()
        while words and words[0] == "AND":
            words.pop(0)
            result &= one()
        return result

    def one() -> bool:
        word = words.pop(0) if words else ""
        if word != "(":
            return word in ALLOWED
        result = either()
        return words.pop(0) == ")" and result if words else False

    return either() and not words


def licenses(crates: Crates) -> str:
    """Returns all texts, each once, with the crates that it is for. Ends the program if a license is not allowed."""
    refused = [f"{it['name']} {it['version']}: {it['license']}" for it in crates.foreign() if not allows(expression(it))]
    if refused:
        sys.exit("not in ALLOWED of python/build/third_party.py: " + "; ".join(refused))
    owners: dict[str, list[str]] = {}
    index = []
    for crate in crates.foreign():
        name = f"{crate['name']} {crate['version']}"
        index.append(f"{name}: {expression(crate)}\n    {crate['repository'] or crate['homepage'] or ''}".rstrip())
        for text in _texts(crate):
            owners.setdefault(text, []).append(name)
    parts = [
        "Oarlock's programs and libraries contain these crates. Each is followed by its license; the texts are below.\n",
        "\n".join(index) + "\n",
    ]
    parts += [f"{_RULE}\n{_wrap(names)}\n\n{text}\n" for text, names in owners.items()]
    parts.append(f"{_RULE}\nThe Rust standard library\n\n{_standard_library()}\n")
    libraries = _libraries_of_zig()
    if libraries:
        parts.append(f"{_RULE}\nzig, with libunwind and compiler-rt of LLVM\n\n{libraries}\n")
    return "\n".join(parts)


_RULE = "=" * 100


def _wrap(names: list[str]) -> str:
    lines = [""]
    for name in names:
        if len(lines[-1]) + len(name) > 96:
            lines.append("")
        lines[-1] += f"{name}, "
    return "\n".join(lines)[:-2]


def _texts(crate: dict) -> list[str]:
    """Returns what a crate comes with, in the folders of C libraries too, or the common text in its authors' name."""
    folder = pathlib.Path(crate["manifest_path"]).parent
    found = {file for pattern in FILES for file in folder.rglob(_any_case(pattern)) if file.is_file()}
    if crate["license_file"]:
        found.add(folder / crate["license_file"])
    texts = [_read(file) for file in sorted(found) if file.suffix not in (".rs", ".py", ".c", ".h", ".go", ".html")]
    if texts:
        return texts
    if "Apache-2.0" in expression(crate):
        return [_read(ROOT / "LICENSE-APACHE")]
    if expression(crate) != "MIT":
        sys.exit(f"{crate['name']} {crate['version']} comes without the text of its license, {crate['license']}")
    authors = ", ".join(re.sub(r"\s*<.*?>", "", it) for it in crate["authors"]) or f"the authors of {crate['name']}"
    return [re.sub(r"^Copyright .*", f"Copyright (c) {authors}", _read(ROOT / "LICENSE-MIT"), count=1)]


def _any_case(pattern: str) -> str:
    return re.sub(r"(?<!\[)[a-z](?!\w?\])", lambda it: f"[{it[0]}{it[0].upper()}]", pattern).replace("[sc]", "[scSC]")


def _read(file: pathlib.Path) -> str:
    text = file.read_text(errors="replace").replace("\r\n", "\n")
    # So that texts that differ in blanks alone are one.
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def _standard_library() -> str:
    sysroot = subprocess.check_output(("rustc", "--print", "sysroot"), cwd=ROOT, text=True).strip()
    page = pathlib.Path(sysroot) / "share" / "doc" / "rust" / "COPYRIGHT-library.html"
    if not page.exists():
        sys.exit(f"{page} is missing: install Rust with rustup, which brings the licenses of the standard library")
    text = _Text()
    text.feed(page.read_text())
    return re.sub(r"\n\s*\n+", "\n\n", "".join(text.parts)).strip()


class _Text(html.parser.HTMLParser):
    """The text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def _libraries_of_zig() -> str:
    try:
        import ziglang
    except ImportError:
        return ""
    folder = pathlib.Path(ziglang.__file__).parent
    files = [folder / "LICENSE", *sorted(folder.glob("lib/libunwind/*LICENSE*"))]
    return "\n\n".join(_read(file) for file in files if file.exists())


def bill(crates: Crates, version: str, seconds: int) -> str:
    """Returns the bill of materials of the programs, in CycloneDX 1.5."""
    lock = (ROOT / "Cargo.lock").read_text()
    locked = re.findall(r'name = "(.*)"\nversion = "(.*)"\nsource = .*\nchecksum = "(.*)"', lock)
    sums = {(name, number): checksum for name, number, checksum in locked}
    main = f"pkg:generic/oarlock@{version}"
    own = sorted(it for it in crates.uses if not crates.of_name[it]["source"])
    components = []
    for name in sorted(crates.uses):
        component = {"type": "library", "bom-ref": _url(name), "name": name[0], "version": name[1], "purl": _url(name)}
        component["licenses"] = [{"expression": expression(crates.of_name[name])}]
        if name in sums:
            component["hashes"] = [{"alg": "SHA-256", "content": sums[name]}]
        components.append(component)
    dependencies = [{"ref": main, "dependsOn": [_url(it) for it in own]}]
    dependencies += [{"ref": _url(it), "dependsOn": sorted(map(_url, used))} for it, used in sorted(crates.uses.items())]
    # The same for the same crates.
    identity = uuid.UUID(hashlib.sha256(json.dumps(components).encode()).hexdigest()[:32], version=4)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": identity.urn,
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "application", "bom-ref": main, "name": "oarlock", "version": version, "purl": main},
        },
        "components": components,
        "dependencies": dependencies,
    }
    return json.dumps(document, indent=1) + "\n"


def _url(crate: tuple[str, str]) -> str:
    return f"pkg:cargo/{crate[0]}@{crate[1]}"
