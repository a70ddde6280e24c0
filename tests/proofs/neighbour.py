"""How long a service takes for an account that asks little, measured in a process of its own.

It is run as a program, with an address and a token: it asks until its input ends, and then writes
the seconds that each reply took.
"""

import json
import sys
import threading
import time
from http.client import HTTPConnection
from itertools import cycle

PAUSE_SECONDS = 0.005
"""Between a reply and the next request, so that the machine is not busy with these alone."""

Request = tuple[str, str, str]


def is_alive():
    """Yield how to ask whether the service lives."""
    return cycle([("GET", "/livez", "")])


def own_list():
    """Yield requests that read and change a list of ten feeds."""
    for number in cycle(range(10)):
        items = [{"feed_url": f"https://neighbour.example/{number}"}]
        yield "POST", "/subscriptions", json.dumps({"subscriptions": items})
        yield "GET", "/subscriptions", ""


class Neighbour:
    """Asks one thing after the other on each of its connections."""

    def __init__(self, address, token):
        self._address = address
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._ends = threading.Event()

    def measure(self):
        """Ask until the input ends; return the seconds that replies took."""
        took = {"alive": [], "own": []}
        asking = {"alive": is_alive(), "own": own_list()}
        threads = [
            threading.Thread(target=self._ask, args=(asking[kind], took[kind])) for kind in took
        ]
        for thread in threads:
            thread.start()
        sys.stdin.read()
        self._ends.set()
        for thread in threads:
            thread.join()
        return took

    def _ask(self, requests, took):
        connection = HTTPConnection(self._address, timeout=300)
        while not self._ends.wait(PAUSE_SECONDS):
            method, path, body = next(requests)
            began = time.monotonic()
            connection.request(method, path, body or None, self._headers)
            reply = connection.getresponse()
            reply.read()
            took.append(time.monotonic() - began)
            assert reply.status == 200, (method, path, reply.status)
        connection.close()


if __name__ == "__main__":
    json.dump(Neighbour(*sys.argv[1:]).measure(), sys.stdout)
