"""
Reads a value once, and makes two things of it: its JSON, which the sidecar decides on, and a copy, which the tool gets.
The copy holds nothing that the JSON does not show. What has no form in JSON raises `NoForm`.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
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
        return _mapping(cast("dict[object, object]", value), path, read)
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
    if isinstance(value, (Decimal, UUID, PurePath)):
        return Form(_text(str(value), path), value)
    return None


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


def _mapping(value: dict[object, object], path: str, read: _Read) -> Form:
    shown: dict[str, Json] = {}
    copy: dict[str, Any] = {}
    for key, item in value.items():
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
    names = _field_names(value)
    if names is None:
        raise NoForm(f"{path} is of type {type(value).__name__}, which has no form in JSON")
    forms = {name: read(getattr(value, name), f".{name}") for name in names}
    copy = _rebuilt(value, {name: form.copy for name, form in forms.items()})
    return Form({name: form.json for name, form in forms.items()}, copy)


def _field_names(value: Any) -> list[str] | None:
    """Returns the fields of a dataclass or of a pydantic model. None: it is neither."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [field.name for field in dataclasses.fields(value)]
    fields: object = getattr(_class_of(value), "__pydantic_fields__", None)
    if not isinstance(fields, Mapping):
        return None
    extra: object = getattr(value, "__pydantic_extra__", None)
    names = [*cast("Mapping[str, object]", fields)]
    return [*names, *cast("Mapping[str, object]", extra)] if isinstance(extra, Mapping) else names


def _rebuilt(value: Any, fields: Mapping[str, Any]) -> Any:
    """Returns another object of the class that has these fields and nothing else. Its `__init__` is not called."""
    if not dataclasses.is_dataclass(value):
        return _class_of(value).model_construct(**fields)
    copy = object.__new__(type(value))
    for name, item in fields.items():
        object.__setattr__(copy, name, item)
    return copy


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
            return _rebuilt(
                copy, {name: restored(item, Form(sent[name], getattr(copy, name))) for name, item in changed.items()}
            )
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


def plain_failure(error: BaseException, depth: int = 0) -> dict[str, Json]:
    """Returns the text of an exception, of its notes and of those that it was raised from, as JSON."""
    fields: dict[str, Json] = {"name": type(error).__name__, "message": _shown(error)}
    if len(error.args) > 1:
        fields["arguments"] = [_shown(one) for one in error.args]
    notes: object = getattr(error, "__notes__", None)
    if isinstance(notes, list):
        fields["notes"] = [_shown(note) for note in cast("list[object]", notes)]
    if depth == _causes_max:
        return fields
    cause = error.__cause__ or error.__context__
    if cause is not None:
        fields["cause"] = plain_failure(cause, depth + 1)
    inner: object = getattr(error, "exceptions", None)
    if isinstance(inner, tuple):
        members = [one for one in cast("tuple[object, ...]", inner) if isinstance(one, BaseException)]
        fields["errors"] = [plain_failure(one, depth + 1) for one in members[:_errors_max]]
    return fields


_causes_max = 4
_errors_max = 20


def _shown(value: object) -> str:
    """Returns the text of a value. An unpaired surrogate is shown as its escape."""
    try:
        return str(value).encode(errors="backslashreplace").decode()
    except Exception:
        return f"a {type(value).__name__} that has no text"
