"""Guided lessons: Markdown with designs and questions whose answers the engine works out."""

from tileviz.lessons.checking import faults_of
from tileviz.lessons.document import parse
from tileviz.lessons.marking import Marked, mark
from tileviz.lessons.model import Edit, Figure, Lesson, Prose, Question
from tileviz.lessons.shelf import Shelf, folders, shelf, shelf_of
from tileviz.lessons.typed import with_typed

__all__ = [
    "Edit",
    "Figure",
    "Lesson",
    "Marked",
    "Prose",
    "Question",
    "Shelf",
    "faults_of",
    "folders",
    "mark",
    "parse",
    "shelf",
    "shelf_of",
    "with_typed",
]
