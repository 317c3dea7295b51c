"""The examples of the module's documentation, and of the pages of docs/ about it."""

import doctest
import importlib
import pathlib

import pytest

import oarlock

DOCS = pathlib.Path(__file__).parents[2] / "docs"
MODULES = ("oarlock", "oarlock.aio", "oarlock.command", "oarlock.fernet", "oarlock.files", "oarlock.packet", "oarlock.pyjwt")


def run(example, **options):
    results = doctest.DocTestRunner(verbose=False).run(example, **options)
    assert results.failed == 0
    return results.attempted


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    for example in finder.find(module):
        run(example)


def test_the_native_part():
    parser, attempted = doctest.DocTestParser(), 0
    for name in oarlock.__all__:
        text = getattr(oarlock, name).__doc__ or ""
        attempted += run(parser.get_doctest(text, dict(vars(oarlock)), name, None, 0))
    assert attempted > 5


@pytest.mark.parametrize(("name", "least"), (("python.md", 6), ("packets.md", 3)))
def test_pages(name, least, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = DOCS / name
    text = page.read_text()
    code = []
    for block in text.split("```python\n")[1:]:
        code.append(block.split("```")[0])
    examples = [block for block in code if block.startswith(">>>")]
    assert len(examples) >= least
    # One after the other in one namespace, as a reader would type them.
    names = {}
    for number, block in enumerate(examples):
        example = doctest.DocTestParser().get_doctest(block, names, f"example {number}", str(page), 0)
        # The parser copies the names.
        example.globs = names
        run(example, clear_globs=False)
