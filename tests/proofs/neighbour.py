"""Measure the replies to an account with few requests, in a process of its own.

It is run as a program, with an address and a token: it asks until its input ends, and then writes
the seconds that each reply took.
"""

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from itertools import cycle

PAUSE_SECONDS = 0.005
"""Between a reply and the next request, so that the machine is not busy with these alone."""

ALIVE = cycle([("GET", "/livez", None)])


def own_list():
    for number in cycle(range(10)):
        items = [{"feed_url": f"https://neighbour.example/{number}"}]
        yield "POST", "/subscriptions", json.dumps({"subscriptions": items})
        yield "GET", "/subscriptions", None


def ask(address, token, requests, took, ends):
    """Ask one thing after the other on a connection, until it ends."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection = HTTPConnection(address, timeout=300)
    while not ends.wait(PAUSE_SECONDS):
        method, path, body = next(requests)
        began = time.monotonic()
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        reply.read()
        took.append(time.monotonic() - began)
        assert reply.status == 200, (method, path, reply.status)
    connection.close()


def main(address, token):
    took, ends = {"alive": [], "own": []}, threading.Event()
    with ThreadPoolExecutor() as threads:
        asking = [
            threads.submit(ask, address, token, requests, found, ends)
            for requests, found in zip((ALIVE, own_list()), took.values(), strict=True)
        ]
        sys.stdin.read()
        ends.set()
        for one in asking:
            one.result()
    json.dump(took, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
