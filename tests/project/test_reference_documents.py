"""The documents say what the code says, and every link in them leads somewhere."""

import ast
import re
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from route_table import all_pages, bare

from feedkeep.config.settings import ENVIRONMENT_PREFIX, Settings
from feedkeep.http import cookies
from feedkeep.store.sqlite.connection import open_file, prepare
from handbook.contract import index_page
from handbook.reference import commands, commands_page, pages_page, settings_page

PROJECT = Path(__file__).parents[2]
DOCS = PROJECT / "docs"
READ_ME = (PROJECT / "src" / "feedkeep").rglob("README.md")
PAGES = [*DOCS.glob("*.md"), *PROJECT.glob("*.md"), *READ_ME, PROJECT / "bench" / "README.md"]
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors that a code host and the site give to the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    plain = [re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in _HEADING.findall(text)]
    return {re.sub(r"\s", "-", heading) for heading in plain}


def qualified_names(body: list[ast.stmt], prefix: str = "") -> set[str]:
    """Return the names of functions and classes, each after the class that it belongs to."""
    names = set()
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names |= {prefix + node.name, *qualified_names(node.body, f"{prefix}{node.name}.")}
    return names


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: str(page.relative_to(PROJECT)))
def test_every_link_leads_to_a_file_and_a_heading_that_is_there(page):
    dead = []
    for link in _LINK.findall(_CODE.sub("", page.read_text("utf-8"))):
        if re.match(r"(https?|mailto):", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_the_page_about_what_is_known_names_every_table_and_cookie(tmp_path):
    page = (DOCS / "privacy.md").read_text("utf-8")
    rows = [line.rsplit("|", 2)[1] for line in page.splitlines() if line.endswith("` |")]
    named = sorted(name for row in rows for name in re.findall(r"`(\w+)`", row))
    prepare(tmp_path / "new.db")
    with closing(open_file(tmp_path / "new.db")) as connection:
        tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        made = [str(name) for (name,) in connection.execute(tables)]
    assert named == sorted(made)
    kinds = [one for one in vars(cookies).values() if isinstance(one, cookies.Cookie)]
    assert kinds
    assert all(f"`{kind.name}`" in page.partition("## Cookies")[2] for kind in kinds)


@pytest.mark.parametrize("title", ["A change", "A fetch"])
def test_each_station_of_a_request_is_a_function_that_is_there(title):
    design = (DOCS / "design.md").read_text("utf-8")
    walk = design.partition(f"### {title}\n")[2].partition("\n#")[0]
    stations = re.findall(r"^\d+\. `([\w/]+\.py)` `([\w.]+)`", walk, re.MULTILINE)
    assert 5 < len(stations) <= 12
    for file, name in stations:
        source = (PROJECT / "src" / "feedkeep" / file).read_text("utf-8")
        assert name in qualified_names(ast.parse(source).body), file


@pytest.mark.parametrize("name", ["Caddyfile", "nginx.conf"])
def test_the_examples_of_proxies_are_those_that_are_run(name):
    example = (PROJECT / "deploy" / "proxy" / name).read_text("utf-8")
    without_its_head = re.sub(r"\A(#.*\n)+", "", example)
    assert f"\n{without_its_head}```\n" in (DOCS / "configuration.md").read_text("utf-8")


def test_the_settings_are_documented_as_the_code_says_them():
    page = (DOCS / "settings.md").read_text("utf-8")
    assert page == settings_page(), "Run `make reference`."
    for field in msgspec.structs.fields(Settings):
        assert f"## {field.name}\n" in page
        assert f"- Environment: `{ENVIRONMENT_PREFIX}{field.name.upper()}" in page


def test_the_commands_are_documented_as_the_code_says_them():
    page = (DOCS / "commands.md").read_text("utf-8")
    assert page == commands_page(), "Run `make reference`."
    common, _, _ = page.partition("\n## ")
    options = {
        path: {name for one in command.params for name in one.opts} for path, command in commands()
    }
    without = [path for path, names in options.items() if "--database" not in names]
    assert without == [f"feedkeep {name}" for name in ("try", "health", "copy", "version")]
    for path, command in commands():
        section = page.partition(f"## {path}\n")[2].partition("\n## ")[0]
        for param in command.params:
            if param.param_type_name == "option":
                assert [name for name in param.opts if name not in common + section] == []


def test_every_page_is_documented_as_the_code_says_it():
    page = (DOCS / "pages.md").read_text("utf-8")
    assert page == pages_page(), "Run `make reference`."
    for target in all_pages():
        for method in target.route.methods.keys() - {"HEAD"}:
            line = rf"^- `{method} {re.escape(bare(target.path))}`: (.*)$"
            [what] = re.findall(line, page, re.MULTILINE)
            assert what


def test_the_index_lists_each_promise_of_the_contract_with_its_code_and_tests():
    assert (DOCS / "contract-index.md").read_text("utf-8") == index_page(), "Run `make reference`."


def test_each_module_that_a_document_names_is_there():
    modules = {f"/{path.relative_to(PROJECT)}" for path in PROJECT.glob("*/**/*.py")}
    of_the_tree = [f"{folder}/**/*.md" for folder in ("docs", "src", "tests", "bench", "deploy")]
    documents = [path for pattern in ("*.md", *of_the_tree) for path in PROJECT.glob(pattern)]
    named = {
        (path.name, name)
        for path in documents
        for name in re.findall(r"`([\w/.-]+\.py)`", path.read_text())
    }
    assert len(named) > 20
    missing = {
        (document, name)
        for document, name in named
        if not any(one.endswith(f"/{name}") for one in modules)
    }
    assert missing == set()
