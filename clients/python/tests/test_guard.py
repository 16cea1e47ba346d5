"""`run.guard` against a real sidecar: what is asked, what the tool gets, and what the caller gets."""

from __future__ import annotations

import asyncio
import builtins
import contextvars
import functools
import inspect
import json
import pickle
import traceback
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from tollgate_client import Gate, RedactedError, Run, ToolDenied, carry, connect, current_run, guard
from tollgate_client._guard import Guarding, _Tool  # pyright: ignore[reportPrivateUsage]

from .programs import World, has_socket

mail = "bob@corp.io"
mark = "[redacted:email#1]"


@pytest.fixture
def run(gate: Gate) -> Iterator[Run]:
    with gate.run(agent="triage", tier="api") as run:
        yield run


def denied(call: Callable[[], object]) -> ToolDenied:
    with pytest.raises(ToolDenied) as caught:
        call()
    return caught.value


def test_a_call_that_policy_permits_is_made_and_both_entries_are_written(run: Run, world: World) -> None:
    @run.guard("github.create_issue")
    def create_issue(title: str, labels: list[str] | None = None) -> dict[str, object]:
        """Creates an issue."""
        return {"title": title, "labels": labels}

    assert create_issue("It broke") == {"title": "It broke", "labels": None}
    assert create_issue.__doc__ == "Creates an issue."
    assert list(inspect.signature(create_issue).parameters) == ["title", "labels"]
    before, after = world.entries(run.session, 2)
    assert before["tool"] == "github.create_issue"
    assert before["hookEvent"] == "PreToolUse"
    assert after["hookEvent"] == "PostToolUse"


def test_a_denied_call_is_not_made_and_says_why(run: Run) -> None:
    called: list[str] = []

    @run.guard("github.delete_repo")
    def delete_repo(repo: str) -> None:
        called.append(repo)

    error = denied(lambda: delete_repo("web"))
    assert called == []
    assert (error.kind, error.code, error.called) == ("terminal", "policy_denied", False)
    assert error.request_id is not None
    assert error.approval_id is None
    assert str(error).startswith('The call of "github.delete_repo" was not made: policy_denied: ')
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(copy), copy.kind, copy.request_id) == (str(error), error.kind, error.request_id)


def test_a_used_up_limit_says_when_to_try_again(run: Run) -> None:
    @run.guard("once")
    def once() -> int:
        return 1

    assert once() == 1
    error = denied(once)
    assert (error.kind, error.code) == ("retry", "rate_limited")
    assert error.retry_after is not None
    assert error.retry_after > 0


def test_a_rule_on_an_argument_holds_in_whatever_way_it_is_passed(run: Run) -> None:
    @run.guard("titled")
    def titled(title: str = "bad", *more: int, **options: str) -> str:
        return f"{title} {more} {options}"

    @run.guard("titled")
    def any_words(**words: str) -> dict[str, str]:
        return words

    for call in (
        lambda: titled("bad"),
        lambda: titled(title="bad"),
        lambda: titled(),
        lambda: any_words(title="bad"),
        lambda: functools.partial(titled, "bad")(1),
        lambda: run.guard("titled")(functools.partial(len_of, "bad"))(),
        lambda: run.guard("titled")(functools.partial(len_of, title="bad"))(),
    ):
        assert denied(call).code == "policy_denied"
    assert titled("good", 1, 2, note="n") == "good (1, 2) {'note': 'n'}"
    assert any_words(title="good", other="x") == {"title": "good", "other": "x"}
    with pytest.raises(TypeError):
        any_words("bad")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def one() -> int:
    return 1


def len_of(title: str) -> int:
    return len(title)


def test_a_keyword_that_has_the_name_of_another_parameter_is_denied(run: Run) -> None:
    @run.guard("titled")
    def shadowed(title: str, /, **words: str) -> None:
        raise AssertionError("was called")

    assert denied(lambda: shadowed("good", title="bad")).code == "call_malformed"


def test_what_the_sidecar_is_shown_is_the_bound_form(run: Run, world: World) -> None:
    @run.guard("forms")
    def forms(first: int, *rest: int, flag: bool = False, **others: Decimal) -> None:
        return None

    forms(1, 2, 3, price=Decimal("1.50"))
    shown = world.entries(run.session, 1)[0]["input"]
    assert shown == {"first": 1, "rest": [2, 3], "flag": False, "price": "1.50"}


