"""File attributes besides content and mode, and which of them a replacement can keep."""

import errno
import os

import msgspec

from assent.executor.disk import Disk

_ACL = "system.posix_acl_access"
_LABEL = "security.selinux"  # given anew by the system's policy, so it is neither copied nor lost


class OwnershipRights(msgspec.Struct, frozen=True):
    """What this process may give a file."""

    user: int
    groups: frozenset[int]

    @property
    def root(self) -> bool:
        return self.user == 0

    def carries(self, attribute: str) -> bool:
        """Tells whether an extended attribute can be given to another file."""
        if attribute.startswith("user.") or attribute == _ACL:
            return True
        return self.root and attribute.startswith(("security.", "trusted."))


def process_rights() -> OwnershipRights:
    """Returns the rights of this process."""
    return OwnershipRights(os.geteuid(), frozenset((os.getegid(), *os.getgroups())))


def lost_attributes(
    found: os.stat_result, attributes: list[str], rights: OwnershipRights
) -> tuple[str, ...]:
    """Names what a file that takes this one's place cannot take over."""
    lost = []
    if not rights.root and found.st_uid != rights.user:
        lost.append("owner")
    if not rights.root and found.st_gid not in rights.groups:
        lost.append("group")
    lost += [name for name in attributes if name != _LABEL and not rights.carries(name)]
    return tuple(lost)


def new_owner(
    found: os.stat_result, made: os.stat_result, rights: OwnershipRights
) -> tuple[int, int] | None:
    """Returns user and group to give to the made file, -1 to leave one, None if all is well."""
    user = group = -1
    if found.st_uid != made.st_uid and rights.root:
        user = found.st_uid
    if found.st_gid != made.st_gid and (rights.root or found.st_gid in rights.groups):
        group = found.st_gid
    return None if user == group == -1 else (user, group)


def attributes_of(disk: Disk, fd: int) -> list[str]:
    """Lists a file's extended attributes; none where the file system has none."""
    try:
        return disk.list_xattrs(fd)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return []
        raise


def has_no_attributes(disk: Disk, name: bytes, at: int) -> bool:
    """Tells quickly of most files that they have no extended attribute; False: open it and see."""
    try:
        return not disk.list_xattrs_of(name, at)
    except OSError:
        return False


def copy_attributes(disk: Disk, source: int, target: int, rights: OwnershipRights) -> bool:
    """Copies the extended attributes that can be copied; tells whether there were any."""
    found = attributes_of(disk, source)
    carried = [name for name in found if name != _LABEL and rights.carries(name)]
    for name in carried:
        disk.set_xattr(target, name, disk.get_xattr(source, name))
    return bool(carried)
