"""
Reads a value once, and makes two things of it: its JSON, which the sidecar decides on, and a copy, which the tool gets.
The copy holds nothing that the JSON does not show. What has no form in JSON raises `NoForm`.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from pathlib import PurePath
from typing import Any, NamedTuple, TypeAlias, cast
from uuid import UUID

from ._denied import NoForm

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

depth_max = 64
"""The same as `bounds.jsonDepth` of the sidecar."""


class Form(NamedTuple):
    """`json` is what the sidecar is shown of a value, and `copy` is what a tool gets in its place."""

    json: Json
    copy: Any


def form_of(value: object, path: str = "input") -> Form:
    """Returns the two forms of a value. Raises `NoForm` for any value that cannot be read as JSON."""
    try:
        return _form(value, path, 1, frozenset())
    except NoForm:
        raise
    except Exception as error:
        # The code of the value itself failed, or another thread changed it while it was read.
        raise NoForm(f"{path} cannot be read: {type(error).__name__}") from None


def json_text(value: Json) -> bytes:
    """Returns compact JSON in UTF-8. Raises `ValueError` if the value is not JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _form(value: Any, path: str, depth: int, above: frozenset[int]) -> Form:
    if value is None or isinstance(value, bool):
        return Form(value, value)
    scalar = _scalar(value, path)
    if scalar is not None:
        return scalar
    if id(value) in above:
        raise NoForm(f"{path} contains itself")
    if depth > depth_max:
        raise NoForm(f"{path} is nested deeper than {depth_max} levels")
    inside = above | {id(value)}

    def read(item: object, at: str) -> Form:
        return _form(item, f"{path}{at}", depth + 1, inside)

    if isinstance(value, dict):
        return _mapping(cast("dict[object, object]", value).items(), path, read)
    if isinstance(value, (list, tuple)):
        return _sequence(cast("list[object] | tuple[object, ...]", value), read)
    if isinstance(value, (set, frozenset)):
        return _set(cast("set[object] | frozenset[object]", value), read)
    return _fields(value, path, read)


_Read: TypeAlias = Callable[[object, str], Form]


def _scalar(value: Any, path: str) -> Form | None:
    if isinstance(value, Enum):
        member = _scalar(value.value, path)
        if member is None:
            raise NoForm(f"{path} is an Enum whose value is no text and no number")
        return Form(member.json, value)
    if isinstance(value, str):
        text = str.__str__(value)
        return Form(_text(text, path), text)
    if isinstance(value, int):
        number = int.__int__(value)
        return Form(number, number)
    if isinstance(value, float):
        return _float(float.__float__(value), path)
    if isinstance(value, (bytes, bytearray)):
        return _bytes(value, path)
    if isinstance(value, (datetime, date, time)):
        return Form(value.isoformat(), value)
    if isinstance(value, timedelta):
        return Form(_duration(value), value)
    if isinstance(value, (Decimal, UUID, PurePath, *_addresses)) or _is_url(value):
        return Form(_text(str(value), path), value)
    return None


_addresses = (IPv4Address, IPv6Address, IPv4Network, IPv6Network, IPv4Interface, IPv6Interface)


def _is_url(value: object) -> bool:
    """Whether it is a URL or DSN of pydantic, which is not imported for it."""
    names = {f"{one.__module__}.{one.__name__}" for one in type(value).__mro__}
    return not names.isdisjoint(_urls)


_urls = frozenset(
    ["pydantic.networks._BaseUrl", "pydantic.networks._BaseMultiHostUrl"]
    + [f"pydantic_core._pydantic_core.{name}" for name in ("Url", "MultiHostUrl")]
)


def _duration(value: timedelta) -> str:
    """Returns ISO 8601 text, such as `P1DT2.5S`."""
    if value < timedelta(0):
        return f"-{_duration(-value)}"
    fraction = f".{value.microseconds:06}".rstrip("0") if value.microseconds else ""
    return f"P{value.days}DT{value.seconds}{fraction}S"


