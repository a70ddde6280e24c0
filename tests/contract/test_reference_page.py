"""/docs shows all of the OpenAPI document, without scripts, and without anything from elsewhere."""

import gzip
import json
import re
import shlex
from html.parser import HTMLParser
from http import HTTPStatus

import httpx
import pytest
from documented import document, operations, resolved
from names import G1, A

NO_SUCH_REQUEST = {400, 401, 405, 406, 408, 415, 422, 431}


class Article:
    """An article of the page, by what a reader sees of it."""

    def __init__(self):
        self.text = ""
        self.verbatim = []
        self.links = set()


class Reader(HTMLParser):
    """The page, with the articles by their ids."""

    def __init__(self, page):
        super().__init__()
        self.articles = {}
        self.ids = []
        self.attributes = []
        self.prose = ""
        self._article = Article()
        self._is_verbatim = 0
        self.feed(page)
        self.close()

    @property
    def tags(self):
        return {tag for tag, _, _ in self.attributes}

    @property
    def links(self):
        return [value for _, name, value in self.attributes if name in ("href", "src", "action")]

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs] or [(tag, "", "")]
        known = dict(attrs)
        self.ids += [known["id"] or ""] if "id" in known else []
        if tag == "article":
            self._article = self.articles[known["id"] or ""] = Article()
        if tag == "a":
            self._article.links.add(known["href"] or "")
        if tag == "pre":
            self._article.verbatim.append("")
        self._is_verbatim += tag in ("pre", "code")

    def handle_endtag(self, tag):
        self._is_verbatim -= tag in ("pre", "code")
        if tag == "article":
            self._article = Article()

    def handle_data(self, data):
        self._article.text += data
        if not self._is_verbatim:
            self.prose += data
        elif self.get_starttag_text() == "<pre>":
            self._article.verbatim[-1] += data


def id_of(thing):
    """Return the end of the id of what a thing refers to."""
    return thing["$ref"].rpartition("/")[2]


def shown(example):
    if isinstance(example, str):
        return example or "(empty)"
    return json.dumps(example, indent=2, ensure_ascii=False)


def missing(article, told):
    """Yield the parts of a body or a response that an article omits."""
    yield from (name for name in told.get("headers", {}) if name not in article.text)
    for media_type, content in told.get("content", {}).items():
        if media_type not in article.text:
            yield media_type
        if shown(content["example"]) not in article.verbatim:
            yield f"the example as {media_type}"
        if "$ref" not in content["schema"]:
            yield from missing_fields(article, content["schema"])
        elif f"#schema-{id_of(content['schema'])}" not in article.links:
            yield content["schema"]["$ref"]


def missing_fields(article, schema):
    for name, field in schema.get("properties", {}).items():
        if name not in article.text or flat(field.get("description", "")) not in flat(article.text):
            yield name


def flat(text):
    """Return a text without its marks, and with single spaces."""
    return " ".join(re.sub(r"\*\*|`", "", text).split())


@pytest.fixture
def page(api):
    return Reader(api.get("/docs").text)


def test_the_page_shows_all_of_every_operation_and_its_responses(page):
    found = []
    for (path, method), operation in operations().items():
        name = operation["operationId"]
        article = page.articles.get(name, Article())
        texts = [f"{method.upper()} {path}", operation["summary"], operation.get("description", "")]
        of_path = document()["paths"][path].get("parameters", [])
        for parameter in map(resolved, [*of_path, *operation.get("parameters", [])]):
            texts.append(f"{parameter['name']} in {parameter['in']}")
            texts.append(parameter.get("description", ""))
        lost = [*missing(article, operation.get("requestBody", {}))]
        lost += [] if f"#{name}" in page.links else ["a link to it"]
        for status, response in operation["responses"].items():
            texts.append(f"{status} {HTTPStatus(int(status)).phrase}")
            if "$ref" not in response:
                texts.append(response["description"])
                lost += [f"{status}: {one}" for one in missing(article, response)]
            elif f"#response-{id_of(response)}" not in article.links:
                lost.append(response["$ref"])
        lost += [text for text in texts if flat(text) not in flat(article.text)]
        found += [(name, one) for one in lost]
    assert found == []


