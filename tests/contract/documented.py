"""The OpenAPI document, as the tests of it and of its page go through it."""

from functools import cache

from feedkeep.edges import DOCUMENTED
from feedkeep.openpodcast.reference import openapi_document

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}


@cache
def document():
    return openapi_document(DOCUMENTED)


def operations():
    """Return the operations by their path and method."""
    paths = document()["paths"]
    return {
        (path, name): item[name] for path, item in paths.items() for name in METHODS & set(item)
    }


def resolved(thing):
    """Return a thing, or what it refers to."""
    while "$ref" in thing:
        _, _, kind, name = thing["$ref"].split("/")
        thing = document()["components"][kind][name]
    return thing
