"""Texts of the pages: all can be translated, and are, in every language."""

import ast
import contextlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from babel.core import Locale
from babel.messages.catalog import Catalog, Message
from babel.messages.frontend import CommandLineInterface
from babel.messages.plurals import get_plural
from babel.messages.pofile import read_po
from jinja2 import Environment, nodes

from feedkeep.http.pages.languages import DEFAULT_LANGUAGE, LANGUAGES

PROJECT = Path(__file__).parents[2]
SOURCE = PROJECT / "src" / "feedkeep"
LOCALE = SOURCE / "http" / "pages" / "locale"
TRANSLATED = [language for language in LANGUAGES if language != DEFAULT_LANGUAGE]
ENGLISH_ALONE = {"trial", "openpodcast"}
"""Packages whose pages are for developers."""
TEMPLATES = sorted(
    file for file in SOURCE.glob("**/templates/*.html") if not ENGLISH_ALONE & set(file.parts)
)

MAKEFILE = (PROJECT / "Makefile").read_text()


def of_make(line: str) -> list[str]:
    return re.search(f"^{line}$", MAKEFILE, re.MULTILINE)[1].split()


SAID_BY, SAY = of_make("SAID_BY = (.+)"), of_make(r"SAY = .*src/feedkeep/,(.+)\)")

ON_NO_PAGE = {
    *("formats/account_list.py", "http/json_bodies.py", "http/routing.py", "rules/url_lists.py"),
    *("service/devices.py", "service/preferences.py", "service/tokens.py"),
}
"""Modules with errors that only programs and commands meet."""

NAMES = ("feedkeep", "AntennaPod", "gPodder", "Kasts", "JSON", "UTC", "guid", "https://…")
"""Words that are the same in every language."""

SEEN = {"alt", "aria-label", "data-busy", "data-done", "label", "placeholder", "title"}
"""The attributes that a person sees or hears; the script shows those that begin with data-."""


