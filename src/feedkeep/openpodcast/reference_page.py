"""The content of the reference page: an OpenAPI document prepared for the template.

Supports only the parts of OpenAPI and Markdown that feedkeep's documents use.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape

Node: TypeAlias = Mapping[str, Any]
"""An object of the OpenAPI document."""

_FIRST_ERROR = 400
_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
_CODE = re.compile(r"`([^`]+)`")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_BOUNDS = {
    "minimum": "at least {:,}",
    "maximum": "at most {:,}",
    "maxLength": "at most {:,} characters",
    "minItems": "at least {:,} items",
    "maxItems": "at most {:,} items",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, a header, or a property of an object.

    Attributes:
        place: Location of a parameter, such as "query"; else "".
        type: Type, with links to named schemas.
        bounds: Further limits on the value; may be empty.
    """

    name: str
    place: str
    type: Markup
    bounds: Markup
    is_required: bool
    description: Markup


@dataclass(frozen=True, slots=True)
class Content:
    """A body of one content type.

    Attributes:
        fields: Properties of an unnamed schema; a named schema lists its own.
    """

    media_type: str
    type: Markup
    bounds: Markup
    fields: Sequence[Field]
    example: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A response.

    Attributes:
        id: Anchor of a shared response; else "".
        status: Status code and phrase, such as "200 OK"; the name of a shared response.
    """

    id: str
    status: str
    description: Markup
    headers: Sequence[Field]
    contents: Sequence[Content]

    @property
    def code(self) -> str:
        return self.status.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path.

    Attributes:
        access: Names of the security schemes, any of which suffices; empty if public.
        replies: Successful responses.
        errors: Error responses.
        curl: Command that sends the request, with the shell variables FEEDKEEP, NAME and TOKEN.
    """

    id: str
    method: str
    path: str
    summary: str
    description: Markup
    access: Sequence[str]
    parameters: Sequence[Field]
    contents: Sequence[Content]
    is_body_required: bool
    replies: Sequence[Reply]
    errors: Sequence[Reply]
    curl: str


@dataclass(frozen=True, slots=True)
class Section:
    """The operations of one tag."""

    id: str
    name: str
    description: Markup
    operations: Sequence[Operation]


@dataclass(frozen=True, slots=True)
class Definition:
    """A named schema or security scheme."""

    id: str
    name: str
    type: Markup
    bounds: Markup
    description: Markup
    fields: Sequence[Field]


class ReferencePage:
    """The parts of the page, in the order of the document."""

    def __init__(self, document: Node) -> None:
        self._document = document
        self._components: Mapping[str, Mapping[str, Node]] = document["components"]

    @property
    def description(self) -> Markup:
        return _marked(self._document["info"])

    def sections(self) -> list[Section]:
        """Return the operations, by tag."""
        operations = list(self._operations())
        return [
            Section(
                _anchor(tag["name"]),
                tag["name"],
                _marked(tag),
                [operation for name, operation in operations if name == tag["name"]],
            )
            for tag in self._document["tags"]
        ]

    def shared_replies(self) -> list[Reply]:
        """Return the named responses."""
        return [
            self._reply(f"response-{name}", name, response)
            for name, response in self._components["responses"].items()
        ]

    def schemas(self) -> list[Definition]:
        """Return the named schemas."""
        return [
            Definition(
                f"schema-{name}",
                name,
                _type(schema),
                _bounds(schema),
                _marked(schema),
                _properties(schema),
            )
            for name, schema in self._components["schemas"].items()
        ]

    def access(self) -> list[Definition]:
        """Return the security schemes."""
        none = Markup("")
        return [
            Definition(f"access-{name}", name, none, none, _marked(scheme), [])
            for name, scheme in self._components["securitySchemes"].items()
        ]

    def _operations(self) -> Iterator[tuple[str, Operation]]:
        for path, item in self._document["paths"].items():
            for method, operation in item.items():
                if "responses" in operation:
                    shared = item.get("parameters", [])
                    yield (
                        operation["tags"][0],
                        self._operation(path, method.upper(), operation, shared),
                    )

    def _operation(
        self, path: str, method: str, operation: Node, shared: Sequence[Node]
    ) -> Operation:
        parameters = list(map(self._resolved, [*shared, *operation.get("parameters", [])]))
        body = operation.get("requestBody", {})
        needs = operation.get("security", self._document["security"])
        access = [name for need in needs for name in need]
        responses = [
            (int(status), self._reply_of(status, response))
            for status, response in sorted(operation["responses"].items())
        ]
        return Operation(
            operation["operationId"],
            method,
            path,
            operation["summary"],
            _marked(operation),
            access,
            [_field(one["name"], one) for one in parameters],
            _contents(body),
            body.get("required", False),
            [reply for status, reply in responses if status < _FIRST_ERROR],
            [reply for status, reply in responses if status >= _FIRST_ERROR],
            self._curl(path, method, parameters, body, has_token=not {"token"}.isdisjoint(access)),
        )

    def _reply_of(self, status: str, response: Node) -> Reply:
        anchor = f"response-{_name_of(response)}" if "$ref" in response else ""
        phrase = f"{status} {HTTPStatus(int(status)).phrase}"
        return self._reply(anchor, phrase, self._resolved(response))

    def _reply(self, anchor: str, status: str, response: Node) -> Reply:
        headers = [_field(name, header) for name, header in response.get("headers", {}).items()]
        return Reply(anchor, status, _marked(response), headers, _contents(response))

    def _resolved(self, node: Node) -> Node:
        if "$ref" not in node:
            return node
        kind, name = node["$ref"].split("/")[-2:]
        return self._components[kind][name]

    def _curl(
        self, path: str, method: str, parameters: Sequence[Node], body: Node, *, has_token: bool
    ) -> str:
        query = {}
        for parameter in parameters:
            name, value = parameter["name"], _example_of(parameter)
            if parameter["in"] == "path":
                path = path.replace(f"{{{name}}}", "$NAME" if name == "user" else quote(value))
            elif parameter["in"] == "query" and parameter.get("required"):
                query[name] = value
        options = [f"-X {method}"] if method != "GET" else []
        if has_token:
            options.append('-H "Authorization: Bearer $TOKEN"')
        options += _curl_body(body)
        url = f"{path}?{urlencode(query, safe=':/')}" if query else path
        return "curl " + " \\\n  ".join([*options, f'"$FEEDKEEP{url}"'])


