"""Forms of pages for tests: read and sent as a browser without script does it."""

import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urlencode

from tests.web.harness import FORM, Client, Reply


class Form:
    """A form as it stands on a page."""

    def __init__(self, action: str, id: str = "") -> None:
        self.action = action
        self.id = id
        self.fields: dict[str, str] = {}
        self.buttons: list[tuple[str, str]] = []


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        at = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(at.get("action", ""), at.get("id", "")))
        elif tag == "input" and self.forms and at.get("type") != "checkbox":
            self.forms[-1].fields[at["name"]] = at.get("value", "")
        elif tag == "button" and self.forms:
            self.forms[-1].buttons.append((at.get("name", ""), at.get("value", "")))
        elif tag == "textarea" and self.forms:
            self._area = at["name"]
            self.forms[-1].fields[self._area] = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.forms[-1].fields[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""


class Reader:
    """A person with a browser that runs no script: reads pages and sends their forms."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.html = ""
        self.status = 0

    def open(self, path: str, status: int = 200) -> str:
        """Opens a page, and those that it leads on to."""
        reply = self.client.request("GET", path)
        for _ in range(3):
            if reply.status != 303:
                break
            reply = self.client.request("GET", reply.headers["location"].partition("#")[0])
        return self._read(reply, status)

    def send(self, action: str, status: int = 200, **fields: str) -> str:
        """Fills a form of the page that is open, sends it, and follows where it leads.

        `action` is the end of its action, or its id after a `#`.
        """
        reader = _Reader()
        reader.feed(self.html)
        found = [
            form
            for form in reader.forms
            if (f"#{form.id}" == action if action[0] == "#" else form.action.endswith(action))
        ]
        assert found, (action, [form.action for form in reader.forms])
        chosen = {**found[0].fields, **fields}
        reply = self.client.request(
            "POST", found[0].action, raw=urlencode(chosen).encode(), headers={"content-type": FORM}
        )
        if reply.status == 303:
            return self.open(reply.headers["location"].partition("#")[0], status)
        return self._read(reply, status)

    @property
    def text(self) -> str:
        """What the page says, without its tags."""
        return unescape(re.sub(r"<[^>]*>", "", self.html))

    def _read(self, reply: Reply, status: int) -> str:
        self.html = reply.body.decode()
        self.status = reply.status
        assert reply.status == status, (reply.status, self.text[-600:])
        return self.html