# The catalogues.


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Return the texts of the sources, collected as `make texts` does."""
    collected = tmp_path_factory.mktemp("texts") / "feedkeep.pot"
    keywords = [option for name in SAID_BY for option in ("-k", name)]
    arguments = ["-F", "pyproject.toml", *keywords, "-o", str(collected)]
    places = [f"src/feedkeep/{name}" for name in SAY]
    with contextlib.chdir(PROJECT):
        CommandLineInterface().run(["pybabel", "-q", "extract", *arguments, *places])
    with collected.open("rb") as file:
        return read_po(file)


def catalogue(language: str) -> Catalog:
    with (LOCALE / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


def messages(texts: Catalog) -> list[Message]:
    return [message for message in texts if message.id]


def test_texts_are_collected_for_every_language_of_the_pages():
    collected = of_make(r"LANGUAGES = (.+)")
    assert sorted(collected) == sorted(TRANSLATED)
    assert sorted(file.stem for file in LOCALE.iterdir()) == sorted(TRANSLATED)


def forms_of(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else message.string


@pytest.mark.parametrize("language", TRANSLATED)
def test_catalogue_translates_each_text_of_the_sources_and_no_other(sources, language):
    translated, texts = catalogue(language), messages(sources)
    assert len(texts) > 300
    for text in texts:
        found = translated.get(text.id)
        assert found is not None, f"run `make texts`, then translate: {text.id}"
        forms = forms_of(found)
        assert all(forms), f"translate: {text.id}"
        assert len(forms) == (translated.num_plurals if text.pluralizable else 1)
        assert not found.fuzzy
    assert {message.id for message in messages(translated)} <= {text.id for text in texts}
    assert not translated.obsolete


@pytest.mark.parametrize("language", TRANSLATED)
def test_catalogue_says_how_its_language_counts_and_nothing_that_each_run_changes(language):
    text = (LOCALE / f"{language}.po").read_text()
    header = text.partition("\n\n")[0]
    plural = get_plural(Locale.parse(language))
    assert f'"Language: {language}\\n"' in header
    assert f'"Plural-Forms: {plural.plural_forms}\\n"' in header
    assert '"Content-Type: text/plain; charset=utf-8\\n"' in header
    assert not re.search(r"^#[ :~]|-Date:|Generated-By", text, re.MULTILINE)


def test_french_lines_do_not_begin_with_their_punctuation():
    said = [text for one in messages(catalogue("fr")) for text in forms_of(one)]
    assert [text for text in said if re.search(r"« | (?=[:;?!»](?:\W|$))", text)] == []


def kept(text: str) -> list[str]:
    """Return the values, the markup and the code in a text."""
    return sorted(re.findall(r"%\(\w+\)[a-z]|\{\w*\}|<[^>]+>|`[^`]+`|https?://\S+\w", text))


@pytest.mark.parametrize("language", TRANSLATED)
def test_translation_has_the_values_markup_code_and_end_of_the_original(language):
    for message in messages(catalogue(language)):
        one, many = (message.id, "") if isinstance(message.id, str) else message.id
        first, *others = forms_of(message)
        assert kept(first) == kept(one), one
        if many:
            assert kept(one) in (kept(many), [])  # "Your feed" needs no number
            assert [kept(form) for form in others] == [kept(many)], one
        assert first == first.strip()
        assert "  " not in first
        assert re.search(r"[.:?…]?$", one)[0] == re.search(r"[.:?…]?$", first)[0], one


@pytest.mark.parametrize("language", TRANSLATED)
def test_translation_has_no_other_sentence_before_it(language):
    texts = {m.id: m.string for m in messages(catalogue(language)) if isinstance(m.id, str)}
    long = {said: text for text, said in texts.items() if len(said) > 60}
    for text, said in texts.items():
        for other in (one for one in long if said != one and said.startswith(one)):
            assert text.startswith(long[other]), text


# The templates.


def shown(node: nodes.Node) -> str:
    """Return the text that an expression or a block puts into a page by itself, without marking."""
    match node:
        case nodes.TemplateData(data=text):
            return text
        case nodes.Const(value=str(text)):
            return text
        case nodes.CondExpr(expr1=one, expr2=other):
            return shown(one) + (shown(other) if other else "")
        case nodes.BinExpr(left=left, right=right):
            return shown(left) + shown(right)
        case nodes.Filter(node=within) if within:
            return shown(within)
        case nodes.Concat(nodes=parts) | nodes.Output(nodes=parts):
            return "".join(map(shown, parts))
        case nodes.Block(name="width") | nodes.Macro(name="marks"):  # a class, and attributes
            return ""
        case nodes.Expr() | nodes.Assign() | nodes.Extends() | nodes.FromImport():
            return ""
        case _:
            return "".join(map(shown, node.iter_child_nodes()))


class Seen(HTMLParser):
    """Collects the texts that a person sees or hears of HTML, except for names."""

    def __init__(self, html):
        super().__init__()
        self.texts = []
        self.feed(html)
        self.close()

    def handle_data(self, data):
        for name in NAMES:
            data = data.replace(name, "")
        if any(letter.isalpha() for letter in data):
            self.texts.append(data.strip())

    def handle_starttag(self, _tag, attrs):
        for name, value in attrs:
            if name in SEEN and value:
                self.handle_data(value)


def not_marked(template: str) -> list[str]:
    environment = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    environment.install_null_translations(newstyle=True)
    return Seen(shown(environment.parse(template))).texts


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_template_has_no_text_that_is_not_marked(template):
    assert not_marked(template.read_text()) == []
    assert {path.name for path in TEMPLATES} >= {"layout.html", "feeds.html", "login.html"}
    assert len(TEMPLATES) > 20


@pytest.mark.parametrize(
    "template",
    [
        "<p>Hello</p>", "{% if new %}<p>Hello{% else %}<p>{% endif %}</p>", "<img alt='Hello'>",
        "{% for i in all %}<p>{{ i }} Hello</p>{% endfor %}", "<p>{{ 'Hello ' ~ name }}</p>",
        "{% block main %}Hello{% endblock %}", "{% macro part() %}Hello{% endmacro %}",
        "<p>{{ 'Hello' if new else _('Bye') }}</p>", "<p>{{ name or 'Hello' }}</p>",
        "<p>{{ 'Hello'|upper }}</p>", "<input placeholder='Hello' value='{{ name }}'>",
        "<button data-done='Hello'>{% trans %}Copy{% endtrans %}</button>",
        "<nav aria-label=\"{{ 'Hello' }}\">",
    ],
)  # fmt: skip
def test_text_that_is_not_marked_is_found(template):
    assert [text.lower() for text in not_marked(template)] == ["hello"]


@pytest.mark.parametrize(
    "template",
    [
        "<p>{% trans %}Hello{% endtrans %} {{ _('Hello') }}</p>",
        "<p>{% trans count=n %}one{% pluralize %}{{ count }} many{% endtrans %}</p>",
        "<img alt=\"{{ _('Hello') }}\"><a class='hello' href='/hello'>AntennaPod</a>",
        "{% set place = 'apps' %}{# Hello #}<p>{{ shown('hello', text) }}</p>",
    ],
)
def test_text_that_is_marked_is_passed_over(template):
    assert not_marked(template) == []


# The errors.


def modules() -> list[Path]:
    return sorted(
        file
        for place in (SOURCE / name for name in SAY)
        for file in ([place] if place.is_file() else place.rglob("*.py"))
    )


def said(module: str) -> list[ast.Call]:
    """Return the calls of a module that make a sentence for a person."""
    calls = (node for node in ast.walk(ast.parse(module)) if isinstance(node, ast.Call))
    names = set(SAID_BY) - {"__init__"}
    return [call for call in calls if getattr(call.func, "id", "") in names and call.args]


def text_of(call: ast.Call) -> str | None:
    text = getattr(call.args[0], "value", None)
    return text if isinstance(text, str) else None


def put_together(module: str) -> list[int]:
    """Return the lines of sentences that cannot be translated, since they are no constant."""
    return [call.lineno for call in said(module) if text_of(call) is None]


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_error_that_a_page_can_show_is_not_put_together_and_has_a_value_for_each_name(module):
    lines = put_together(module.read_text())
    if module == SOURCE / "model/errors.py":
        assert len(lines) == 1  # the root of all errors passes on what it is given
    elif str(module.relative_to(SOURCE)) in ON_NO_PAGE:
        assert lines, "take it out of those that are on no page"
    else:
        assert lines == []
    for call in (one for one in said(module.read_text()) if text_of(one) is not None):
        names = set(re.findall(r"\{(\w*)\}", text_of(call)))
        if call.keywords:
            assert {keyword.arg for keyword in call.keywords} == names
        elif len(call.args) == 1:
            assert not names
        elif isinstance(call.args[1], ast.Dict):
            assert {ast.literal_eval(key) for key in call.args[1].keys if key} == names


@pytest.mark.parametrize(
    "module",
    [
        'AccountError(f"{name} is there already.")', 'Sentence("At most " + most)',
        'AccountError(f"{name} is the last: make another one" " first.")',
        'InvalidInput("At most %d." % most)', 'InvalidInput("At most {}.".format(most))',
        "InvalidInput(str(error))",
    ],
)  # fmt: skip
def test_error_that_is_put_together_is_found(module):
    assert put_together(module) == [1]
