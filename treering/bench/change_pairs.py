"""Pairs of statements by one speaker, written by hand: some change a fact, some do not.

They are what the rules of :mod:`treering.views.facts` were written on, so they tell what is guarded
against, not what to expect of other texts. The tests of facts hold the rules to them.
"""

from __future__ import annotations

Pair = tuple[str, str]
"""The older statement and the newer one."""

CHANGED: tuple[Pair, ...] = (
    ("I live in Berlin.", "I moved to Porto last week."),
    ("I live in Berlin.", "I live in Madrid now."),
    ("We live in Oslo.", "We relocated to Bergen in May."),
    ("My sister lives in Porto.", "My sister moved to Lisbon."),
    ("I'm vegetarian.", "I'm no longer vegetarian."),
    ("I am a vegetarian, so no steak.", "I started eating meat again."),
    ("I work at Google.", "I just started a new job at Netflix."),
    ("I work for Siemens as an engineer.", "I left Siemens."),
    ("I work at Acme.", "I quit my job at Acme."),
    ("I work at Google.", "I no longer work at Google."),
    ("I work as a nurse.", "I now work as a teacher."),
    ("My phone number is 555-1234.", "My new phone number is 555-9876."),
    ("My email is ana@a.org.", "My email is now ana@b.org."),
    ("My number's 555-1234.", "My number’s now 555-9876."),
    ("My favourite colour is blue.", "My favorite color is now green."),
    ("The meeting is on Monday.", "The meeting was moved to Thursday."),
    ("The meeting is on Monday.", "The meeting moved to Thursday."),
    ("My interview is on Monday.", "My interview's now on Friday."),
    ("I smoke.", "I quit smoking."),
    ("I drink coffee every morning.", "I stopped drinking coffee."),
    ("I play tennis every Sunday.", "I don't play tennis anymore."),
    ("I'm allergic to nuts.", "I’m not allergic to nuts any more."),
    ("I'm dating Sam.", "I'm not dating Sam anymore."),
    ("I'm single.", "I got married!"),
    ("I am 31 years old.", "I turned 32 yesterday."),
)
"""Older and newer statement of one speaker, the newer one superseding the older."""

MISSED: tuple[Pair, ...] = (
    ("I work as a nurse.", "I got promoted to head nurse."),  # says more, and a change
    ("Berlin is home for me.", "We packed up and left for Porto."),  # no plain form
    ("I live in Berlin.", "Porto is where I live now."),
    ("I live in Berlin.", "I live in Porto."),  # may be in it; "now" or "moved" would tell
)
"""Changes that the rules do not see; noted so that a gain shows."""

UNCHANGED: tuple[Pair, ...] = (
    ("I live in Berlin.", "I visited Porto last week."),
    ("I live in Berlin.", "I might move to Porto."),
    ("I live in Berlin.", "Should I move to Porto?"),
    ("I live in Berlin.", "I want to live in Rome."),
    ("I live in Berlin.", "I used to live in Madrid."),
    ("I live in Berlin.", "If I lived in Paris, I would paint."),
    ("I live in Berlin.", "I moved to the sales team."),
    ("I live in Berlin.", 'My boss says "I live in Rome."'),
    ("I moved to Porto.", "I love living in Porto."),
    ("I'm vegetarian.", "My brother is not vegetarian."),
    ("I'm married.", "My sister is single."),
    ("I work at Google.", "I met a friend at Netflix."),
    ("I work at Google.", "I work at home today."),
    ("I like the job at Google.", "I left early."),
    ("My favourite book is Emma.", "My favourite movie is Alien."),
    ("My favourite book is Emma.", "My favourite book is Dune."),  # one may have two
    ("My name is Ana.", "My brother's name is Ben."),
    ("My dog is cute.", "My dog is sick."),
    ("The meeting is on Monday.", "The party is on Friday."),
    ("I love pizza.", "I love pasta."),
    ("I play tennis.", "I play chess."),
    ("I eat meat.", "I don't eat meat on Fridays."),
    ("I smoke.", "I don't smoke at home."),
    ("I'm training for a marathon.", "I'm training my dog."),
    ("I have a dog.", "I have a cat."),
    ("I'm 31.", "I ran 32 kilometers."),
    # What is said of a thing is not the thing.
    ("My email is ana@x.com.", "My email is not working."),
    ("My name is Ana.", "My name is hard to spell."),
    ("My birthday is on 3 May.", "My birthday is coming up soon."),
    ("My phone number is 555-1234.", "My number is in your phone."),
    ("My phone number is 555-1234.", "My phone number is (555) 1234."),
    ("My address is 5 Elm Street.", "My address is on the envelope."),
    ("My boss is Tom.", "My boss is now on holiday."),
    ("My doctor is Dr. Smith.", "My new doctor is nice."),
    ("My favorite book is Dune.", "My favorite book is now overdue."),
    # An end of one thing is not the end of others.
    ("I like rivers.", "I don't like it any more."),
    ("I eat fish.", "I don't eat any more cake."),
    ("I own a coffee shop.", "I gave up coffee."),
    ("I run a bakery.", "I stopped running."),
    ("I drink tea every morning.", "I no longer drink."),
    # A capital is not a place.
    ("I live in Porto.", "We moved to Slack."),
    ("I live in Porto.", "I moved to Marketing."),
    ("I live in Porto.", "I just moved to Python 3."),
    ("I work at Amazon.", "I left Amazon a bad review."),
    ("I work at Netflix.", "I quit Netflix because of the prices."),
    # Not asserted, told of the past, or for a while.
    ("I live in Porto.", "It is not true that I live in Paris."),
    ("I live in Porto.", "Nobody believes that I live in Rome."),
    ("I live in Porto.", "Back in 2010, I moved to Berlin."),
    ("I live in Porto.", "I moved to Oslo in 2003 and came back."),
    ("I live in Porto.", "I moved to Oslo for the summer."),
    ("I live in Porto.", "I'm based in Lisbon this week."),
    ("I am 30.", "I am 5."),
    # A date before the verb tells which one is meant.
    ("The meeting is on Monday.", "The meeting on Friday is now cancelled."),
    ("My interview is on Monday.", "My interview now on Friday."),
    # One is in the other, or they are two.
    ("I live in Brooklyn.", "I live in New York City."),
    ("My friend lives in Oslo.", "My friend moved to Rome."),
    ("My brother is single.", "My brother is married."),
)