class Desk:
    def __init__(self, run: Run, kept: list[str]) -> None:
        self.kept = kept
        self.close = run.guard("titled")(self.plain_close)

    def plain_close(self, title: str) -> str:
        self.kept.append(title)
        return title

    @guard("titled")
    def open(self, title: str) -> str:
        self.kept.append(title)
        return title

    @guard("titled")
    @classmethod
    def of_class(cls, title: str) -> str:
        return f"{cls.__name__} {title}"

    @classmethod
    @guard("titled")
    def of_class_below(cls, title: str) -> str:
        return f"{cls.__name__} {title}"

    @guard("titled")
    @staticmethod
    def free(title: str) -> str:
        return title

    @staticmethod
    @guard("titled")
    def free_below(title: str) -> str:
        return title

    @guard("titled")
    async def later(self, title: str) -> str:
        return title

    def __call__(self, title: str) -> str:
        return title


def test_methods_of_all_kinds_are_guarded_without_their_receiver(run: Run) -> None:
    desk = Desk(run, [])
    guarded_object = run.guard("titled")(desk)
    calls: list[Callable[[str], str]] = [
        desk.open,
        desk.close,
        desk.of_class,
        Desk.of_class_below,
        desk.free,
        Desk.free_below,
        guarded_object,
        lambda title: Desk.open(desk, title),
        lambda title: asyncio.run(desk.later(title)),
    ]
    for call in calls:
        assert call("good").endswith("good")
        assert denied(functools.partial(call, "bad")).code == "policy_denied"
    assert desk.kept == ["good"] * 3


def test_excluded_arguments_are_passed_on_as_they_are(run: Run, world: World) -> None:
    class Database:
        pass

    database = Database()

    @run.guard("titled", exclude=("database",))
    def store(database: Database, title: str) -> Database:
        assert title == "good"
        return database

    error = denied(lambda: store(database, "good"))
    assert (error.called, error.code) == (True, "redaction_unsupported")
    assert world.entries(run.session, 1)[0]["input"] == {"title": "good"}
    with pytest.raises(ValueError, match="no parameters"):
        run.guard("titled", exclude=("databse",))(len_of)


def test_coroutines_are_guarded(run: Run) -> None:
    @run.guard("titled")
    async def titled(title: str) -> str:
        await asyncio.sleep(0)
        return title

    assert inspect.iscoroutinefunction(titled)
    assert asyncio.run(titled("good")) == "good"
    assert denied(lambda: asyncio.run(titled("bad"))).code == "policy_denied"


def test_items_of_a_generator_are_collected_redacted_and_then_yielded(run: Run, world: World) -> None:
    @run.guard("mail.read")
    def read(box: str) -> Iterator[str]:
        yield f"from {mail}"
        yield "done"

    @run.guard("mail.count")
    def count(box: str) -> Any:
        yield 1
        return mail

    def use() -> Iterator[Any]:
        yield (yield from count("in"))

    assert inspect.isgeneratorfunction(read)
    assert list(read("in")) == [f"from {mark}", "done"]
    assert list(use()) == [1, mark]
    assert [entry["tool"] for entry in world.entries(run.session, 4)] == ["mail.read"] * 2 + ["mail.count"] * 2


def test_items_of_an_async_generator_are_collected_redacted_and_then_yielded(run: Run) -> None:
    @run.guard("mail.read")
    async def read(box: str) -> AsyncIterator[str]:
        yield f"from {mail}"
        yield "done"

    @run.guard("github.delete_all")
    async def delete() -> AsyncIterator[str]:
        raise AssertionError("was called")
        yield ""

    async def all_of(items: AsyncIterator[str]) -> list[str]:
        return [item async for item in items]

    assert inspect.isasyncgenfunction(read)
    assert asyncio.run(all_of(read("in"))) == [f"from {mark}", "done"]
    assert denied(lambda: asyncio.run(all_of(delete()))).code == "policy_denied"


def test_a_generator_that_is_left_early_ends_quietly(run: Run) -> None:
    @run.guard("plain")
    async def numbers() -> AsyncIterator[int]:
        for number in range(3):
            yield number

    async def first() -> int:
        return await anext(numbers())

    assert asyncio.run(first()) == 0


@dataclass
class Letter:
    to: str
    copies: int


class Note(BaseModel):
    to: str
    when: Decimal


def test_the_tool_gets_the_redacted_input_in_its_python_types(run: Run) -> None:
    got: list[Any] = []

    @run.guard("mail.send")
    def send(letter: Letter, note: Note, raw: bytes, both: tuple[str, int], price: Decimal) -> str:
        got.extend([letter, note, raw, both, price])
        return "sent"

    price = Decimal("1.5")
    assert send(Letter(mail, 2), Note(to=mail, when=price), mail.encode(), (mail, 1), price) == "sent"
    assert got == [Letter(mark, 2), Note(to=mark, when=price), mark.encode(), (mark, 1), price]


