// What is around a hit: its branch of the tree as nested lists, and the hits that it is related to.

import { get } from "/page/api.js";
import { h, nothing, put, s, toEntry } from "/page/dom.js";

const SIBLINGS = 8;
const DRAWN = 8; // related hits
const CHARS = 33; // of a text in the drawing

/** A part of a hit that is read and drawn once it is opened. */
export function around(hit, hits) {
  const body = h("div", { class: "around" });
  let read = false;
  return h("details", { on: { toggle: async (event) => {
    if (!event.target.open || read) return;
    read = true;
    const { places } = await get(`page/entries/${encodeURIComponent(hit.entry_id)}/story`);
    const below = places.length ? await get("page/tree", { below: places[0].above.at(-1)?.node.number }) : null;
    put(body,
      h("h3", {}, "In the tree"), places.length ? lineage(places[0], below) : nothing("It is not in the tree yet."),
      h("h3", {}, "Related hits"), relations(hit, hits));
  } } }, h("summary", {}, "Tree and relations"), body);
}

/** The summaries above a leaf, one in the other, and the leaf among its neighbours. */
function lineage({ leaf, above }, below) {
  const nodes = below.branches.map(({ node, label }) => ({ number: node.number, label }));
  const shown = nodes.slice(0, SIBLINGS).filter((one) => one.number !== leaf.number);
  const item = (label, props, inside) => h("li", props, h("span", {}, label || "…"), inside);
  let list = h("ul", { class: "lineage" },
    item(leaf.text, { class: "mine" }),
    shown.map((one) => item(one.label, {})),
    nodes.length > shown.length + 1 ? h("li", {}, `… and ${nodes.length - shown.length - 1} more`) : null);
  for (const { label } of above.toReversed()) list = h("ul", { class: "lineage" }, item(label, {}, list));
  return list;
}

/** What two hits share, in words. */
function shared(one, other) {
  const isNext = one.source === other.source && Math.abs(one.position - other.position) === 1;
  const same = [
    isNext ? "next to it" : one.source === other.source && "same source",
    one.session && one.session === other.session && "same session",
    one.speaker && one.speaker === other.speaker && "same speaker",
    one.at && other.at && one.at.slice(0, 10) === other.at.slice(0, 10) && "same day",
  ];
  return same.filter(Boolean);
}

/** A hit to the left, and those that share something with it to the right. */
function relations(hit, hits) {
  const others = hits.filter((one) => one !== hit).map((one) => [one, shared(hit, one)]).filter(([, same]) => same.length).slice(0, DRAWN);
  if (!others.length) return nothing("No other hit is of the same source, speaker or day.");
  const height = others.length * 34 + 10;
  const middle = height / 2;
  const drawn = s("svg", { class: "graph", viewBox: `0 0 900 ${height}`, role: "img", "aria-label": "Related hits" });
  others.forEach(([one, same], place) => {
    const y = place * 34 + 22;
    put(drawn,
      s("path", { class: "edge", d: `M280 ${middle} C335 ${middle} 335 ${y} 390 ${y} H620`, "stroke-width": String(same.length) }),
      s("text", { class: "shared", x: 394, y: y - 4 }, same.join(", ")),
      s("a", { href: toEntry(one.entry_id) }, box(620, y, one, "")));
  });
  return put(drawn, box(0, middle, hit, "center"));
}

function box(x, y, hit, kind) {
  const flat = hit.text.replaceAll(/\s+/g, " ");
  return s("g", { class: `node ${kind}` },
    s("title", {}, hit.text),
    s("rect", { x, y: y - 13, width: 280, height: 26, rx: 6 }),
    s("text", { x: x + 8, y: y + 4 }, flat.length > CHARS ? `${flat.slice(0, CHARS - 2)}…` : flat));
}
