from __future__ import annotations

from collections.abc import Generator

import pytest

from .model import Model, scripted_model


@pytest.fixture(scope="session")
def one_model() -> Generator[Model]:
    with scripted_model() as model:
        yield model


@pytest.fixture
def model(one_model: Model) -> Model:
    """A model that answers `Done.` until the test sets a script."""
    one_model.answers()
    return one_model