def test_the_caller_gets_the_redacted_output_in_its_python_types(run: Run) -> None:
    @run.guard("mail.read")
    def read() -> dict[str, Any]:
        return {"from": mail, "letter": Letter(mail, 1), "price": Decimal(1)}

    assert read() == {"from": mark, "letter": Letter(mark, 1), "price": Decimal(1)}


def test_the_text_of_an_exception_is_redacted_and_nothing_else_of_it_is_seen(run: Run) -> None:
    @run.guard("mail.fail")
    def fail() -> None:
        try:
            raise KeyError(mail)
        except KeyError:
            raise ValueError(f"no box of {mail}") from None

    @run.guard("mail.fail")
    async def fail_later() -> None:
        raise ValueError(f"no box of {mail}")

    @run.guard("mail.fail")
    def fail_between() -> Iterator[int]:
        yield 1
        raise ValueError(f"no box of {mail}")

    for call in (fail, lambda: asyncio.run(fail_later()), lambda: list(fail_between())):
        with pytest.raises(RedactedError, match=r"^no box of \[redacted:email#1\]$") as caught:
            call()
        error = caught.value
        assert (error.name, error.__cause__, error.__context__) == ("ValueError", None, None)


class Stop(BaseException):
    """An exception that is none of `Exception`."""


class OwnCancelled(asyncio.CancelledError):
    pass


def own_cancelled() -> BaseException:
    error = OwnCancelled()
    error.__cause__ = ValueError(mail)
    return error


def grouped() -> BaseException:
    made: Any = getattr(builtins, "BaseExceptionGroup", None)
    return SystemExit(mail) if made is None else made("of a tool", [Stop(mail), ValueError("x")])


redacted_ones: list[tuple[Callable[[], BaseException], type[BaseException]]] = [
    (lambda: SystemExit(mail), RedactedError),
    (lambda: Stop(mail), RedactedError),
    (grouped, RedactedError),
    (lambda: KeyboardInterrupt(mail), KeyboardInterrupt),
    (lambda: asyncio.CancelledError(mail), asyncio.CancelledError),
    (own_cancelled, asyncio.CancelledError),
    (lambda: GeneratorExit(mail), GeneratorExit),
]


@pytest.mark.parametrize(("made", "wanted"), redacted_ones)
def test_no_exception_of_any_kind_takes_a_text_past_redaction(
    run: Run, made: Callable[[], BaseException], wanted: type[BaseException]
) -> None:
    @run.guard("mail.fail")
    def fail() -> None:
        raise made()

    @run.guard("mail.fail")
    async def fail_later() -> None:
        raise made()

    async def caught_later() -> BaseException:
        with pytest.raises(wanted) as caught:
            await fail_later()
        return caught.value

    with pytest.raises(wanted) as caught:
        fail()
    for error in (caught.value, asyncio.run(caught_later())):
        assert mail not in "".join(traceback.format_exception(error))
        assert type(error) is wanted
        assert (error.__cause__, error.__context__) == (None, None)


def test_an_exit_of_a_tool_without_a_finding_is_its_own(run: Run) -> None:
    @run.guard("github.read")
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit) as caught:
        leave()
    assert caught.value.code == 3


def test_a_cancellation_of_anyio_is_recognized_by_its_scope(run: Run) -> None:
    entered = anyio.Event()

    @run.guard("plain")
    async def wait() -> None:
        entered.set()
        await anyio.sleep_forever()

    async def scenario() -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await entered.wait()
            group.cancel_scope.cancel()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await wait()
        return "after"

    assert asyncio.run(scenario()) == "after"


def locals_of(error: BaseException) -> str:
    """Returns what a printer of tracebacks would show of the frames of this library."""
    frames = [
        frame for frame, _ in traceback.walk_tb(error.__traceback__) if "tollgate_client" in frame.f_code.co_filename
    ]
    return repr([dict(frame.f_locals) for frame in frames])


