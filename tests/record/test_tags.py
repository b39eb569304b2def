"""Tags, field names, types and error words of everything stored or sent are those on record."""

import json

from tests.record.tags import COMMAND, RECORD, current, implicit_tags, written

ANEW = f"If that is meant, and what was stored before can still be read, run: {COMMAND}"


def test_what_is_stored_or_sent_has_the_shape_on_record() -> None:
    recorded, found = json.loads(RECORD.read_text("utf-8")), current()
    changed = [part for part in {**recorded, **found} if recorded.get(part) != found.get(part)]
    for part in changed:
        assert found.get(part) == recorded.get(part), f"`{part}` is not as on record. {ANEW}"
    assert RECORD.read_text("utf-8") == written(found), ANEW


def test_every_tag_stands_in_the_class_as_a_word() -> None:
    """A tag that is made from the name of a class would change with it."""
    assert implicit_tags() == []