def _text(text: str, path: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NoForm(f"{path} contains an unpaired surrogate") from None
    return text


def _float(number: float, path: str) -> Form:
    if not math.isfinite(number):
        raise NoForm(f"{path} is {number}, which JSON does not have")
    return Form(number, number)


def _bytes(value: bytes | bytearray, path: str) -> Form:
    copy = bytes(value) if isinstance(value, bytes) else bytearray(value)
    try:
        return Form(copy.decode(), copy)
    except UnicodeDecodeError:
        raise NoForm(f"{path} is bytes that are not UTF-8 text") from None


def _mapping(items: Iterable[tuple[object, object]], path: str, read: _Read) -> Form:
    shown: dict[str, Json] = {}
    copy: dict[str, Any] = {}
    for key, item in items:
        if not isinstance(key, str) or isinstance(key, Enum):
            raise NoForm(f"{path} has a key of type {type(key).__name__}; keys must be text")
        name = _text(str.__str__(key), f"a key of {path}")
        if name in shown:
            raise NoForm(f"{path} has the key {json.dumps(name)} twice")
        shown[name], copy[name] = read(item, f".{name}")
    return Form(shown, copy)


def _sequence(value: list[object] | tuple[object, ...], read: _Read) -> Form:
    forms = [read(item, f"[{at}]") for at, item in enumerate(value)]
    copies = [form.copy for form in forms]
    return Form([form.json for form in forms], _sequence_like(value, copies))


def _sequence_like(value: object, items: list[Any]) -> Any:
    if not isinstance(value, tuple):
        return items
    make = getattr(type(cast("object", value)), "_make", None)
    return tuple(items) if make is None else make(items)


def _set(value: set[object] | frozenset[object], read: _Read) -> Form:
    # The order of a set differs between processes. An approval is for exactly one input, so the list is sorted.
    forms = sorted((read(item, "{}") for item in value), key=lambda form: json_text(form.json))
    copies: Iterable[Any] = (form.copy for form in forms)
    return Form([form.json for form in forms], set(copies) if isinstance(value, set) else frozenset(copies))


def _fields(value: Any, path: str, read: _Read) -> Form:
    items = _items_of(value)
    if items is None:
        raise NoForm(f"{path} is of type {type(value).__name__}, which has no form in JSON")
    form = _mapping(items, path, read)
    return Form(form.json, _rebuilt(value, form.copy))


def _items_of(value: Any) -> list[tuple[object, object]] | None:
    """Returns the fields of a dataclass or of a pydantic model. None: it is neither."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    fields: object = getattr(_class_of(value), "__pydantic_fields__", None)
    if not isinstance(fields, Mapping):
        return None
    held = cast("dict[object, object]", vars(value))
    extra = cast("dict[object, object]", getattr(value, "__pydantic_extra__", None) or {})
    names = cast("Iterable[object]", fields)
    return [*((name, held[name]) for name in names if name in held), *extra.items()]


def _rebuilt(value: Any, fields: dict[str, Any]) -> Any:
    """Returns another object of the class that has these fields and nothing else. Its `__init__` is not called."""
    if dataclasses.is_dataclass(value):
        return _with_attributes(_class_of(value), fields)
    private = None
    if getattr(_class_of(value), "__pydantic_post_init__", None):
        # It may make private attributes of the fields. What it changes in the fields was not decided.
        first = _model_like(value, deepcopy(fields), None)
        first.model_post_init(None)
        private = first.__pydantic_private__
    return _model_like(value, fields, private)


def _model_like(value: Any, fields: dict[str, Any], private: dict[str, Any] | None) -> Any:
    known = _class_of(value).__pydantic_fields__
    extra = getattr(value, "__pydantic_extra__", None)
    state = {
        "__dict__": {name: item for name, item in fields.items() if name in known},
        "__pydantic_extra__": extra and {name: item for name, item in fields.items() if name not in known},
        "__pydantic_fields_set__": set(value.__pydantic_fields_set__),
        "__pydantic_private__": private,
    }
    return _with_attributes(_class_of(value), state)


def _with_attributes(kind: type[Any], attributes: Mapping[str, Any]) -> Any:
    made: Any = object.__new__(kind)
    for name, item in attributes.items():
        object.__setattr__(made, name, item)
    return made


def _class_of(value: object) -> Any:
    return type(value)


def restored(changed: Json, form: Form) -> Any:
    """
    Returns the copy with what redaction changed in its JSON. Parts that were not changed keep their Python types; a
    changed text stays text, and a changed number or time becomes the text of the mark.
    """
    sent: Json = form.json
    copy: Any = form.copy
    if changed == sent:
        return copy
    if isinstance(changed, str) and isinstance(copy, (bytes, bytearray)):
        return type(copy)(changed.encode())
    if isinstance(changed, dict) and isinstance(sent, dict):
        if type(copy) is dict:
            inner = cast("dict[str, Any]", copy)
            return {name: _restored_item(item, name, sent, inner) for name, item in changed.items()}
        if changed.keys() == sent.keys():
            held = dict(cast("list[tuple[str, Any]]", _items_of(copy)))
            return _rebuilt(copy, {name: restored(changed[name], Form(sent[name], held[name])) for name in held})
    if isinstance(changed, list) and isinstance(sent, list) and len(changed) == len(sent):
        if isinstance(copy, (list, tuple)):
            parts = zip(changed, sent, cast("list[Any]", copy), strict=True)
            return _sequence_like(
                cast("object", copy), [restored(item, Form(before, own)) for item, before, own in parts]
            )
        if isinstance(copy, (set, frozenset)) and all(isinstance(item, str) for item in changed):
            return _class_of(cast("object", copy))(changed)
    if isinstance(changed, str):
        return changed
    raise NoForm(f"redaction changes a {_class_of(cast('object', copy)).__name__} that cannot be put together again")


def _restored_item(item: Json, name: str, sent: dict[str, Json], copy: dict[str, Any]) -> Any:
    return restored(item, Form(sent[name], copy[name])) if name in sent else item


class Failure(NamedTuple):
    """What an exception says, as JSON. `is_whole`: there is nothing else in it that its caller may read."""

    json: dict[str, Json]
    is_whole: bool


def plain_failure(error: BaseException) -> Failure:
    """Returns the text of an exception, of its notes and of those that it was raised from."""
    reading = _Reading()
    return Failure(reading.of(error), reading.is_whole)


class _Reading:
    """Reads an exception, and those that it holds, each once and within bounds."""

    def __init__(self) -> None:
        self.is_whole = True
        self._seen: set[int] = set()

    def of(self, error: BaseException, depth: int = 1) -> dict[str, Json]:
        self._seen.add(id(error))
        fields: dict[str, Json] = {"name": type(error).__name__, "message": self._text(error)}
        try:
            arguments: list[Json] = [self._text(one) for one in error.args]
            if arguments not in ([], [fields["message"]]):
                fields["arguments"] = arguments
            if _is_validation_error(error):
                fields["details"] = json.loads(cast("Any", error).json(include_url=False))
            if notes := self._notes(error):
                fields["notes"] = notes
            for name, linked in (("cause", error.__cause__), ("context", error.__context__)):
                if found := self._held((linked,), depth):
                    fields[name] = found[0]
            if members := self._held(getattr(error, "exceptions", ()), depth):
                fields["errors"] = members
        except Exception:
            # The code of the exception itself failed.
            self.is_whole = False
        return fields

    def _notes(self, error: BaseException) -> list[Json]:
        notes: object = getattr(error, "__notes__", ())
        if not isinstance(notes, (list, tuple)):
            notes = (notes,)
        listed = cast("Sequence[object]", notes)
        self.is_whole &= all(isinstance(note, str) for note in listed)
        return [self._text(note) for note in listed]

    def _held(self, errors: object, depth: int) -> list[Json]:
        found: list[Json] = []
        for one in cast("tuple[object, ...]", errors) if isinstance(errors, tuple) else ():
            if not isinstance(one, BaseException) or id(one) in self._seen:
                continue
            if depth == _failure_depth_max or len(self._seen) == _failures_max:
                self.is_whole = False
                break
            found.append(self.of(one, depth + 1))
        return found

    def _text(self, value: object) -> str:
        """Returns the text of a value. An unpaired surrogate is shown as its escape."""
        try:
            return str(value).encode(errors="backslashreplace").decode()
        except Exception:
            self.is_whole = False
            return f"a {type(value).__name__} that has no text"


_failure_depth_max = 10
_failures_max = 50


def _is_validation_error(error: object) -> bool:
    """Whether it is one of pydantic, whose text is a shortened form of what it holds."""
    return any(one.__module__.startswith("pydantic_core") for one in type(error).__mro__) and hasattr(error, "errors")
