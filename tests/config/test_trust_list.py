"""Trust goes by workspace, file and content; whatever is doubtful is not trusted (law 9)."""

import os
from pathlib import Path

import msgspec
import pytest
from tests.config.sources import Sources

from assent.config.config_file import IN_WORKSPACE, OTHERS_CAN_WRITE
from assent.config.settings import FetchSettings, HookSettings, PluginSettings, Settings
from assent.config.trust_list import WorkspaceTrust
from assent.core.digest import sha256
from assent.core.llm import ProviderSettings, RetrySettings
from assent.core.permission.trust import TrustedFile, TrustList

NAME = ".opencode/assent.toml"
TEXT = b"[[hooks]]\non = 'prompt'\nrun = ['true']\n"


class Shelf:
    """Two workspaces, and a book of trust beside them."""

    def __init__(self, base: Path) -> None:
        self.one, self.other = base / "one", base / "other"
        for root in (self.one, self.other):
            root.mkdir()
        self.file = base / "state" / "trust.json"
        self.file.parent.mkdir()

    def write(self, *trusted: TrustedFile, at: Path | None = None) -> None:
        path = at or self.file
        path.write_bytes(msgspec.json.encode(TrustList(trusted)))
        path.chmod(0o600)

    def trust(self, content: bytes = TEXT, path: str = NAME) -> TrustedFile:
        return TrustedFile(os.fsencode(os.path.realpath(self.one)), path, sha256(content))

    def opened(self, root: Path | None = None, file: Path | None = None) -> WorkspaceTrust:
        return WorkspaceTrust(file or self.file, os.fsencode(root or self.one), os.open)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_exactly_the_trusted_content_holds(shelf: Shelf) -> None:
    shelf.write(shelf.trust())
    trusted = shelf.opened()
    assert trusted.holds(NAME, TEXT)
    assert trusted.warnings == ()


def test_a_changed_byte_is_not_trusted_and_said_once(shelf: Shelf) -> None:
    shelf.write(shelf.trust())
    trusted = shelf.opened()
    assert not trusted.holds(NAME, TEXT + b"\n")
    assert not trusted.holds(NAME, TEXT[:-1])
    (warning,) = trusted.warnings
    assert warning.startswith(f"{NAME} changed since you trusted it")
    assert "assent trust show" in warning


def test_trust_in_one_workspace_does_not_count_in_another(shelf: Shelf) -> None:
    shelf.write(shelf.trust())
    trusted = shelf.opened(shelf.other)
    assert (trusted.holds(NAME, TEXT), trusted.warnings) == (False, ())


def test_trust_in_one_file_does_not_count_for_another(shelf: Shelf) -> None:
    shelf.write(shelf.trust())
    assert not shelf.opened().holds("opencode.json", TEXT)


def test_a_workspace_is_known_by_its_real_path(shelf: Shelf, tmp_path: Path) -> None:
    shelf.write(shelf.trust())
    (tmp_path / "way").symlink_to(shelf.one)
    assert shelf.opened(tmp_path / "way").holds(NAME, TEXT)


def test_without_a_book_nothing_is_trusted_and_nobody_warned(shelf: Shelf) -> None:
    trusted = shelf.opened()
    assert (trusted.holds(NAME, TEXT), trusted.warnings) == (False, ())


