"""What all tests share: hypothesis without deadlines, since two cores are shared with simulations."""

from hypothesis import settings

settings.register_profile("project", deadline=None, print_blob=True)
settings.load_profile("project")
