"""The forms of sentences that state a fact, as a table: each with an example that it reads.

The group ``value`` of a pattern holds what is stated, ``subject`` the person or thing. A form
without a slot of its own names it in the group ``slot``. Tests read every example.
"""

from __future__ import annotations

from typing import Final

from treering.views.facts.habit_forms import HABIT
from treering.views.facts.home_and_work_forms import HOME, WORK
from treering.views.facts.person_forms import OWN, PERSON
from treering.views.facts.value_first import VALUE_FIRST

FORMS: Final = (*HOME, *WORK, *PERSON, *OWN, *HABIT, *VALUE_FIRST)
"""All forms in the order in which they are tried. The first that matches a clause counts."""
