"""Mounts of the machine are told from mounts of files."""

import os
from pathlib import Path

import msgspec

from assent.sandbox.profile.file_system import Mount, local_devices, mounts, read_table

TABLE = rb"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
31 22 0:44 / /home/ada/my\040root/proc rw shared:7 master:2 - proc none rw
32 22 0:45 / /home/ada/data rw - tmpfs tmpfs rw
34 22 0:47 / /srv/dev rw - devtmpfs udev rw
"""


def test_the_machines_mounts_are_told_from_those_of_files() -> None:
    assert mounts(TABLE) == [
        Mount(b"/", False, os.makedev(8, 1), b"ext4"),
        Mount(b"/home/ada/my root/proc", True, os.makedev(0, 44), b"proc"),
        Mount(b"/home/ada/data", False, os.makedev(0, 45), b"tmpfs"),
        Mount(b"/srv/dev", True, os.makedev(0, 47), b"devtmpfs"),
    ]


def test_an_empty_table_has_none() -> None:
    assert mounts(b"") == []
    assert local_devices(()) == frozenset()


def test_only_file_systems_whose_times_can_be_relied_on_are_local(tmp_path: Path) -> None:
    assert local_devices(mounts(TABLE)) == {os.makedev(8, 1), os.makedev(0, 45)}
    disk = mounts(TABLE)[0]
    for kind in (b"nfs4", b"cifs", b"9p", b"virtiofs", b"fuse.sshfs", b"vfat", b"exfat", b"ntfs3"):
        assert local_devices([msgspec.structs.replace(disk, kind=kind)]) == frozenset()
    point = os.fsencode(tmp_path)  # a subvolume has a device that the table does not list
    found = local_devices([msgspec.structs.replace(disk, point=point, kind=b"btrfs")])
    assert found == {os.makedev(8, 1), tmp_path.stat().st_dev}


def test_the_root_of_this_machine_is_in_its_table() -> None:
    assert any(mount.device == os.stat("/").st_dev for mount in mounts(read_table()))
