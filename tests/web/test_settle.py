"""A full collection in a web process does not look at what was loaded for good."""

import gc

from rewyn_web.settle import settle


def test_what_is_loaded_is_looked_through_no_more() -> None:
    known = len(gc.get_objects())
    settle()
    left, left_out = len(gc.get_objects()), gc.get_freeze_count()
    gc.unfreeze()
    assert left < 1000 < known // 2 < left_out
