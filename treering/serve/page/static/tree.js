// The tree of summaries: branches open when asked, and are read then.

import { get } from "/page/api.js";
import { counted, fill, h, nothing, put } from "/page/dom.js";

const PAGE = 100;

export async function tree(page) {
  const top = h("div", { class: "branches" });
  put(page, h("p", { class: "lead" }, "Summaries stand for the texts below them. Open one to see what it rests on."), top);
  await more(top, "tree", 0);
  if (!top.childElementCount) fill(top, nothing("The tree is empty."));
}

/** Append the nodes of a list from `offset` on, and a button for those that follow. */
async function more(place, path, offset) {
  const nodes = await get(path, { offset, limit: PAGE + 1 });
  put(place, nodes.slice(0, PAGE).map((node) => (node.leaf ? leaf(node) : branch(node))));
  if (nodes.length <= PAGE) return;
  const button = h("button", { type: "button", class: "quiet", on: { click: async () => {
    button.remove();
    await more(place, path, offset + PAGE);
  } } }, "More");
  put(place, button);
}

function branch(node) {
  const inside = h("div", { class: "branches" });
  let read = false;
  return h("details", { on: { toggle: async (event) => {
    if (!event.target.open || read) return;
    read = true;
    await more(inside, `tree/nodes/${node.number}/children`, 0);
  } } },
  h("summary", {},
    h("span", { class: "count", title: counted(node.leaves, "text") }, node.leaves.toLocaleString()),
    h("span", {}, node.text || "…"),
    node.pending ? h("span", { class: "tag" }, "pending") : null,
    node.made_by ? h("span", { class: "by" }, node.made_by) : null),
  inside);
}

export function leaf(node) {
  return h("p", { class: "leaf" },
    h("a", { href: `#/entry/${encodeURIComponent(node.entry_id)}` }, node.source ?? "entry"),
    node.repeats ? h("span", { class: "tag" }, `×${node.repeats + 1}`) : null,
    " ", h("span", { class: "text" }, node.text));
}
