"""System paths: the folders that every program needs to start, and nothing private."""

import os
from fnmatch import fnmatchcase
from typing import Final

ROOTS: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
    "/nix/store", "/gnu/store", "/run/current-system",
)  # fmt: skip

# By name, never the whole: root's payload has uid 0 and could read /etc/shadow.
ETC: Final = (
    # users, hosts and names of things
    "passwd", "group", "nsswitch.conf", "hostname", "hosts", "host.conf", "networks", "services",
    "protocols", "rpc", "ethertypes", "shells", "login.defs",
    # the loader, and links that stand for programs
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld-musl-*.path", "alternatives", "static",
    "profiles/per-user",
    # which system this is, where and in which language
    "os-release", "lsb-release", "debian_version", "*-release", "issue", "localtime", "timezone",
    "locale.alias", "locale.conf", "locale.gen", "default/locale", "inputrc", "terminfo",
    # kinds of files
    "mime.types", "magic", "magic.mime", "fonts", "papersize",
    # public certificates and what the libraries that use them expect
    "ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf",
    "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "pki/ca-trust/extracted",
    "pki/java", "crypto-policies",
    # languages
    "java-*-openjdk", "python3", "python3.*", "perl",
)  # fmt: skip

# Programs found here are the machine's. No sbin: nothing there only reads.
PROGRAMS: Final = (b"/usr/local/bin", b"/usr/bin", b"/bin", b"/run/current-system/sw/bin")


def system_paths(etc: str = "/etc") -> list[bytes]:
    """Lists what is shown of the system, as far as it may exist."""
    listed = [f"{etc}/{name}" for name in ETC if "*" not in name]
    patterns = [name for name in ETC if "*" in name]
    found = [
        f"{etc}/{name}"
        for name in _names(etc)
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    ]
    return [os.fsencode(path) for path in (*ROOTS, *listed, *found)]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
