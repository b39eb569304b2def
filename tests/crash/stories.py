"""The chosen plans: a tree to start with, what is staged, and the tree that must come of it."""

from collections.abc import Callable
from typing import TypeAlias

import msgspec
from tests.crash.trees import Tree, file, folder, link, tree

from assent.core.plan.record import PlanRecord
from assent.planning.drafts import Drafts

Step: TypeAlias = Callable[[Drafts, PlanRecord], object]


class Story(msgspec.Struct, frozen=True):
    """One plan on one tree. `finish` is written by hand, not computed from what is staged."""

    name: str
    start: Tree
    steps: tuple[Step, ...]
    finish: Tree


def write(path: bytes, content: bytes | None, mode: int | None = None) -> Step:
    def step(drafts: Drafts, record: PlanRecord) -> object:
        return drafts.write(record, path, None if content is None else [content], mode)

    return step


def point(path: bytes, target: bytes) -> Step:
    return lambda drafts, record: drafts.link(record, path, target)


def delete(path: bytes) -> Step:
    return lambda drafts, record: drafts.delete(record, path)


def move(path: bytes, to: bytes) -> Step:
    return lambda drafts, record: drafts.move(record, path, to)


# What no plan names: it must stand there untouched in every outcome.
_BYSTANDERS: Tree = {
    b"mine.txt": file(b"not touched\n"),
    b"sub/mine.sh": file(b"#!/bin/sh\n", 0o755),
    b"sub/mine.link": link(b"../mine.txt"),
    b"hollow": folder(0o750),
}
_OLD, _NEW = b"old content\n" * 9, b"new content, and more of it\n" * 9
_ODD = b"caf\xe9 \xff\n%s*.bin"


def _story(name: str, start: Tree, finish: Tree, *steps: Step) -> Story:
    return Story(name, tree({**_BYSTANDERS, **start}), steps, tree({**_BYSTANDERS, **finish}))


STORIES: tuple[Story, ...] = (
    _story("create", {}, {b"a.txt": file(_NEW)}, write(b"a.txt", _NEW)),
    _story(
        "create_deep",
        {},
        {b"x/y/z/a.txt": file(_NEW, 0o600)},
        write(b"x/y/z/a.txt", _NEW, 0o600),
    ),
    _story(
        "create_folder",
        {},
        {b"x/a.txt": file(_NEW), b"x/in/b.sh": file(_OLD, 0o700), b"x/in/c.link": link(b"b.sh")},
        write(b"x/a.txt", _NEW),
        write(b"x/in/b.sh", _OLD, 0o700),
        point(b"x/in/c.link", b"b.sh"),
    ),
    _story(
        "replace",
        {b"sub/a.txt": file(_OLD, 0o640)},
        {b"sub/a.txt": file(_NEW, 0o640)},
        write(b"sub/a.txt", _NEW),
    ),
    _story(
        "chmod",
        {b"tool": file(_OLD)},
        {b"tool": file(_OLD, 0o755)},
        write(b"tool", None, 0o755),
    ),
    _story(
        "links",
        {b"here": link(b"old/target"), b"was_file": file(_OLD)},
        {
            b"here": link(b"new/target"),
            b"was_file": link(b"/nowhere"),
            b"sub/fresh": link(b"../mine.txt"),
        },
        point(b"here", b"new/target"),
        point(b"was_file", b"/nowhere"),
        point(b"sub/fresh", b"../mine.txt"),
    ),
    _story(
        "delete_prune",
        {
            b"gone/a.txt": file(_OLD),
            b"gone/in/deep/b.txt": file(_NEW),
            b"gone/in": folder(0o700),
            b"gone/c.link": link(b"a.txt"),
        },
        {},
        delete(b"gone"),
    ),
    _story(
        "move",
        {b"a.txt": file(_OLD, 0o444)},
        {b"sub/b.txt": file(_OLD, 0o444)},
        move(b"a.txt", b"sub/b.txt"),
    ),
    _story(
        "move_into_new_folder",
        {b"a.txt": file(_OLD), b"a.link": link(b"a.txt")},
        {b"x/y/b.txt": file(_OLD), b"x/b.link": link(b"a.txt")},
        move(b"a.txt", b"x/y/b.txt"),
        move(b"a.link", b"x/b.link"),
    ),
    _story(
        "case_move",
        {b"README": file(_OLD)},
        {b"readme": file(_OLD)},
        move(b"README", b"readme"),
    ),
    _story(
        "file_to_folder",
        {b"thing": file(_OLD)},
        {b"thing/in/it": file(_NEW)},
        delete(b"thing"),
        write(b"thing/in/it", _NEW),
    ),
    _story(
        "folder_to_file",
        {b"thing/in/it": file(_OLD), b"thing/other": file(_NEW), b"thing/in": folder(0o711)},
        {b"thing": file(_NEW)},
        delete(b"thing"),
        write(b"thing", _NEW),
    ),
    _story(
        "odd_bytes",
        {_ODD: file(bytes(range(256))), b"full": file(_OLD)},
        {_ODD: file(bytes(range(255, -1, -1))), b"full": file(b""), b"blank": file(b"")},
        write(_ODD, bytes(range(255, -1, -1))),
        write(b"full", b""),
        write(b"blank", b""),
    ),
    _story(
        "eight_operations",
        {
            b"one": file(_OLD),
            b"two": file(b"two\n"),
            b"three": file(b"three\n"),
            b"pack/four": file(b"four\n"),
            b"pack/five": file(b"five\n", 0o600),
            b"six": link(b"one"),
        },
        {
            b"one": file(_NEW),
            b"two": file(b"two\n", 0o700),
            b"seven/eight/three": file(b"three\n"),
            b"pack": file(b"packed\n"),
            b"six": link(b"two"),
            b"nine": file(b"nine\n"),
        },
        write(b"one", _NEW),
        write(b"two", None, 0o700),
        move(b"three", b"seven/eight/three"),
        delete(b"pack/four"),
        delete(b"pack"),
        write(b"pack", b"packed\n"),
        point(b"six", b"two"),
        write(b"nine", b"nine\n"),
    ),
)
BY_NAME = {story.name: story for story in STORIES}
