// Lanes on a common axis of time.

import { h } from "/page/dom.js";

const TICKS = 5;

/** Lanes up to `end`, each a `title` and `spans` of {from, until, title}, in milliseconds. */
export function timeline(lanes, label, end) {
  const all = [end, ...lanes.flatMap((lane) => lane.spans.flatMap((span) => [span.from, span.until]))];
  const first = Math.min(...all);
  const length = Math.max(Math.max(...all) - first, 1);
  const share = (time) => (time - first) / length;
  const ticks = Array.from({ length: TICKS }, (_, place) => place / (TICKS - 1));
  return h("div", { class: "timeline", role: "list", "aria-label": label },
    h("div", { class: "axis", "aria-hidden": "true" }, h("span"), h("span", { class: "scale" }, ticks.map((at) =>
      h("span", { style: { "--at": at } }, new Date(first + at * length).toLocaleDateString(undefined, { dateStyle: "medium" }))))),
    lanes.map((lane) => h("div", { class: "lane", role: "listitem" }, lane.title,
      h("span", { class: "track", "aria-hidden": "true" }, lane.spans.map((span) =>
        h("span", { class: `span ${span.kind ?? ""}`, style: { "--from": share(span.from), "--length": share(span.until) - share(span.from) }, title: span.title }, span.title))))));
}
