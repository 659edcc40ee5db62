from django.apps import AppConfig


class ReplayConfig(AppConfig):
    name = "replay"

    def ready(self) -> None:
        from replay import recorded_calls
        from replay.notifications import inbox
        from replay.review import counts, reading
        from runs import context, curate

        curate.moved.append(counts.runs_moved)
        curate.ending += [counts.runs_end, recorded_calls.forget_kept]
        context.counted += [reading.with_waiting, inbox.with_notices]
