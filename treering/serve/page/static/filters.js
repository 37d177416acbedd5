// The fields that narrow down a list.

import { field, h } from "/page/dom.js";

export const FILTERS = ["source", "speaker", "session", "since", "until"];
const DAYS = { since: "from this day on", until: "before this day" };

/** The fields, filled as the address says. */
export function filters(query) {
  return FILTERS.map((name) => field(name, DAYS[name]
    ? h("input", { name, type: "date", value: query[name]?.slice(0, 10) ?? "", title: DAYS[name] })
    : h("input", { name, value: query[name] ?? "" })));
}
