"""Names that can be taken for others are found; names in other scripts are left alone."""

import pytest

from assent.core.text.confusables import (
    confusable_name,
    confusable_path,
    confusable_text,
    skeletons,
)


@pytest.mark.parametrize(
    ("name", "siblings", "reason"),
    [
        ("config.py", [], None),
        ("config.py", ["config.py", "configs.py"], None),
        ("Config.py", ["config.py"], "looks like config.py in the same folder"),
        ("conf1g.py", ["config.py"], None),
        ("filel.txt", ["file1.txt"], "looks like file1.txt in the same folder"),
        ("fiIe.txt", ["file.txt"], "looks like file.txt in the same folder"),
        ("l0g", ["log", "1og"], "looks like log in the same folder"),
        ("all.py", ["ail.py"], None),
        ("index.py", ["Index.py"], "looks like Index.py in the same folder"),
        ("config.py ", ["config.py"], "looks like config.py in the same folder"),
        ("con\u200bfig.py", ["config.py"], "looks like config.py in the same folder"),
        ("a\u2010b", ["a-b"], "looks like a-b in the same folder"),
        ("cafe\u0301", ["caf\u00e9"], "looks like café in the same folder"),
        ("с\u043enfig.py", [], "mixes Cyrillic and Latin letters"),
        ("\u0441\u043e\u0440\u0443.py", [], "can be mistaken for copy.py"),
        ("\uff46\uff49le", [], "mixes Fullwidth and Latin letters"),
        ("\uff46\uff49\uff4c\uff45", [], "can be mistaken for file"),
        ("\ufb01le", [], "can be mistaken for file"),
        ("\u13aa\u13da", [], "can be mistaken for as"),
        ("p\u0251ypal", [], "can be mistaken for paypal"),
        ("etc\u2215passwd", [], "has a character that looks like a slash"),
        ("\u043e\u0442\u0447\u0435\u0442 \u0441 \u0444\u043e\u0442\u043e.txt", [], None),
        ("\u03b4\u03b9\u03ba\u03c4\u03c5\u03bf.txt", [], None),
        ("\u6f22\u5b57\u30e1\u30e2notes.txt", [], None),
        ("r\u00e9sum\u00e9-\u043f\u0440\u0438\u0432\u0435\u0442.doc", [], None),
        ("x\u00b2.txt", [], None),
        ("Bericht \u2013 2026.txt", [], None),
    ],
)
def test_names(name: str, siblings: list[str], reason: str | None) -> None:
    beside = skeletons([sibling.encode() for sibling in siblings])
    assert confusable_name(name.encode(), beside) == reason


def test_bytes_that_are_no_text_are_compared_as_they_are() -> None:
    beside = skeletons([b"caf\xe9", b"caf\xe8"])
    assert confusable_name(b"caf\xe9", beside) is None
    assert confusable_name(b"CAF\xe9", beside) == "looks like caf\\xe9 in the same folder"


def test_folders_of_a_path_are_looked_at_too() -> None:
    assert confusable_path(b"src/app.py") is None
    assert confusable_path("s\u0433\u0441/app.py".encode()) == "mixes Cyrillic and Latin letters"
    assert confusable_path(b"src/App.py", skeletons([b"app.py"])) == (
        "looks like app.py in the same folder"
    )
    above = "looks like src in the same folder"
    assert confusable_path(b"Src/app.py", folders=above) == above


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("See https://gith\u0443b.com/x.", "mixes Cyrillic and Latin letters"),
        ("See https://\u043e\u0441\u0430.ru/x.", "can be mistaken for oca.ru"),
        ("https://github.com\u2215evil.org/", "has a character that looks like a slash"),
        ("pip install requ\u0435sts==2.0", "mixes Cyrillic and Latin letters"),
        ("user_n\u0430me = 1", "mixes Cyrillic and Latin letters"),
        ("\uff47oogle", "mixes Fullwidth and Latin letters"),
        ("run `\u0441\u043e\u0440\u0443` first", "can be mistaken for copy"),
        ("see \u0441\u043e\u0440\u0443.py", "can be mistaken for copy.py"),
        ("see src/\u0441\u043e\u0440\u0443/x.py", "can be mistaken for copy"),
        ("say '\\n\u0441\u043eke'", "mixes Cyrillic and Latin letters"),
        ("Сок и рука, оса; т.е. сору.", None),
        ("СССР, и/или, USA/США, IT-отдел, APIшка", None),
        ("https://почта.рф/сок https://ru.wikipedia.org/wiki/Сок", None),
        ("'\\nсок %sа'", None),
        ("Δελτίο τύπου, μm, Ωm, αx + ρgh", None),
        ("Zoë naïve Öl şişe, kapı", None),
        ("日本語のreadme.mdと漢字／仮名", None),
        ("Tiếng Việt được", None),
        ("all of it is ASCII https://example.org", None),
    ],
)
def test_names_and_addresses_in_a_text(text: str, reason: str | None) -> None:
    assert confusable_text(text) == reason
