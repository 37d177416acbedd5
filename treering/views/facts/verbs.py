"""Words by what they do in a sentence that states something of its speaker: lists and no more.

They are what :mod:`treering.views.facts.predicates` reads clauses by, so that a verb more in a list
is a verb more in every kind of sentence.
"""

from __future__ import annotations

from typing import Final


def word_set(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


FIRST: Final = word_set("i we")
BE: Final = word_set("am 'm are 're is 's be been being")
HAVE: Final = word_set("have 've has")
MODAL: Final = word_set(
    "would could should might may must can 'd 'll will shall ought cannot wo wish hope want plan "
    "hoping wishing planning thinking considering dreaming had was were did going gonna about"
)
"""What makes a predicate a wish, a plan, a duty, an ability or the past."""

NOW: Final = word_set("now nowadays currently instead presently lately")
ADVERBS: Final = NOW | word_set(
    "just finally recently already actually officially still also both really then always "
    "eventually happily soon at_last usually often mostly newly fully basically only even simply "
    "sadly formally permanently generally mainly chiefly regularly never_mind straight obviously "
    "apparently certainly definitely kindly literally totally absolutely genuinely honestly truly "
    "seriously kinda lowkey"
)
FRONT: Final = word_set(
    "as since after following owing instead thanks for in on at from by these nowadays lately "
    "incidentally last this every each most during within until yesterday today recently "
    "finally having well"
)
"""Words with which an adverbial before the subject begins: "As of Monday I report to …"."""

SUBJECTS: Final = word_set(
    "i we you he she it they that this there who which what my our your his her its their the "
    "these those somebody someone everybody everyone nobody"
)
OTHERS: Final = word_set(
    "you he she they who which what there somebody someone everybody everyone nobody your his her "
    "its their"
)
DETERMINERS: Final = word_set("a an my our his her their your some this that these those")
ARTICLES: Final = DETERMINERS | {"the"}
LINKS: Final = word_set(
    "and but so because since while whereas though although which who whom where when if unless "
    "until before after than as for or yet that whose plus once"
)
SUBORDINATE: Final = word_set(
    "if unless until before after when where than once that whose which who"
)
"""Links of clauses that are not asserted as they stand, or of somebody else."""

ENDED: Final = word_set(
    "stopped quit ditched sold cancelled canceled binned dumped scrapped abandoned sacked packed "
    "chucked retired resigned left finished shed"
)
PARTED: Final = word_set("sold ditched cancelled canceled binned dumped scrapped rehomed pawned")
"""Verbs of parting with a thing that one had."""

TAKEN: Final = word_set(
    "joined started begun began bought adopted acquired picked taken accepted enrolled opened "
    "inherited rescued rented leased landed registered subscribed fostered settled deleted "
    "uninstalled installed unsubscribed renewed published founded launched planted hired "
    "qualified graduated learnt learned reached earned insured converted naturalised baptised "
    "signed recovered declared enlisted matriculated ordained certified licensed enrolled "
    "emigrated "
    "welcomed commissioned recovered rejoined resumed reverted upgraded downgraded halved doubled"
)
"""Verbs of beginning or getting what then goes on."""

ACQUIRED: Final = word_set("bought adopted acquired picked inherited rescued rented leased")
"""Verbs of getting a thing that one then has."""

OWNING: Final = word_set("own drive ride")
"""Who sells the Skoda neither owns nor drives it any more."""

PARTICIPLES: Final = word_set(
    "been got had become come gone done made left lost sold bought found put let quit met begun "
    "run swum sung held kept taught caught built sent spent lent won read cut hit set shut "
    "swapped thrown grown flown known shown drawn worn sworn torn moved split brought thought "
    "felt fallen"
)

SWITCHED: Final = word_set(
    "traded swapped downsized moved switched changed transferred converted upgraded downgraded "
    "migrated gone went crossed "
    "relocated shifted defected graduated progressed jumped come came turned swung"
)
SWAPPED: Final = word_set(
    "swapped traded exchanged replaced part-exchanged substituted swopped swap ditched dropped "
    "left abandoned forsaken"
)
BECOME: Final = word_set("became become promoted")
NAMED_ME: Final = word_set(
    "made named appointed elected turned put moved started switched prescribed"
)
"""Verbs of what others do to the speaker: "they made me treasurer", "put me on a diet"."""

STATUSES: Final = word_set("married engaged divorced separated widowed remarried single")
WERE_ONE: Final = word_set("split separated parted divorced")

CHANGED: Final = word_set(
    "changed switched moved gone went become became climbed risen rose dropped fallen fell "
    "increased shifted turned reduced raised lowered reset set updated swapped renamed part- "
    "exchanged traded replaced transferred upgraded"
)
"""What a thing of the speaker's did, or had done to it, before "to" and its new value."""

LEFT: Final = word_set("gone died passed")
GONE: Final = word_set("gone stolen died passed scrapped sold broken cancelled canceled closed")

THING_VERBS: Final = word_set(
    "meets goes lives starts ends opens closes leaves sits stays takes comes arrives runs stands "
    "weighs measures costs begins works hangs"
)
PHRASAL: Final = word_set("up in out over across off down back on to into with for")

PREPOSITIONS: Final = word_set(
    "in on at for with since because to from by after last this these now again instead too as "
    "which who whom when while if please lol haha btw tbh fyi yesterday today recently altogether "
    "entirely anyway nowadays next so but than rather through thanks until till during via "
    "tomorrow tonight already before over every always though although then , or ever once"
)
"""Words at which a noun phrase ends."""

TRAILING: Final = word_set(
    "now too again nowadays instead altogether entirely please lol haha btw tbh fyi anyway though "
    "though. then already mate honestly tho officially alas permanently forever either"
)
SMALL: Final = word_set(
    "new old little small big used second-hand secondhand lovely young nice good"
)

NOT_A_HABIT: Final = word_set(
    "suppose doubt fear regret apologise wonder understand reckon assume imagine prefer_not "
    "cannot dare recall worry notice admit gather fancy bet sat lay lain swore last appreciate "
    "respect value look wait sound"
)
PROGRESSIVE_NOT: Final = word_set(
    "going looking thinking planning hoping trying having getting coming wondering considering "
    "being making asking wishing dreaming expecting sending telling saying spending visiting "
    "staying feeling leaving borrowing"
)

CHOICES: Final = word_set(
    "favourite favorite preferred usual go-to main current chosen first native regular default"
)
"""Words before a noun that say that it is one of many: its value may be a common word."""

CHOICE_NOUNS: Final = word_set(
    "pronouns topic hair course hobby job role title diet major subject degree hint password "
    "passion obsession craft "
    "instrument trade profession occupation religion faith sport drink breakfast poison nickname "
    "handle username login gamertag callsign domain discord insta instagram tag alias handle's "
    "medication surname nationality post position pastime size shift allergy tipple dissertation "
    "allergies hobbies languages interests dislikes meds medications "
    "thesis speciality specialty star_sign starsign commute broadband provider"
)
"""Nouns whose values are often common words."""

ROLES: Final = word_set(
    "manager boss dentist doctor landlord landlady therapist gp coach tutor teacher supervisor "
    "neighbour neighbor flatmate roommate housemate partner boyfriend girlfriend husband wife "
    "fiance fiancee headteacher trainer physio accountant solicitor lawyer hairdresser barber "
    "optician vet cleaner nanny plumber mechanic counsellor consultant editor agent assistant "
    "mentor"
)
"""Persons by what they are to the speaker, of whom one at a time is usual."""

ADJECTIVES: Final = word_set(
    "harder easier better longer shorter busier nicer bigger smaller cheaper later earlier louder "
    "great good nice bad ill sick fine overdue easy hard tight late early free busy open closed "
    "full empty old new young cute big small tall short fat thin happy sad tired angry mad lovely "
    "kind sweet rude strict mean cool hot cold warm wet dry clean dirty broken dead alive gone "
    "away back here there home done ready sure safe wrong right true false slow fast quick loud "
    "quiet strange weird funny silly crazy awful terrible horrible brilliant amazing perfect "
    "awesome different same worse best worst cheap expensive pretty ugly rich poor real useless "
    "useful important public private common rare simple complex okay ok alright pregnant retired "
    "asleep awake upset pleased glad proud afraid scared worried bored boring due available "
    "missing lost found finished valid expired full-time part-time unknown secret long heavy "
    "light dark bright deep high low near far next close more less much many enough very super "
    "sorry welcome grateful stuck lucky keen unwell poorly nervous excited confused "
    "frozen crashed correct"
)
"""Words after "is" that are no name and no thing, and after "I am" no lasting state."""

NO_VALUES: Final = ADJECTIVES | word_set(
    "such what like all every bit not no a an the my our his her its their this that in on at "
    "with from to of for going about out up down off over too so quite rather really absolutely "
    "always never still almost nearly"
)
"""Words that no value begins with. Endings tell many more."""

KIN: Final = word_set(
    "brother sister mother father mum mom dad son daughter cousin uncle aunt friend mate nephew "
    "niece grandson granddaughter grandma grandpa grandmother grandfather parents kids children "
    "child baby grandchild toddler family in-laws brother-in-law sister-in-law stepson "
    "stepdaughter colleague team"
)
KINDS: Final = {
    "departments": "department", "desks": "desk", "teams": "team", "schools": "school",
    "gyms": "gym", "banks": "bank", "vets": "vet", "dentists": "dentist", "doctors": "doctor",
    "offices": "office", "courses": "course", "majors": "major", "providers": "provider",
    "suppliers": "supplier", "networks": "network", "branches": "branch", "sites": "site",
    "churches": "church", "clubs": "club", "shifts": "shift", "roles": "role", "wards": "ward",
    "surgeries": "surgery", "insurers": "insurer", "barbers": "barber", "classes": "class",
    "employers": "employer", "landlords": "landlord", "phones": "phone", "cars": "car",
}  # fmt: skip
"""What one changes from one to another: "moved departments from Payroll to Procurement"."""

PARTNERS: Final = word_set(
    "husband wife partner boyfriend girlfriend fiance fiancee spouse flatmate roommate housemate "
    "eldest youngest twin ex"
)
"""People close to the speaker, of whom as much is told as of kin."""

RELATIVES: Final = KIN | PARTNERS
JOINING: Final = word_set(
    "of and above below under near beside with called named like as or at in on"
)
"""Words after which a noun phrase goes on with an article."""
DONE: Final = TAKEN | word_set(
    "celebrated resumed reverted learned learnt qualified trained graduated volunteered retrained "
    "moved lived worked taught been kept owned played followed supported worn spoken sung belonged "
    "banked shopped driven ridden swum"
)
"""What one has done that says how things are since."""

GOING: Final = word_set("went gone came come jumped turned swung progressed graduated")
"""Verbs of going: with "over" or "from" before "to" they are of a change, else of a trip."""

STANDING: Final = word_set(
    "employed registered enrolled based insured retired signed banned engaged contracted seconded "
    "apprenticed affiliated subscribed stationed settled called named known located housed "
    "obsessed devoted"
)
"""Participles of what lasts. Others, such as "excited", tell of a moment."""

NO_STATE: Final = word_set(
    "to about since for like because as so very really super too such all what that this excited "
    "thrilled stoked inspired keen curious passionate determined grateful thankful blown sure ok "
    "okay alright well fine interested able willing up always both"
)
"""Words after "I am" that say nothing lasting."""

DANGLING: Final = word_set(
    "a an the my our of in on at to for and or with from by every each which i"
)
"""Words that no value ends with."""

THINGS: Final = word_set(
    "pronouns phone car bike laptop address email e-mail number password passcode pin code plate "
    "bank gym school church landline wifi broadband doctor surgery practice club team employer "
    "manager postcode username handle nickname surname name birthday anniversary flat apartment "
    "office standup meeting lesson class shift appointment deadline favourite favorite band book "
    "film drink dish energy supplier insurer insurance pension rent salary wage mortgage tariff"
)
"""Things of which one has one, in notes that leave out whose they are."""

CHOSEN: Final = word_set("chose opted ended decided closed passed had")
DIAGNOSED: Final = word_set(
    "diagnosed promoted transferred reassigned seconded appointed elected made named given "
    "assigned accepted admitted moved relocated hired prescribed put switched upgraded"
)
"""What was done to the speaker and lasts: "I was diagnosed with …"."""
PETS: Final = word_set("dog cat puppy kitten horse rabbit parrot hamster tortoise pet")
THOUGHTS: Final = word_set(
    "point problem question issue thing idea plan dream goal guess bet fear worry hope wish advice "
    "answer excuse opinion reason aim concern theory impression understanding view take thought "
    "suggestion feeling preference mistake trick tip motto secret fault turn priority day morning "
    "evening week year weekend night time life mood mind head heart rule message response "
    "reaction story joke brain expression face character hero word words experience intention "
    "enemy nemesis challenge biggest best worst next first last "
)
"""Nouns with which one says what one thinks: "my point is Paris"."""

JUDGED: Final = word_set(
    "nightmare dream joke star angel legend saint treat pain delight disaster mess godsend "
    "lifesaver blessing genius idiot monster riot hoot gem beast beauty darling sweetheart "
    "mystery bargain success failure bit lot pleasure shame bore shock surprise relief miracle "
    "wreck enemy nemesis"
)
"""What something is called that one likes or not: "my new boss is a nightmare"."""

WORKED: Final = word_set(
    "variable output query error exception function result test tests build script loop regex "
    "input log logs bug resolution battery cursor pointer mood "
    "total answer"
)
"""What is as it is for a moment, or of the task at hand: "my output is now 3"."""

RIDES: Final = word_set("train flight bus plane taxi cab uber ferry tram coach parcel order")
"""What is somewhere for a moment: "my train is at platform 4"."""

HAPPENING: Final = word_set(
    "call meeting queue line chat conversation discussion party session stream zoom webinar lobby "
    "server thread dots forces others him her them you us me it that this in up mind minds subject "
    "topic room rooms clothes outfit sheets nappy diaper tyre tire bulb lightbulb "
    "motorway road traffic pyjamas gear"
)
"""What one joins or changes for a moment."""

PASSING: Final = word_set(
    "bed sofa couch table chair door window place room side bad good clothes time day page "
    "topic subject hostel hotel left right top bottom sad happy zero start beginning excited "
    "angry calm being feeling lane line gear tab step jeans chapter episode"
)
"""What one goes from only for a moment: "from the sofa to the bed", "from one to the next"."""
