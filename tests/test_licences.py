"""What the check of licences accepts and refuses."""

from email.message import Message

import licences
import pytest

EXCEPTION = {"driver": ("LGPL-3.0-only", "replaceable")}


def described(**fields: str) -> Message:
    """The metadata of a package."""
    message = Message()
    for name, value in fields.items():
        message[name.replace("_", "-")] = value
    return message


def test_all_that_is_locked_is_licensed_permissively() -> None:
    assert 0 == licences.main()


def test_packages_are_found_in_the_lock_with_whether_they_are_for_all_platforms() -> None:
    lock = (
        "a-b==1.0 \\\n    --hash=sha256:0\n    # via c==1\nd.e==2 ; sys_platform == 'win32' \\\n    --hash=sha256:1\n"
    )

    assert {"a-b": True, "d.e": False} == licences.locked(lock)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"License_Expression": "MIT", "License": "something"}, "MIT"),
        ({"Classifier": "License :: OSI Approved :: MIT License", "License": "see file"}, "MIT"),
        ({"Classifier": "License :: OSI Approved :: GNU GPL", "License": "MIT"}, "GNU GPL"),
        ({"Classifier": "Typing :: Typed", "License": "Apache 2.0"}, "Apache-2.0"),
        ({}, "nothing"),
    ],
)
def test_a_licence_is_read_where_the_package_tells_it(fields: dict[str, str], told: str) -> None:
    assert told == licences.licence(described(**fields))


@pytest.mark.parametrize("told", ["MIT", "Apache-2.0 OR GPL-2.0-only", "Apache-2.0 AND (MIT OR LGPL-3.0-only)"])
def test_permissive_licences_are_accepted(told: str) -> None:
    assert [] == list(licences.faults({"package": told}, {}))


@pytest.mark.parametrize("told", ["GPL-3.0-or-later", "MIT AND LGPL-3.0-only", "MPL-2.0", "nothing", "not installed"])
def test_others_are_refused(told: str) -> None:
    assert [f"package is licensed under {told!r}, which is not known to be permissive."] == list(
        licences.faults({"package": told}, {})
    )


def test_an_exception_is_for_one_package_and_one_licence() -> None:
    assert [] == list(licences.faults({"driver": "LGPL-3.0-only"}, EXCEPTION))
    assert 1 == len(list(licences.faults({"driver": "LGPL-3.0-only", "other": "LGPL-3.0-only"}, EXCEPTION)))
    assert 2 == len(list(licences.faults({"driver": "GPL-3.0-only"}, EXCEPTION)))


def test_an_exception_that_nothing_needs_is_a_fault() -> None:
    assert ["driver is an exception for 'LGPL-3.0-only', but is 'MIT'; take it out."] == list(
        licences.faults({"driver": "MIT"}, EXCEPTION)
    )