def test_the_frames_of_a_traceback_hold_nothing_that_is_redacted_or_withheld(run: Run) -> None:
    @run.guard("mail.fail")
    def fail() -> None:
        raise ValueError(f"no box of {mail}")

    @run.guard("mail.read")
    def unreadable() -> object:
        return [mail, object()]

    @run.guard("mail.fail")
    async def fail_later() -> None:
        raise ValueError(f"no box of {mail}")

    @run.guard("mail.read")
    def items() -> Any:
        yield 1
        return [mail, object()]

    for call in (fail, unreadable, lambda: asyncio.run(fail_later()), lambda: list(items())):
        with pytest.raises((RedactedError, ToolDenied)) as caught:
            call()
        error = caught.value
        assert (error.__cause__, error.__context__) == (None, None)
        assert mail not in locals_of(error)


def test_a_failure_that_cannot_be_shown_whole_is_replaced(run: Run) -> None:
    @run.guard("github.read")
    def read() -> None:
        error = ValueError("the first")
        for _ in range(300):
            error, cause = ValueError("another"), error
            error.__cause__ = cause
        raise error

    with pytest.raises(RedactedError, match=r"^another$") as caught:
        read()
    assert caught.value.name == "ValueError"


def swapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(note: str, title: str) -> Any:
        return function(title, note)

    return inner