def _curl_body(body: Node) -> list[str]:
    for media_type, content in body.get("content", {}).items():
        example = content["example"]
        if media_type == _FORM:
            fields = (f"{name}={value}" for name, value in example.items())
            return [f"--data-urlencode {shlex.quote(field)}" for field in fields]
        return [
            f'-H "Content-Type: {media_type}"',
            f"-d {shlex.quote(json.dumps(example, ensure_ascii=False))}",
        ]
    return []


def _example_of(parameter: Node) -> str:
    found = parameter.get("example") or parameter["schema"].get("enum", [""])[0]
    return str(found)


def _contents(body: Node) -> list[Content]:
    return [
        Content(
            media_type,
            _type(content["schema"]),
            _bounds(content["schema"]),
            _properties(content["schema"]),
            _written(content["example"]),
        )
        for media_type, content in body.get("content", {}).items()
    ]


def _written(example: object) -> str:
    if isinstance(example, str):
        return example
    return json.dumps(example, indent=2, ensure_ascii=False)


def _properties(schema: Node) -> list[Field]:
    required = schema.get("required", ())
    return [
        Field(name, "", _type(found), _bounds(found), name in required, _marked(found))
        for name, found in schema.get("properties", {}).items()
    ]


def _field(name: str, told: Node) -> Field:
    schema, is_required = told["schema"], told.get("required", False)
    place = told.get("in", "")
    return Field(name, place, _type(schema), _bounds(schema), is_required, _marked(told))


def _type(schema: Node) -> Markup:
    """Render the type of a schema, such as "string (uuid)"."""
    if "$ref" in schema:
        name = _name_of(schema)
        return Markup('<a href="#schema-{0}">{0}</a>').format(name)
    if "anyOf" in schema:
        return Markup(" or ").join(map(_type, schema["anyOf"]))
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "array" in kinds:
        items = Markup("array of {}").format(_type(schema["items"]))
        return Markup(" or ").join([items, *(kind for kind in kinds if kind != "array")])
    text = escape(" or ".join(kinds))
    return Markup("{} ({})").format(text, schema["format"]) if "format" in schema else text


def _bounds(schema: Node) -> Markup:
    """Render the further limits of a schema; may be empty."""
    found = [escape(text.format(schema[key])) for key, text in _BOUNDS.items() if key in schema]
    if "enum" in schema:
        found.append(Markup("one of {}").format(Markup(", ").join(map(_code, schema["enum"]))))
    if "const" in schema:
        found.append(Markup("always {}").format(_code(schema["const"])))
    if "default" in schema:
        found.append(Markup("by default {}").format(_code(schema["default"])))
    if "pattern" in schema:
        found.append(Markup("pattern {}").format(_code(schema["pattern"])))
    return Markup("; ").join(found)


def _code(value: object) -> Markup:
    text = value if isinstance(value, str) else json.dumps(value)
    return Markup("<code>{}</code>").format(text)


def _marked(told: Node) -> Markup:
    """Render a node's description, with paragraphs, bold text and code."""
    paragraphs = told.get("description", "").strip().split("\n\n")
    return Markup("").join(Markup("<p>{}</p>").format(_inline(text)) for text in paragraphs if text)


def _inline(text: str) -> Markup:
    found = _CODE.sub(r"<code>\1</code>", str(escape(text)))
    return Markup(_BOLD.sub(r"<strong>\1</strong>", found))  # noqa: S704 - escaped above


def _name_of(node: Node) -> str:
    name: str = node["$ref"].rpartition("/")[2]
    return name


def _anchor(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower())
