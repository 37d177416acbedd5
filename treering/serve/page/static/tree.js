// The tree of summaries: branches open when asked, and are read then.

import { get } from "/page/api.js";
import { counted, fill, h, nothing, put, toEntry } from "/page/dom.js";
import { doer } from "/page/work.js";

export async function tree(page) {
  const note = h("div", { class: "note" });
  const top = h("div", { class: "branches" });
  put(page, h("p", { class: "lead" }, "Summaries stand for the texts below them. Open one to see what it rests on."), note, top);
  const first = await get("page/tree", { place: true });
  draw(top, note, first);
  if (first.unplaced) grow(page, top, note, first.unplaced); // shown while it grows: nobody waits for the last text
}

function draw(top, note, part) {
  fill(top);
  list(top, undefined, part);
  if (!part.total) fill(top, nothing("The tree is empty."));
  const unwritten = part.branches.some(({ node }) => !node.leaf && node.pending);
  fill(note, unwritten && !part.unplaced
    ? h("p", { class: "card quiet" }, "Some summaries are not written yet; until then a typical text below stands for each, in italics. ",
      doer("Write them now", async () => draw(top, note, await get("page/tree"))))
    : null);
}

/** Let texts be placed, and show the topmost nodes anew, unless somebody has opened one. */
async function grow(page, top, note, all) {
  for (let left = all; left && page.isConnected;) {
    fill(note, h("p", { class: "card quiet" }, `${counted(left, "text")} are still being given their place… `,
      h("progress", { max: all, value: all - left, "aria-label": "Texts with a place" })));
    const part = await get("page/tree", { place: true });
    left = part.unplaced;
    if (!page.isConnected) return;
    if (!top.querySelector("details[open]")) draw(top, note, part);
    else if (!left) fill(note, h("p", { class: "card quiet" }, "All texts have their place. ",
      h("button", { type: "button", class: "quiet", on: { click: async () => draw(top, note, await get("page/tree")) } }, "Show anew")));
  }
}

/** Append the nodes below a node, or the topmost, and a button for those that follow. */
function list(place, below, part) {
  put(place, part.branches.map((one) => (one.node.leaf ? leaf(one.node) : branch(one))));
  const next = part.offset + part.branches.length;
  if (next >= part.total) return;
  const button = h("button", { type: "button", class: "quiet", on: { click: async () => {
    const more = await get("page/tree", { below, offset: next });
    button.remove();
    list(place, below, more);
  } } }, `More (${(part.total - next).toLocaleString()})`);
  put(place, button);
}

function branch({ node, label }) {
  const inside = h("div", { class: "branches" });
  let read = false;
  return h("details", { on: { toggle: async (event) => {
    if (!event.target.open || read) return;
    read = true;
    list(inside, node.number, await get("page/tree", { below: node.number }));
  } } },
  h("summary", {},
    h("span", { class: "count", title: counted(node.leaves, "text") }, node.leaves.toLocaleString()),
    h("span", { class: node.text ? "" : "typical", title: node.text ? "" : "A typical text: the summary is not written yet" }, label || "…"),
    node.text && node.pending ? h("span", { class: "tag" }, "pending") : null,
    node.made_by ? h("span", { class: "by" }, node.made_by) : null),
  inside);
}

export function leaf(node) {
  return h("p", { class: "leaf" },
    h("a", { href: toEntry(node.entry_id) }, node.source ?? "entry"),
    node.repeats ? h("span", { class: "tag" }, `×${node.repeats + 1}`) : null,
    " ", h("span", { class: "text" }, node.text));
}
