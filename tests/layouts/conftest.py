"""Property tests here have no deadline: a loaded machine is not a defect."""

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
