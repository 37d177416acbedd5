// What was stated of people and things, by whom it is about, and how it changed.

import { get } from "/page/api.js";
import { counted, field, fill, h, nothing, put, say, superseded, to, toEntry, when } from "/page/dom.js";
import { timeline } from "/page/timeline.js";

const SHOWN = 100; // subjects; a filter finds the others
const LANES = 40;

export async function facts(page, query) {
  const found = await get("facts", { as_of: query.as_of && endOf(query.as_of) });
  const bySubject = grouped(found, (fact) => fact.subject);
  const names = [...bySubject.keys()];
  const wanted = (query.subject ?? "").toLowerCase();
  const chosen = names.filter((name) => name.toLowerCase().includes(wanted));
  put(page,
    h("p", { class: "lead" }, "What was said of people and things, by their own statements. A later statement stands against an earlier one."),
    h("form", { class: "fields", role: "search", on: { submit: (event) => {
      event.preventDefault();
      location.hash = to("facts", Object.fromEntries(new FormData(event.target)));
    } } },
    field("about whom", h("input", { name: "subject", value: query.subject ?? "", list: "subjects", autocomplete: "off" })),
    field("as known on", h("input", { name: "as_of", type: "date", value: query.as_of ?? "" })),
    h("datalist", { id: "subjects" }, names.map((name) => h("option", { value: name }))),
    h("button", {}, "Show")));
  say(counted(chosen.length, "subject"));
  if (!chosen.length) {
    put(page, nothing(found.length ? "Nothing was stated of that." : query.as_of ? "Nothing had been stated by then." : "No statement has been found yet. \"I live in Porto\" in a chat is one."));
    return;
  }
  const end = query.as_of ? Date.parse(endOf(query.as_of)) : Date.now();
  const lanes = chosen.flatMap((name) => changes(name, bySubject.get(name), end)).slice(0, LANES);
  if (lanes.length) put(page, h("h2", {}, "What changed"), timeline(lanes, "Changes by time", end));
  put(page, chosen.slice(0, SHOWN).map((name) => subject(name, bySubject.get(name))),
    chosen.length > SHOWN ? nothing(`… and ${chosen.length - SHOWN} more; name one above.`) : null);
}

/** As Map.groupBy, which not every browser has yet. */
function grouped(found, keyOf) {
  const groups = new Map();
  for (const fact of found) {
    const key = keyOf(fact);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(fact);
  }
  return groups;
}

/** The last moment of a day, here: what was said on that day was known on it. */
function endOf(day) {
  const end = new Date(`${day}T23:59:59.999`);
  return Number.isNaN(end.getTime()) ? day : end.toISOString();
}

const holds = (fact) => !fact.superseded_by && fact.sense === "holds";
const time = (fact) => Date.parse(fact.at);
const byAttribute = (found) => [...grouped(found, (fact) => fact.attribute)];

/** A lane for each attribute with more than one statement: each value lasts until the next one, and
    the last one, if it holds, until the end. */
function changes(name, found, end) {
  return byAttribute(found.filter((fact) => fact.at)).filter(([, values]) => values.length > 1).map(([attribute, values]) => {
    const sorted = values.toSorted((a, b) => time(a) - time(b));
    return {
      title: h("span", { class: "topic" }, `${name} · ${attribute}`),
      spans: sorted.map((fact, place) => ({
        from: time(fact), until: sorted[place + 1] ? time(sorted[place + 1]) : holds(fact) ? end : time(fact), title: worded(fact), kind: holds(fact) ? "" : "past",
      })),
    };
  });
}

function subject(name, found) {
  return h("section", { class: "card subject" },
    h("h2", {}, name),
    h("dl", { class: "slots" }, byAttribute(found).map(([attribute, values]) => [
      h("dt", {}, attribute),
      h("dd", {}, h("ol", { class: "plain" }, values.map(value))),
    ])));
}

/** When something was stated, and whether it holds; a fact may have no time. */
function stated(at, past) {
  const said = at ? [past ? "stated " : "last stated ", when(at)] : null;
  return past ? [said, said ? ", " : null, superseded(past)] : said ?? "last stated";
}

/** A value with its sense: a fact may have ended or be planned. */
function worded(fact) {
  return fact.sense === "holds" ? fact.value : `${fact.value} (${fact.sense})`;
}

function value(fact) {
  const past = fact.superseded_by;
  return h("li", {},
    h("a", { href: toEntry(fact.entry_id), class: past ? "past" : "" }, worded(fact)),
    h("span", { class: "who" }, stated(fact.at, past)));
}
