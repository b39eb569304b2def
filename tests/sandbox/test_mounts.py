"""Mounts of the machine are told from mounts of files."""

from assent.sandbox.profile.file_system import Mount, mounts

TABLE = rb"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
31 22 0:44 / /home/ada/my\040root/proc rw shared:7 master:2 - proc none rw
32 22 0:45 / /home/ada/data rw - tmpfs tmpfs rw
34 22 0:47 / /srv/dev rw - devtmpfs udev rw
"""


def test_the_machines_mounts_are_told_from_those_of_files() -> None:
    assert mounts(TABLE) == [
        Mount(b"/", machine=False),
        Mount(b"/home/ada/my root/proc", machine=True),
        Mount(b"/home/ada/data", machine=False),
        Mount(b"/srv/dev", machine=True),
    ]


def test_an_empty_table_has_none() -> None:
    assert mounts(b"") == []