def test_the_page_shows_the_shared_responses_and_schemas(page):
    found = []
    components = document()["components"]
    for name, response in components["responses"].items():
        article = page.articles.get(f"response-{name}", Article())
        found += [(name, lost) for lost in missing(article, response)]
        found += [name] if flat(response["description"]) not in flat(article.text) else []
    for name, schema in components["schemas"].items():
        article = page.articles.get(f"schema-{name}", Article())
        found += [(name, lost) for lost in missing_fields(article, schema)]
        found += [name] if flat(schema.get("description", "")) not in flat(article.text) else []
        for limit in [schema.get("pattern", ""), *schema.get("enum", ())]:
            found += [(name, limit)] if limit not in article.text else []
    assert found == []


def test_the_page_has_no_script_and_nothing_from_elsewhere(api):
    reply = api.get("/docs")
    page = Reader(reply.text)
    assert page.tags.isdisjoint({"script", "style", "iframe", "object", "embed", "form", "base"})
    names = {name for _, name, _ in page.attributes}
    assert {name for name in names if name.startswith("on") or name == "style"} == set()
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "unsafe" not in policy
    places = {link for link in page.links if not link.startswith("#")}
    assert {"/openapi.json", "/docs/openpodcast.json", "/docs/gpodder.json"} < places
    for place in places:
        assert place.startswith("/"), place
        assert api.get(place, follow_redirects=True).status_code == 200, place


def test_each_anchor_of_the_page_is_there_once_and_no_mark_of_markdown(page):
    assert len(set(page.ids)) == len(page.ids)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert re.findall(r"`|\*\*|\]\(", page.prose) == []


def test_the_page_is_sent_by_gzip_and_once(api):
    with api.stream("GET", "/docs", headers={"Accept-Encoding": "identity"}) as reply:
        plain, tag = b"".join(reply.iter_raw()), reply.headers["ETag"]
        assert int(reply.headers["Content-Length"]) == len(plain)
    with api.stream("GET", "/v1/docs", headers={"Accept-Encoding": "gzip"}) as reply:
        coded = b"".join(reply.iter_raw())
        assert (reply.headers["Content-Encoding"], reply.headers["ETag"]) == ("gzip", f"W/{tag}")
    assert gzip.decompress(coded) == plain
    assert len(coded) < 32_768
    for known in (tag, f"W/{tag}"):
        reply = api.get("/docs", headers={"If-None-Match": known})
        assert (reply.status_code, reply.content) == (304, b"")
    assert api.get("/docs", headers={"If-None-Match": '"other"'}).status_code == 200


def test_each_curl_line_of_the_page_is_answered_as_documented(feedkeep):
    name = feedkeep.new_account()
    with feedkeep.client(name) as client:
        client.post("/subscriptions", json={"subscriptions": [{"feed_url": A, "guid": G1}]})
    with httpx.Client(base_url=feedkeep.base_url) as client:
        page = Reader(client.get("/docs").text)
        values = {"NAME": name, "TOKEN": feedkeep.new_token(name), "FEEDKEEP": feedkeep.base_url}
        found = []
        for (_, method), operation in operations().items():
            lines = page.articles[operation["operationId"]].verbatim
            [line] = [text for text in lines if text.startswith("curl ")]
            request = request_of(line, values)
            assert request.method == method.upper()
            status = client.send(request).status_code
            if status in NO_SUCH_REQUEST or str(status) not in operation["responses"]:
                found.append((line, status))
    assert found == []


def request_of(line, values):
    """Return the request that a curl line sends, in a shell that has these variables."""
    for name, value in values.items():
        line = line.replace(f"${name}", value)
    curl, *words = shlex.split(line.replace("\\\n", " "))
    assert curl == "curl"
    method, headers, body, fields = "", {}, "", {}
    while len(words) > 1:
        option, value, *words = words
        match option:
            case "-X":
                method = value
            case "-H":
                header, _, value = value.partition(": ")
                headers[header] = value
            case "-d":
                body = value
            case "--data-urlencode":
                field, _, value = value.partition("=")
                fields[field] = value
            case _:
                raise AssertionError(option)
    if fields:
        return httpx.Request(method, words[0], headers=headers, data=fields)
    return httpx.Request(method or "GET", words[0], headers=headers, content=body.encode())
