"""The form in JSON of what JSON does not have, and what is put together again after redaction."""

from __future__ import annotations

import builtins
import dataclasses
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    PostgresDsn,
    PrivateAttr,
    SecretStr,
    TypeAdapter,
    ValidationError,
)

from tollgate_client._denied import NoForm
from tollgate_client._plain import Form, Json, form_of, json_text, plain_failure, restored


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Text(str):
    def __str__(self) -> str:
        return "another text"


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class Frozen:
    name: str
    parts: list[int]


@dataclass(slots=True)
class Slotted:
    at: date


class Model(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str
    inner: Frozen


moment = datetime(2026, 11, 26, 12, 30, tzinfo=timezone.utc)

forms: list[tuple[Any, Json]] = [
    (None, None),
    (True, True),
    (2**60, 2**60),
    (1.5, 1.5),
    ("é", "é"),
    (Text("text"), "text"),
    (Color.RED, "red"),
    (Level.HIGH, 3),
    (moment, "2026-11-26T12:30:00+00:00"),
    (date(2026, 11, 26), "2026-11-26"),
    (time(12, 30), "12:30:00"),
    (Decimal("1.50"), "1.50"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (PurePosixPath("/etc/hosts"), "/etc/hosts"),
    ("é".encode(), "é"),
    (bytearray(b"a"), "a"),
    ((1, "a"), [1, "a"]),
    (Point(1, 2), [1, 2]),
    ({"b", "a"}, ["a", "b"]),
    (frozenset({2, 1}), [1, 2]),
    (OrderedDict(a=1), {"a": 1}),
    (Frozen("a", [1]), {"name": "a", "parts": [1]}),
    (Slotted(date(2026, 1, 1)), {"at": "2026-01-01"}),
    (Model(name="a", inner=Frozen("b", []), more=1), {"name": "a", "inner": {"name": "b", "parts": []}, "more": 1}),  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
]


@pytest.mark.parametrize(("value", "json"), forms, ids=lambda value: type(value).__name__)
def test_each_documented_type_has_its_form_and_an_equal_copy(value: Any, json: Json) -> None:
    form = form_of(value)
    assert form.json == json
    assert form.copy == (value if not isinstance(value, Text) else "text")
    json_text(form.json)


def cycle() -> list[Any]:
    inner: list[Any] = []
    inner.append({"inner": inner})
    return inner


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


class Rude:
    @property
    def __pydantic_fields__(self) -> dict[str, Any]:
        raise OSError("secret")


@dataclass
class Broken:
    name: str

    def __getattribute__(self, name: str) -> Any:
        if name == "name":
            raise OSError("secret")
        return object.__getattribute__(self, name)


def numbers() -> Iterator[int]:
    yield 1


without: list[tuple[str, Any]] = [
    ("is nan", float("nan")),
    ("is -inf", float("-inf")),
    ("not UTF-8", b"\xff"),
    ("unpaired surrogate", "a\udc00"),
    ("unpaired surrogate", {"\ud800": 1}),
    ("key of type int", {1: 1}),
    ("key of type Color", {Color.RED: 1}),
    ("contains itself", cycle()),
    ("deeper than 64", deep(65)),
    ("type object", object()),
    ("type Fraction", Fraction(1, 2)),
    ("type complex", 1j),
    ("type deque", deque([1])),
    ("type generator", numbers()),
    ("type function", numbers.__class__ and (lambda: 1)),
    ("type type", Frozen),
    ("type SecretStr", SecretStr("x")),
    ("type Rude", Rude()),
    ("cannot be read: OSError", Broken("x")),
]


@pytest.mark.parametrize(("words", "value"), without, ids=[words for words, _ in without])
def test_what_has_no_form_is_an_error_with_its_place(words: str, value: Any) -> None:
    with pytest.raises(NoForm, match=rf"^.*input.*{words}") as caught:
        form_of({"list": [value]})
    assert "secret" not in str(caught.value)


def test_the_largest_depth_has_a_form() -> None:
    assert form_of(deep(64)).json == deep(64)


def test_a_value_that_is_in_two_places_is_no_cycle() -> None:
    shared = [1]
    assert form_of([shared, shared]).json == [[1], [1]]


def test_a_copy_shares_nothing_that_can_change() -> None:
    value = {"a": [1], "b": Frozen("x", [1]), "c": (bytearray(b"a"),), "d": Model(name="a", inner=Frozen("y", [1]))}
    copy = form_of(value).copy
    value["a"].append(2)  # type: ignore[attr-defined]  # pyright: ignore
    value["b"].parts.append(2)  # type: ignore[attr-defined]  # pyright: ignore
    value["c"][0].append(98)  # type: ignore[index]  # pyright: ignore
    value["d"].inner.parts.append(2)  # type: ignore[attr-defined]  # pyright: ignore
    assert copy == {
        "a": [1],
        "b": Frozen("x", [1]),
        "c": (bytearray(b"a"),),
        "d": Model(name="a", inner=Frozen("y", [1])),
    }


def test_a_copy_holds_nothing_that_its_json_does_not_show() -> None:
    value = Frozen("x", [])
    object.__setattr__(value, "hidden", "secret")
    assert vars(form_of(value).copy) == {"name": "x", "parts": []}
    assert dataclasses.is_dataclass(form_of(value).copy)


changed: list[tuple[Any, Json, Any]] = [
    ({"a": moment, "b": "x"}, {"a": "2026-11-26T12:30:00+00:00", "b": "[m]"}, {"a": moment, "b": "[m]"}),
    ([Decimal(1), "x"], ["1", "[m]"], [Decimal(1), "[m]"]),
    (Point(1, 2), ["[m]", 2], Point("[m]", 2)),  # type: ignore[arg-type]  # pyright: ignore
    ({"b", "a"}, ["[m]", "b"], {"[m]", "b"}),
    (b"x", "[m]", b"[m]"),
    (moment, "[m]", "[m]"),
    (Frozen("x", [1]), {"name": "[m]", "parts": [1]}, Frozen("[m]", [1])),
    (Model(name="x", inner=Frozen("b", [])), {"name": "[m]", "inner": {"name": "b", "parts": []}}, None),
    ({"a@b": 1}, {"[m]": 1}, {"[m]": 1}),
]


@pytest.mark.parametrize(("value", "json", "wanted"), changed, ids=[type(value).__name__ for value, _, _ in changed])
def test_what_redaction_changes_is_put_into_the_copy(value: Any, json: Json, wanted: Any) -> None:
    got = restored(json, form_of(value))
    assert got == (wanted if wanted is not None else Model(name="[m]", inner=Frozen("b", [])))


@pytest.mark.parametrize(
    ("value", "json"), [(Frozen("x", []), {"[m]": "x"}), ([1], {"a": 1}), ({1}, [[1]]), ("x", ["x"]), ([1, 2], [1])]
)
def test_a_change_that_does_not_fit_is_an_error(value: Any, json: Json) -> None:
    with pytest.raises(NoForm):
        restored(json, form_of(value))


def test_the_sorted_form_of_a_set_does_not_depend_on_its_order() -> None:
    words = [f"word {at}" for at in range(50)]
    assert form_of(set(words)).json == form_of({*words[::-1]}).json == sorted(words)


class Mute(Exception):
    def __str__(self) -> str:
        raise OSError("secret")


def test_the_texts_of_an_exception_are_all_shown() -> None:
    inner = ValueError("inner", 1)
    error = RuntimeError("outer\udc00")
    error.__cause__ = inner
    error.__notes__ = ["a note"]  # type: ignore[attr-defined]  # pyright: ignore
    assert plain_failure(error).json == {
        "name": "RuntimeError",
        "message": "outer\\udc00",
        "notes": ["a note"],
        "cause": {"name": "ValueError", "message": "('inner', 1)", "arguments": ["inner", "1"]},
    }
    assert plain_failure(error).is_whole
    error.__cause__ = error
    json_text(plain_failure(error).json)


class Falsy(Exception):
    def __len__(self) -> int:
        return 0


class Terse(Exception):
    """Has a text of its own."""

    def __str__(self) -> str:
        return "terse"


def raised(error: BaseException, **links: Any) -> BaseException:
    for name, value in links.items():
        setattr(error, f"__{name}__", value)
    return error


def chain(length: int) -> BaseException:
    error: BaseException = ValueError("bob@corp.io")
    for _ in range(length):
        error = raised(ValueError("outer"), cause=error)
    return error


def invalid() -> BaseException:
    try:
        Numbered.model_validate({"number": "x" * 200 + " bob@corp.io " + "x" * 200})
    except ValidationError as error:
        return error
    raise AssertionError


class Numbered(BaseModel):
    number: int


def group(*members: Exception) -> BaseException:
    made: Any = getattr(builtins, "ExceptionGroup", None)
    return raised(ValueError("group")) if made is None else made("group", members)


hidden: dict[str, BaseException] = {
    "a cause that is false": raised(ValueError("x"), cause=Falsy("bob@corp.io")),
    "a context that is not printed": raised(ValueError("x"), context=KeyError("bob@corp.io"), suppress_context=True),
    "a context behind a cause": raised(ValueError("x"), cause=ValueError("y"), context=ValueError("bob@corp.io")),
    "notes in a tuple": raised(ValueError("x"), notes=("bob@corp.io",)),
    "an argument that a text of its own hides": Terse("bob@corp.io"),
    "the input of a validation": invalid(),
    "a cause of a cause": chain(3),
}


@pytest.mark.parametrize("kind", hidden)
def test_what_an_exception_holds_is_shown(kind: str) -> None:
    failure = plain_failure(hidden[kind])
    assert "bob@corp.io" in json_text(failure.json).decode()
    assert failure.is_whole


class Unnoted(Exception):
    pass


def no_notes(_: object) -> Any:
    raise OSError("secret")


setattr(Unnoted, "__notes__", property(no_notes))  # noqa: B010


beyond: dict[str, BaseException] = {
    "causes": chain(500),
    "members": group(*(ValueError(str(at)) for at in range(500))),
    "no text": Mute(),
    "a note that is no text": raised(ValueError("x"), notes=[object()]),
    "notes of their own": Unnoted(),
}


@pytest.mark.parametrize("kind", [*beyond] if hasattr(builtins, "ExceptionGroup") else ["causes", "no text"])
def test_an_exception_that_cannot_be_shown_whole_says_so(kind: str) -> None:
    failure = plain_failure(beyond[kind])
    assert not failure.is_whole
    assert len(json_text(failure.json)) < 20_000
    assert "secret" not in str(failure.json)


class Aliased(BaseModel):
    model_config = ConfigDict(extra="allow")
    to: str = Field("none", alias="send_to")
    copies: int = 0
    _seen: list[str] = PrivateAttr(default_factory=list)

    def model_post_init(self, context: Any) -> None:
        self._seen.append(self.to)


def test_a_model_is_the_same_but_for_what_is_redacted() -> None:
    value = Aliased.model_validate({"send_to": "bob@corp.io", "model_dump": "own"})
    form = form_of(value)
    assert form.json == {"to": "bob@corp.io", "copies": 0, "model_dump": "own"}
    assert form.copy == value
    copy = restored({"to": "[m]", "copies": 0, "model_dump": "own"}, form)
    assert type(copy) is Aliased
    assert (copy.to, copy.copies, copy.__pydantic_extra__) == ("[m]", 0, {"model_dump": "own"})
    assert copy.model_fields_set == {"to", "model_dump"}
    assert copy._seen == ["[m]"]  # pyright: ignore[reportPrivateUsage]


def test_a_field_and_an_extra_of_one_name_are_no_form() -> None:
    with pytest.raises(NoForm, match="twice"):
        form_of(Aliased.model_validate({"send_to": "good", "to": "bad"}))


class Growing(BaseModel):
    tags: list[str]

    def model_post_init(self, context: Any) -> None:
        self.tags.append("added")


def test_a_model_that_changes_itself_is_passed_on_as_it_was_decided() -> None:
    assert form_of(Growing(tags=[])).copy.tags == ["added"]


def test_durations_and_addresses_are_texts_that_pydantic_reads_again() -> None:
    values: list[tuple[Any, Any]] = [
        (timedelta, timedelta(days=1, seconds=2, microseconds=30)),
        (timedelta, -timedelta(hours=30)),
        (timedelta, timedelta.max),
        (HttpUrl, HttpUrl("https://user:secret@corp.io/a?b=c")),
        (PostgresDsn, PostgresDsn("postgres://a@h:1,b:2/db")),
        (IPv4Address, IPv4Address("10.0.0.1")),
    ]
    for kind, value in values:
        form = form_of(value)
        assert TypeAdapter(kind).validate_python(form.json) == value
        assert form.copy is value


def test_a_form_of_json_is_the_json_itself() -> None:
    value: Json = {"a": [1, None, {"b": "c"}]}
    assert form_of(value) == Form(value, value)
