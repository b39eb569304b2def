"""The sandbox: runs programs so that they can look and change nothing."""
