"""The JSON that frameworks make of a value with pydantic, for their models to read."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic_core import PydanticSerializationError

_any: TypeAdapter[Any] = TypeAdapter(Any, config=ConfigDict(ser_json_bytes="utf8"))
_any_bytes: TypeAdapter[Any] = TypeAdapter(Any, config=ConfigDict(ser_json_bytes="base64"))


def json_of(value: Any) -> Any:
    """Returns it by its aliases. Bytes are their text if all are, so that the text can be redacted; else base64."""
    try:
        return _any.dump_python(value, mode="json", by_alias=True)
    except (PydanticSerializationError, UnicodeDecodeError):
        return _any_bytes.dump_python(value, mode="json", by_alias=True)
