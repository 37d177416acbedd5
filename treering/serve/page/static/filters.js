// The fields that narrow down a list, with suggestions of the names there are.

import { chosen, get } from "/page/api.js";
import { field, fill, h } from "/page/dom.js";

export const FILTERS = ["source", "speaker", "session", "since", "until"];
const NAMED = ["source", "speaker", "session"];
const HINTS = { since: "from this day on", until: "before this day" };

/** The fields, filled as the address says. */
export function filters(query) {
  return FILTERS.map((name) => NAMED.includes(name)
    ? field(name, named(name, query[name]))
    : field(name, h("input", { name, type: "date", value: query[name]?.slice(0, 10) ?? "", title: HINTS[name] })));
}

/** An input that suggests names once it is entered; what is no name can be typed all the same. */
export function named(kind, value = "", props = {}) {
  const list = h("datalist", { id: `names-${kind}-${Math.random().toString(36).slice(2)}` });
  const offer = async () => {
    const names = await namesOf(chosen.space);
    fill(list, (names?.[`${kind}s`] ?? []).map((name) => h("option", { value: name })));
  };
  const input = h("input", { name: kind, value: value ?? "", list: list.id, autocomplete: "off", ...props, on: { focus: offer } });
  return h("span", { class: "named" }, input, list);
}

let read = { space: null, names: null, at: 0 };
const FRESH_MS = 10_000;

async function namesOf(space) {
  if (read.space !== space || Date.now() - read.at > FRESH_MS) {
    read = { space, at: Date.now(), names: get("page/names").catch(() => null) };
  }
  return read.names;
}
