"""Profiles of the servers that can be judged, by name."""
from ..target import Target
from .holdfast import Holdfast

TARGETS: dict[str, Target] = {target.name: target for target in (Holdfast(),)}