def injecting(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function("injected", *args, **kwargs)

    return inner


def test_arguments_have_the_names_by_which_the_callable_that_is_called_takes_them(run: Run, world: World) -> None:
    def read(title: str, note: str = "") -> str:
        return f"{title}, {note}"

    def renamed(title: str) -> str:
        return title

    renamed.__signature__ = inspect.signature(lambda note: note)  # type: ignore[attr-defined]  # pyright: ignore
    for function, args in ((swapped(read), ("x", "bad")), (injecting(read), ("bad",)), (renamed, ("bad",))):
        assert denied(lambda function=function, args=args: run.guard("titled")(function)(*args)).code == "policy_denied"  # type: ignore[misc]
    assert run.guard("plain")(swapped(read))("the note", title="the title") == "the title, the note"
    assert world.entries(run.session, 4)[3]["input"] == {"note": "the note", "title": "the title"}
    assert run.guard("plain")(injecting(read))("x") == "injected, x"
    assert run.guard("plain")(functools.lru_cache(read))("a", note="b") == "a, b"


def test_arguments_are_passed_in_the_way_in_which_the_caller_passed_them(run: Run) -> None:
    def named(first: int, second: int = 2, *rest: int, third: int = 3, **more: int) -> None:
        return None

    def positional(first: int, second: int = 2, /, third: int = 3) -> None:
        return None

    for function, args, kwargs, wanted in (
        (named, (1,), {}, ((1,), {"second": 2, "third": 3})),
        (named, (), {"first": 1, "second": 5}, ((), {"first": 1, "second": 5, "third": 3})),
        (named, (1, 5, 6), {"more": 7}, ((1, 5, 6), {"third": 3, "more": 7})),
        (positional, (1,), {"third": 4}, ((1, 2), {"third": 4})),
    ):
        tool = _Tool(Guarding("plain", lambda: run, (), None, None), function, has_receiver=None)
        call = tool.bind(args, kwargs)
        permit = run.decide("plain", call.form.copy)
        assert tool.given(call, permit) == wanted


def test_a_method_below_a_decorator_that_takes_any_arguments_has_a_receiver(run: Run) -> None:
    @functools.wraps(Desk.plain_close)
    def passing(*args: Any, **kwargs: Any) -> Any:
        return args[1:] or kwargs

    receiver = object()
    assert run.guard("plain")(passing)(receiver, "good") == ("good",)
    assert run.guard("titled")(passing)(receiver, title="good") == {"title": "good"}
    # A rule on a name that is not known is undecided.
    assert denied(lambda: run.guard("titled")(passing)(receiver, "good")).code == "policy_denied"


def test_a_generator_belongs_to_the_run_in_which_its_first_item_is_asked_for(gate: Gate) -> None:
    @guard("plain")
    def chunks() -> Iterator[str]:
        yield current_run().agent
        yield current_run().agent

    @guard("plain")
    async def chunks_later() -> AsyncIterator[str]:
        yield current_run().agent
        yield current_run().agent

    first, second = gate.run(agent="first", tier="api"), gate.run(agent="second", tier="api")
    with first:
        items, items_later = chunks(), chunks_later()
    assert denied(lambda: next(items)).code == "run_missing"
    with second:
        items = chunks()
        assert next(items) == "second"
    assert [*contextvars.Context().run(lambda: [*items])] == ["second"]

    async def next_of(items: AsyncIterator[str]) -> str:
        return await anext(items)

    async def scenario() -> list[str]:
        with gate.run(agent="third", tier="api"):
            got = await asyncio.create_task(next_of(items_later))
        return [got, await asyncio.create_task(next_of(items_later))]

    assert asyncio.run(scenario()) == ["third", "third"]


def test_an_exception_without_a_finding_is_the_tools_own(run: Run, world: World) -> None:
    own = LookupError("no such issue")

    @run.guard("github.read")
    def read() -> None:
        raise own

    with pytest.raises(LookupError) as caught:
        read()
    assert caught.value is own
    assert world.entries(run.session, 2)[1]["hookEvent"] in ("PostToolUse", "PostToolUseFailure")


def test_later_changes_of_the_callers_objects_change_nothing(run: Run) -> None:
    labels = ["a"]
    started = asyncio.Event()

    @run.guard("plain")
    async def create(labels: list[str]) -> list[str]:
        labels.append("of the tool")
        return labels

    async def scenario() -> list[str]:
        call = asyncio.create_task(create(labels))
        started.set()
        await asyncio.sleep(0)
        labels.append("late")
        return await call

    assert asyncio.run(scenario()) == ["a", "of the tool"]
    assert labels == ["a", "late"]


def test_a_tool_that_changes_its_default_changes_it_for_itself_only(run: Run) -> None:
    @run.guard("plain")
    def gather(item: int, into: list[int] = []) -> list[int]:  # noqa: B006
        into.append(item)
        return into

    assert gather(1) == [1]
    assert gather(2) == [2]


without_form: dict[str, object] = {
    "nan": float("nan"),
    "infinity": float("inf"),
    "object": object(),
    "number as key": {1: 2},
    "bytes": b"\xff",
    "surrogate": "\ud800",
    "5,000 digits": 10**5000,
    "function": len,
}


@pytest.mark.parametrize("kind", without_form)
def test_an_argument_without_a_form_is_denied_and_the_tool_is_not_called(run: Run, kind: str) -> None:
    @run.guard("plain")
    def take(value: object) -> None:
        raise AssertionError("was called")

    error = denied(lambda: take(without_form[kind]))
    assert (error.kind, error.code, error.called) == ("terminal", "call_malformed", False)


def test_an_integer_beyond_a_double_is_sent_whole_and_decides_strictly(run: Run, world: World) -> None:
    @run.guard("plain")
    def take(number: int) -> int:
        return number

    @run.guard("payments.transfer", wait=0)
    def transfer(amount: int) -> None:
        raise AssertionError("was called")

    assert take(2**60 + 1) == 2**60 + 1
    assert world.entries(run.session, 1)[0]["input"] == {"number": str(2**60 + 1)}
    assert denied(lambda: transfer(-(2**60) - 1)).code == "call_malformed"


@pytest.mark.parametrize("kind", ["generator", "coroutine", "bytes", "object"])
def test_an_output_without_a_form_is_withheld(run: Run, kind: str, world: World) -> None:
    async def later() -> int:
        return 1

    def make() -> object:
        if kind == "generator":
            return (number for number in range(3))
        if kind == "coroutine":
            return later()
        return b"\xff" if kind == "bytes" else object()

    error = denied(run.guard("plain")(make))
    assert (error.kind, error.code, error.called) == ("terminal", "redaction_unsupported", True)
    assert len(world.entries(run.session, 2)) == 2


def test_an_output_that_has_not_run_is_withheld_with_the_reason(run: Run) -> None:
    @run.guard("plain")
    @functools.lru_cache
    def later(number: int) -> object:
        async def work() -> int:
            return number

        return work()

    error = denied(lambda: later(1))
    assert (error.kind, error.code, error.called) == ("terminal", "redaction_unsupported", True)
    assert "the output is a coroutine, which has not run" in error.reason


def test_more_items_than_are_collected_are_withheld_with_the_reason(run: Run) -> None:
    @run.guard("plain")
    def items() -> Iterator[int]:
        yield from range(100_001)

    @run.guard("plain")
    async def items_later() -> AsyncIterator[int]:
        for number in range(100_001):
            yield number

    async def all_of_them() -> list[int]:
        return [item async for item in items_later()]

    for call in (lambda: list(items()), lambda: asyncio.run(all_of_them())):
        error = denied(call)
        assert (error.kind, error.code, error.called) == ("terminal", "redaction_unsupported", True)
        assert "yielded more than 100000 items" in error.reason


def test_decide_and_report_by_themselves(run: Run) -> None:
    permit = run.decide("mail.send", {"to": mail})
    assert permit.input == {"to": mark}
    assert run.report(permit, f"sent to {mail}") == f"sent to {mark}"

    async def scenario() -> object:
        permit = await run.adecide("mail.send", {"to": mail})
        return await run.areport(permit, [mail], is_error=True)

    assert asyncio.run(scenario()) == [mark]
    assert denied(lambda: run.decide("github.delete_repo", {})).code == "policy_denied"


def test_a_delegated_run_is_one_hop_further_and_has_only_the_tools_of_the_task(run: Run, world: World) -> None:
    session = run.session
    with run.delegate("writer", tools=["github.*"], tier="subagent") as below:
        assert current_run() is below
        assert below.decide("github.read", {}).input == {}
        assert denied(lambda: below.decide("mail.read", {})).code == "delegated_tools"
        last = below.delegate("helper", tools=["github.read", "mail.read"])
        assert last.decide("github.read", {}).input == {}
        assert denied(lambda: last.decide("github.write", {})).code == "delegated_tools"
        assert denied(lambda: last.decide("mail.read", {})).code == "delegated_tools"
    assert current_run() is run
    assert denied(lambda: last.decide("github.read", {})).code == "run_ended"
    chains = {
        tuple(hop if isinstance(hop, str) else json.dumps(hop) for hop in entry["chain"])
        for entry in world.entries(session, 5)
    }
    assert ("triage", "writer", "helper") in chains


def test_the_run_is_carried_into_tasks_and_threads(gate: Gate) -> None:
    @guard("plain")
    def session() -> str:
        return current_run().session

    @guard("plain")
    async def session_later() -> str:
        return current_run().session

    assert denied(session).code == "run_missing"
    with pytest.raises(LookupError):
        current_run()

    async def scenario() -> tuple[str, str, str]:
        async with gate.run(agent="triage", tier="api") as run:
            return run.session, await asyncio.create_task(session_later()), await asyncio.to_thread(session)

    wanted, of_task, of_thread = asyncio.run(scenario())
    assert of_task == of_thread == wanted
    with gate.run(agent="triage", tier="api") as run, ThreadPoolExecutor(4) as pool:
        assert {future.result() for future in [pool.submit(carry(session)) for _ in range(8)]} == {run.session}
        with pytest.raises(ToolDenied):
            pool.submit(session).result()


def test_after_its_block_a_run_denies(gate: Gate) -> None:
    with gate.run(agent="triage", tier="api") as run:
        read = run.guard("plain")(one)
        assert read() == 1
    assert denied(read).code == "run_ended"


def test_the_trace_of_the_caller_is_in_the_entries(run: Run, world: World) -> None:
    from opentelemetry.sdk.trace import TracerProvider

    read = run.guard("plain")(one)
    with TracerProvider().get_tracer("test").start_as_current_span("agent") as span:
        read()
        trace_id = f"{span.get_span_context().trace_id:032x}"
    assert all(entry["traceId"] == trace_id for entry in world.entries(run.session, 2))


def test_names_that_would_mean_another_agent_are_refused(gate: Gate, run: Run) -> None:
    for wrong in ({"agent": ""}, {"session": ""}, {"user": ""}, {"tier": "root"}, {"wait": -1}, {"wait": float("nan")}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            gate.run(**{"agent": "triage", "tier": "api", **wrong})  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(ValueError, match="tool"):
        run.guard("")
    assert denied(lambda: run.decide("plain\ud800", {})).code == "call_malformed"
    assert denied(lambda: run.decide("plain\n", {})).code == "call_malformed"


def test_a_user_that_the_key_may_not_act_for_is_denied(gate: Gate) -> None:
    run = gate.run(agent="triage", tier="api", user="bob", session=str(uuid.uuid4()))
    assert denied(lambda: run.decide("plain", {})).code == "key_scope"


def test_an_input_that_is_too_large_is_denied(run: Run) -> None:
    assert denied(lambda: run.decide("plain", {"text": "x" * 1_100_000})).kind in ("terminal", "unavailable")
    assert run.decide("plain", {"text": "x" * 900_000}).input == {"text": "x" * 900_000}


if has_socket:

    def test_the_sidecars_own_socket_serves_threads_and_event_loops(world: World) -> None:
        with connect(sidecar=world.socket, key=world.key) as gate, gate.run(agent="triage", tier="api") as run:
            assert run.guard("plain")(one)() == 1
            assert asyncio.run(run.adecide("mail.send", {"to": mail})).input == {"to": mark}
            assert denied(lambda: run.decide("github.delete_repo", {})).code == "policy_denied"
