"""Reads the address of the sidecar and the key. Both are refused early if a request could not be sent as meant."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

standard_sidecar = "http://127.0.0.1:9090"


@dataclass(frozen=True)
class Address:
    """`base`: begins each URL. `socket`: path of a Unix domain socket; None: TCP."""

    base: str
    socket: str | None

    @property
    def shown(self) -> str:
        return self.base if self.socket is None else f"unix:{self.socket}"


def address_from(text: str, *, plaintext: bool) -> Address:
    """Reads `http://host:port`, `https://host:port` or `unix:/path`. Raises `ValueError`."""
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        kind = type(text).__name__
        raise ValueError(f"the sidecar must be a str such as http://host:port or unix:/path, is of type {kind}")
    if text.startswith("unix:"):
        return Address("http://localhost", _socket_path(text.removeprefix("unix:")))
    wanted = f"the sidecar must be http://host:port or unix:/path, is {text!r}"
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError(wanted)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(wanted) from None
    if parts.scheme not in ("http", "https") or not host or parts.path not in ("", "/"):
        raise ValueError(wanted)
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError(wanted)
    if parts.scheme == "http" and not plaintext and not _is_loopback(host):
        raise ValueError(
            f"{text} is not on this machine, and the key would be sent as plain text; "
            "use https, or allow it with plaintext=True or TOLLGATE_ALLOW_PLAINTEXT=true"
        )
    shown = f"[{host}]" if ":" in host else host
    return Address(f"{parts.scheme}://{shown}{'' if port is None else f':{port}'}", None)


def _socket_path(path: str) -> str:
    path = path.removeprefix("//")
    if not path.startswith("/") or "\0" in path:
        raise ValueError("the path of a socket must begin with /, as in unix:/run/tollgate.sock")
    if len(os.fsencode(path)) > _socket_path_max:
        raise ValueError(f"the path of a socket must have at most {_socket_path_max} bytes")
    return path


# Of the systems that have Unix domain sockets, the smallest.
_socket_path_max = 103


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_key_form = re.compile(r"[!-~]{1,512}\Z")


def key_from(text: str | None) -> str:
    """Returns the key. Raises `ValueError`, whose message does not contain it."""
    if text is not None and not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"the key must be a str, is of type {type(text).__name__}")
    if not text:
        raise ValueError("a key is required: set TOLLGATE_KEY, or pass key=")
    if _key_form.match(text) is None:
        raise ValueError("the key must be printable ASCII without blanks and line ends; a file of it may end with one")
    return text
