"""Short ways to send the usual requests of the contract tests."""

import base64


def basic(name, password, encoding="utf-8"):
    return "Basic " + base64.b64encode(f"{name}:{password}".encode(encoding)).decode()


def told(reply, status=200):
    """Return the JSON of a reply, which has to have a status."""
    assert reply.status_code == status, reply.text
    return reply.json()


def get(api, guid):
    return told(api.get(f"/subscriptions/{guid}"))


def status(api, guid):
    return api.get(f"/subscriptions/{guid}").status_code


def patch(api, guid, **fields):
    return told(api.patch(f"/subscriptions/{guid}", json=fields))


def refused(api, guid, **fields):
    message = told(api.patch(f"/subscriptions/{guid}", json=fields), 405)["message"]
    assert message.startswith("The input could not be validated. ")
    return message


def delete(api, guid):
    return told(api.delete(f"/subscriptions/{guid}"), 202)


def entries(api, **query):
    return told(api.get("/subscriptions", params=query))["subscriptions"]


def post(api, *urls):
    """Subscribe to feeds; return the reply."""
    return api.post("/subscriptions", json={"subscriptions": [{"feed_url": url} for url in urls]})
