"""A full collection in a web process does not look at what was loaded for good."""

import gc

from rewyn_web.settle import settle


def test_what_is_loaded_is_looked_through_no_more() -> None:
    gc.unfreeze()  # what the tests leave out for their own sake
    known = len(gc.get_objects())
    settle()
    left, left_out = len(gc.get_objects()), gc.get_freeze_count()
    assert left < 1000 < known // 2 < left_out
