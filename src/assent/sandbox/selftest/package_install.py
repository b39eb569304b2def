"""The command that installs a package on this machine, by the package manager that is here."""

import os
from typing import Final

FOLDERS: Final = ("/usr/local/bin", "/usr/bin", "/bin", "/run/current-system/sw/bin")

# By the program that installs: how it is called.
INSTALLERS: Final = {
    "apt-get": "sudo apt install",
    "dnf": "sudo dnf install",
    "pacman": "sudo pacman -S",
    "apk": "sudo apk add",
    "zypper": "sudo zypper install",
}


def install_command(package: str) -> str:
    """Returns the command that installs a package here."""
    for program, command in INSTALLERS.items():
        if any(os.access(f"{folder}/{program}", os.X_OK) for folder in FOLDERS):
            return f"{command} {package}"
    return f"Install {package} with your system's package manager."
