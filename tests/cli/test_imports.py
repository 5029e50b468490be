"""Imports without looking for garbage."""

import gc

import pytest

from connector_gateway.cli.imports import quick_imports


def test_garbage_is_collected_again_afterwards() -> None:
    with quick_imports():
        within = gc.isenabled()

    assert (False, True) == (within, gc.isenabled())


def test_garbage_is_collected_again_after_an_import_that_fails() -> None:
    with pytest.raises(ImportError), quick_imports():
        raise ImportError

    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with quick_imports():
            pass
        after = gc.isenabled()
    finally:
        gc.enable()

    assert not after