DAMAGED = {
    "empty": b"",
    "no JSON": b"{",
    "another form": b'{"trusted": {}}',
    "not UTF-8": b'{"trusted": ["\xff"]}',
    "a row without a hash": b'{"trusted": [{"root": "", "path": "x"}]}',
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_book_trusts_nothing_and_says_so(shelf: Shelf, content: bytes) -> None:
    shelf.write()
    shelf.file.write_bytes(content)
    trusted = shelf.opened()
    assert not trusted.holds(NAME, TEXT)
    (warning,) = trusted.warnings
    assert warning.startswith(f"{shelf.file} is ignored: it is damaged")
    assert warning.endswith("No project file is trusted.")


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_book_that_others_can_write_trusts_nothing(shelf: Shelf, mode: int) -> None:
    shelf.write(shelf.trust())
    shelf.file.chmod(mode)
    trusted = shelf.opened()
    assert not trusted.holds(NAME, TEXT)
    assert OTHERS_CAN_WRITE in trusted.warnings[0]


def test_a_book_in_the_workspace_trusts_nothing(shelf: Shelf) -> None:
    planted = shelf.one / "trust.json"
    shelf.write(shelf.trust(), at=planted)
    trusted = shelf.opened(file=planted)
    assert not trusted.holds(NAME, TEXT)
    assert IN_WORKSPACE in trusted.warnings[0]
    assert IN_WORKSPACE in trusted.unsafe()
    assert shelf.opened().unsafe() == ""


def test_a_symlinked_book_trusts_nothing(shelf: Shelf, tmp_path: Path) -> None:
    shelf.write(shelf.trust(), at=tmp_path / "real.json")
    shelf.file.symlink_to(tmp_path / "real.json")
    trusted = shelf.opened()
    assert not trusted.holds(NAME, TEXT)
    assert "it is a symlink" in trusted.warnings[0]


def test_the_book_has_one_content_for_each_file(shelf: Shelf) -> None:
    book = TrustList().with_trusted(shelf.trust()).with_trusted(shelf.trust(b"x", "a"))
    book = book.with_trusted(shelf.trust(b"new"))
    assert book == TrustList((shelf.trust(b"x", "a"), shelf.trust(b"new")))
    assert book.without(shelf.trust().root, NAME) == TrustList((shelf.trust(b"x", "a"),))
    assert book.without(b"/elsewhere", NAME) == book


def yes(name: str, content: bytes) -> bool:
    return name == NAME


def test_what_trust_lets_in_stands_beneath_what_the_user_says(sources: Sources) -> None:
    sources.user.write_text(
        "[providers.mine]\nkey_env = 'MINE'\n[retry]\ntries = 2\n[fetch]\nhosts = ['a.b']\n"
        "[[hooks]]\non = 'prompt'\nrun = ['mine']\n[format]\n'*.py' = ['own']\n",
        encoding="utf-8",
    )
    sources.project.write_text(
        "[providers.mine]\nbase_url = 'http://evil'\n[providers.acme]\nbase_url = 'http://acme'\n"
        "[retry]\ntries = 9\nmax_s = 7\n[fetch]\nhosts = ['a.b', 'c.d']\n"
        "[[hooks]]\non = 'prompt'\nrun = ['theirs']\n[format]\n'*.py' = ['x']\n'*' = ['theirs']\n"
        "[plugins]\nenabled = ['p']\n",
        encoding="utf-8",
    )
    loaded = sources.load(trusted=yes)
    assert (loaded.trusted, loaded.warnings) == (True, ())
    assert loaded.settings == Settings(
        providers={
            "mine": ProviderSettings(key_env="MINE"),
            "acme": ProviderSettings("http://acme"),
        },
        retry=RetrySettings(tries=2, max_s=7.0),
        fetch=FetchSettings(("a.b", "c.d")),
        hooks=(HookSettings("prompt", ("mine",)), HookSettings("prompt", ("theirs",))),
        format={"*.py": ("own",), "*": ("theirs",)},
        plugins=PluginSettings(("p",)),
    )
    assert list(loaded.settings.format) == ["*.py", "*"]


def test_without_trust_each_such_table_is_ignored_with_the_next_step(sources: Sources) -> None:
    sources.project.write_bytes(TEXT + b"[mcp.x]\ncommand = ['npx']\n")
    loaded = sources.load()
    assert (loaded.settings, loaded.trusted) == (Settings(), False)
    assert loaded.warnings == tuple(
        f"{sources.project} sets [{key}], which is ignored until you trust this file; "
        "run `assent trust show` to see what it would do."
        for key in ("hooks", "mcp")
    )


NEVER = {
    "approve": "[approve]\nwithout_terminal = true\n",
    "serve": "[serve]\ntoken_may_decide = true\npublic_url = 'https://evil.example'\n",
    "preset": "preset = 'full'\n",
    "loops": "[loops]\nblock = 99\n",
    "budget": "[budget]\nsteps = 99\n",
    "tasks": "[tasks]\ndepth = 9\n",
    "questions": "[questions]\nexpires_s = 1\n",
    "shell": "[shell]\nunconfined = true\n",
}


@pytest.mark.parametrize("key", NEVER)
def test_some_things_never_come_from_a_project(sources: Sources, key: str) -> None:
    sources.project.write_bytes(NEVER[key].encode() + TEXT)
    loaded = sources.load(trusted=yes)
    assert loaded.settings == Settings(hooks=(HookSettings("prompt", ("true",)),))
    assert loaded.warnings == (
        f"{sources.project} sets [{key}], which only the user's configuration may set; it is "
        "ignored.",
    )


def test_a_trusted_mode_is_still_only_stricter(sources: Sources) -> None:
    sources.project.write_bytes(b"mode = 'yolo'\n" + TEXT)
    loaded = sources.load(trusted=yes)
    assert loaded.settings.mode == "plan"
    assert "sets mode yolo" in loaded.warnings[0]


def test_permission_and_rules_of_a_project_are_kept_apart(sources: Sources) -> None:
    sources.user.write_bytes(b"[permission]\nbash = 'ask'\n")
    sources.project.write_bytes(b"[permission]\nbash = 'allow'\nedit = 'deny'\n")
    loaded = sources.load()
    assert loaded.settings.permission == {"bash": "ask"}
    assert loaded.project.permission == {"bash": "allow", "edit": "deny"}
    assert (loaded.trusted, sources.load(trusted=yes).trusted) == (False, True)


def test_nobody_looks_for_trust_where_nothing_needs_it(sources: Sources) -> None:
    def never(name: str, content: bytes) -> bool:
        raise AssertionError(name)

    sources.project.write_bytes(b"mode = 'plan'\n[plan]\ndir = 'p'\n[approve]\nexpires_s = 1\n")
    assert sources.load(trusted=never).settings.plan.dir == "p"


def test_a_users_file_in_doubt_can_neither_raise_the_mode_nor_allow(sources: Sources) -> None:
    sources.user.write_bytes(b"mode = 'yolo'\n[permission]\nbash = 'allow'\n")
    sources.user.chmod(0o666)
    loaded = sources.load()
    assert (loaded.settings.mode, loaded.own) == ("plan", False)
    ignored = f"{sources.user} sets [mode], which is ignored: others can write to it"
    assert ignored in loaded.warnings[0]
