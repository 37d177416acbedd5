"""Turns of phrase in which people tell of what they chose, have, avoid and go by. A table."""

from __future__ import annotations

from typing import Final

from treering.views.facts.paraphrase import Paraphrase
from treering.views.facts.verbs import PETS, word_set

_OF_THE_HOUSE = word_set(
    "wife husband missus kids twins baby landlord boss car boiler wifi broadband rent mortgage "
    "garden kitchen house flat van bike allotment heating"
)
"""What is one's own though one calls it "the": who speaks of "the wife" is her husband."""

IDIOMS: Final = (
    Paraphrase(
        "baby's dog's cat's puppy's kitten's boy's girl's horse's boat's house's",
        r"^(?:the|our|my) (?P<thing>baby|dog|cat|puppy|kitten|boy|girl|horse|boat|house)'s name "
        r"is ",
        r"my \g<thing> is called ",
        "The baby's name is Otto",
        "my baby is called Otto",
    ),
    Paraphrase(
        "do",
        r"\bI (?:don't|do not) do (?!(?:it|that|this|them|much|anything|well|so|any|not|my|the|a|"
        r"as|what)\b)(?=[a-z]+\b)",
        "I avoid ",
        "I don't do mornings",
        "I avoid mornings",
    ),
    Paraphrase(
        "both all",
        r"^(?:both|all)(?: of)?(?: (?:my|our|the|three|four|five))* (?P<who>kids|boys|girls|"
        r"children|sons|daughters|"
        r"dogs|cats|parents|twins) (?=[a-z])",
        r"my \g<who> ",
        "Both kids play hockey",
        "my kids play hockey",
    ),
    Paraphrase(
        "redundancy retirement severance package",
        r"\btook (?:(?:voluntary|early|the|a) )*(?:redundancy|retirement|severance|package) "
        r"(?:from|at) ",
        "quit ",
        "I took voluntary redundancy from Rolls-Royce",
        "I quit Rolls-Royce",
    ),
    Paraphrase(
        "ours mine place home",
        r"^(?:the )?(?P<thing>[a-z-]+(?: [a-z-]+)?) at (?:ours|mine|our place|my place|home) "
        r"(?=(?:is|are|runs|costs|comes|goes|now|has)\b)",
        r"my \g<thing> ",
        "Wifi at ours runs on a Fritzbox.",
        "my Wifi runs on a Fritzbox.",
    ),
    Paraphrase(
        "up",
        r"\b(?P<was>was|were|been|got|being) (?:made|moved|bumped|stepped) up to (?=[a-z]+ "
        r")(?!the \d)",
        r"\g<was> promoted to ",
        "I was made up to charge nurse",
        "I was promoted to charge nurse",
    ),
    Paraphrase(
        "end instead finally eventually",
        r"\b(?P<who>I|we)(?P<have>'ve| have)? (?:(?:just|finally|eventually|only|actually) "
        r")*(?:(?:went|gone) (?:with|for)|"
        r"(?:settled|landed|decided) (?:on|for)|plumped for|ended up (?:with|choosing|buying|"
        r"getting)|am going with) "
        r"(?P<what>[^,;.]+?)(?: ones?| model)?(?: in the end| instead| finally| eventually| after "
        r"all)",
        r"\g<who> chose \g<what>",
        "I went with the Phonak ones in the end",
        "I chose the Phonak",
    ),
    Paraphrase(
        "having",
        r"\b(?P<who>I'm|we're|I am|we are) having (?=(?:twins|triplets|a (?:baby|boy|girl|son|"
        r"daughter)|"
        r"another (?:baby|boy|girl)|our (?:first|second|third))\b)",
        r"\g<who> expecting ",
        "We're having twins",
        "We're expecting twins",
    ),
    Paraphrase(
        "morning afternoon week weekend today evening tonight",
        r"\b(?P<did>(?:I|we)(?:'ve| have)?(?: just| finally| officially)* (?:became|become|joined|"
        r"quit|resigned|retired|adopted|"
        r"bought|sold|switched|changed|registered|enrolled|cancell?ed|renewed|closed|opened|passed|"
        r"swapped|replaced|deleted|ditched|got (?:my|our|married|engaged|divorced)|signed|"
        r"relocated|"
        r"moved (?:in|from|to|house|home|out)|dropped|upgraded|downgraded|graduated|accepted|"
        r"adopted|rescued)\b[^,;]*?) "
        r"(?:this (?:morning|afternoon|evening|week|weekend|month)|today|over the weekend|tonight|"
        r"earlier today)\b",
        r"\g<did>",
        "I became a Canadian citizen this morning",
        "I became a Canadian citizen",
    ),
    Paraphrase(
        "guess",
        r"^guess who(?:'s|'ve| has| have)? (?:just |finally |now )*(?=\w+ed\b|left|got|became|"
        r"bought|sold|quit|went|took|won)"
        r"(?!.*\?)",
        "I ",
        "Guess who left the choir and joined a quartet!",
        "I left the choir and joined a quartet!",
    ),
    Paraphrase(
        " ".join(sorted(PETS)) + " kids twins baby wife husband missus",
        rf"^the (?P<thing>{'|'.join(sorted(PETS))}|kids|twins|baby|wife|husband|missus) "
        r"(?=(?:is|are|has|have|needs?|eats?|takes?|weighs?|goes|go|only|hates?|loves?)\b)",
        r"my \g<thing> ",
        "The cat has kidney disease",
        "my cat has kidney disease",
    ),
    Paraphrase(
        " ".join(sorted(PETS | _OF_THE_HOUSE)),
        rf"^the (?P<thing>{'|'.join(sorted(PETS | _OF_THE_HOUSE))}) (?=(?:(?:is|are|has|have) "
        rf"(?:just |now |been )*(?:now|on|"
        r"moved|changed|switched|got|gone|started|in|called|named|(?:with |by |from |at |an? |the "
        r")?(?:(?:plot|number|unit|no) )?(?-i:[A-Z]\w*|[£$€]?\d\w*))|now|goes|go|starts?|started|"
        r"got|moved|changed|switched)\b)",
        r"my \g<thing> ",
        "The dog is now on salmon kibble.",
        "my dog is now on salmon kibble.",
    ),
    Paraphrase(
        "rather prefer sooner",
        r"\bI(?:'d| would) (?:rather|prefer to|sooner) (?:be called|be known as|go by|be) "
        r"(?=(?-i:[A-Z]))",
        "I'm called ",
        "I'd rather be called Bea than Beatrice",
        "I'm called Bea than Beatrice",
    ),
    Paraphrase(
        "no",
        r"^no (?!more\b|one\b|need\b|thanks?\b|worries\b|problem|way\b|idea\b|news\b|chance\b|"
        r"luck\b|plans?\b)"
        r"(?P<what>[\w-]+(?: [\w-]+){0,2}?) for (?:me|us)\b(?! (?:to|today|this|tonight|"
        r"tomorrow)\b)",
        r"I avoid \g<what>",
        "No shellfish for me please",
        "I avoid shellfish please",
    ),
    Paraphrase(
        "only",
        r"^(?:just |only )?(?!(?:the|an?|it|that|this|these|those|so|same|good|great|fine|perfect|"
        r"too|not|never|what|ok|"
        r"nice|hard|easy|works?|thanks?|enough|big|new|more|less|and|but|all|one|better|best|"
        r"first|lovely|"
        r"important|wait|pray|make|do|get|find|put|check|book|order|ask|tell|write|draft|look|"
        r"remember|any)\b)"
        r"(?P<what>[a-z][\w-]*(?: [a-z][\w-]*)?) only for me\b",
        r"I take only \g<what>",
        "Decaf only for me after noon",
        "I take only Decaf after noon",
    ),
    Paraphrase(
        "mum mom dad nan gran granny grandma grandpa grandad granddad nana mam mum's mom's dad's "
        "nan's gran's",
        r"^(?P<who>mum|mom|dad|nan|gran|granny|grandma|grandpa|granddad|grandad|nana|mam)(?:'s| "
        r"has)(?: now| just| finally| gone and)* "
        r"(?=(?:moved|got|started|retired|had|bought|sold|taken|joined)\b)",
        r"my \g<who> ",
        "Mum's moved into Elmwood",
        "my Mum moved into Elmwood",
    ),
    Paraphrase(
        "mum mom dad nan gran granny grandma grandpa grandad granddad nana mam mummy daddy mum's "
        "mom's dad's nan's gran's",
        r"^(?P<who>mum|mom|dad|nan|gran|granny|grandma|grandpa|granddad|grandad|nana|mam)(?:'s| "
        r"is)(?: now| just)* "
        r"(?=(?:at|in|on|an?|living|working|turning)\b)",
        r"my \g<who> is ",
        "Mum's in Elmwood",
        "my Mum is in Elmwood",
    ),
    Paraphrase(
        "do",
        r"\b(?P<who>I|we) do (?=(?:\w{3,}ing|yoga|pilates|karate|judo|crossfit|parkrun|ballet|tai "
        r"chi|gymnastics)\b)",
        r"\g<who> practise ",
        "I do swimming instead",
        "I practise swimming instead",
    ),
    Paraphrase(
        "it's",
        r"^it's (?P<what>(?:the |an? )?[\w'-]+(?: (?!where|when)[\w'-]+){0,2}?) (?:that |which |"
        r"who )?(?P<did>(?:I|we|my (?:son|daughter|"
        r"wife|husband|partner|mum|dad|mother|father|brother|sister)) (?:\w+ )?(?!go\b|know|think|"
        r"want|"
        r"need|like|said|mean)[a-z]+(?: \w+)??)"
        r"(?P<now> now| these days)?[.!]?$",
        r"\g<did> \g<what>\g<now>",
        "It's the cello I play.",
        "I play the cello",
    ),
    Paraphrase(
        "i've we've",
        r"\b(?P<who>I|we)'ve (?=(?:an?|no|two|three|four|the|my|our|another) )",
        r"\g<who> have ",
        "We've a cockatiel now",
        "We have a cockatiel now",
    ),
)
"""Rows of this kind, in the order in which they are applied."""
