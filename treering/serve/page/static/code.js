// Code: search, and the graph around a definition.

import { get, post } from "/page/api.js";
import { counted, field, h, nothing, put, s, say, select, to } from "/page/dom.js";
import { bars, widest } from "/page/search.js";

const DRAWN = 9; // neighbours a side that a drawing can hold; the lists have all of them

export async function code(page, query) {
  const roots = await get("code/repositories");
  if (!roots.length) {
    put(page, nothing("No repository is indexed: treering code index FOLDER."));
    return;
  }
  const root = roots.includes(query.root) ? query.root : roots[0];
  put(page, form(query, roots, root));
  if (query.path && query.name) await around(page, root, query);
  else if (query.q) await found(page, root, query.q);
}

function form(query, roots, root) {
  return h("form", { class: "ask", role: "search", on: { submit: (event) => {
    event.preventDefault();
    location.hash = to("code", Object.fromEntries(new FormData(event.target)));
  } } },
  h("div", { class: "row" },
    h("input", { type: "search", name: "q", value: query.q ?? "", "aria-label": "Search the code", placeholder: "What shall the code do?", autocomplete: "off" }),
    h("button", {}, "Search")),
  roots.length > 1 ? field("repository", select("root", roots, root)) : h("p", { class: "meta" }, root));
}

async function found(page, root, q) {
  const hits = await post("code/search", { query: q, root });
  say(counted(hits.length, "hit"));
  if (!hits.length) put(page, nothing("Nothing found."));
  const most = widest(hits);
  put(page, h("ol", { class: "hits" }, hits.map((hit) => h("li", {}, h("article", { class: "hit" },
    h("header", {},
      hit.definition ? h("a", { href: at(root, hit.path, hit.definition) }, hit.definition) : h("span", {}, hit.path),
      h("span", { class: "who" }, `${hit.path}:${hit.first_line}–${hit.last_line}`),
      h("strong", { class: "score" }, hit.score.toFixed(2))),
    h("pre", { class: "code", tabindex: "0" }, hit.text),
    bars(hit.why, most))))));
}

const at = (root, path, name) => to("code", { root, path, name });

async function around(page, root, query) {
  const around = await get("code/neighbours", { root, path: query.path, definition: query.name });
  const list = (title, some) => h("section", {}, h("h3", {}, `${title} (${some.length})`),
    some.length ? h("ul", { class: "plain" }, some.map((one) => h("li", {},
      h("a", { href: at(root, one.path, one.definition) }, one.definition),
      one.calls > 1 ? h("span", { class: "tag" }, `${one.calls} calls`) : null,
      h("span", { class: "who" }, `${one.path}:${one.line}`)))) : nothing("none"));
  put(page,
    h("h2", {}, around.center.definition),
    h("p", { class: "meta" }, `${around.center.kind}, ${around.center.path}:${around.center.line}`),
    around.doc ? h("p", { class: "text" }, around.doc) : null,
    drawing(around, root),
    h("div", { class: "columns" }, list("Called by", around.callers), list("Calls", around.callees),
      around.members.length ? list("Members", around.members) : null),
    h("pre", { class: "code", tabindex: "0" }, around.text));
}

/** The graph as a drawing: callers to the left, what it calls to the right. */
function drawing(around, root) {
  const sides = [around.callers.slice(0, DRAWN), around.callees.slice(0, DRAWN)];
  const rows = Math.max(sides[0].length, sides[1].length, 1);
  const height = rows * 40 + 20;
  const y = (count, place) => height / 2 + (place - (count - 1) / 2) * 40;
  const drawn = s("svg", { class: "graph", viewBox: `0 0 900 ${height}`, role: "img", "aria-label": `Calls around ${around.center.definition}` });
  sides.forEach((some, side) => some.forEach((one, place) => {
    const [from, till] = side === 0 ? [260, 330] : [570, 640];
    const [start, end] = side === 0 ? [y(some.length, place), height / 2] : [height / 2, y(some.length, place)];
    put(drawn, s("path", { class: "edge", d: `M${from} ${start} C${from + 40} ${start} ${till - 40} ${end} ${till} ${end}`, "stroke-width": String(Math.min(1 + one.calls / 2, 5)) }));
  }));
  sides.forEach((some, side) => some.forEach((one, place) =>
    put(drawn, s("a", { href: at(root, one.path, one.definition) }, box(side === 0 ? 10 : 640, y(some.length, place), one, "")))));
  put(drawn, box(330, height / 2, around.center, "center", 240));
  return drawn;
}

function box(x, y, one, kind, width = 250) {
  const most = Math.floor(width / 9);
  const label = one.definition.length > most ? `…${one.definition.slice(1 - most)}` : one.definition;
  return s("g", { class: `node ${kind}` },
    s("title", {}, `${one.path}:${one.line} ${one.signature}`),
    s("rect", { x, y: y - 14, width, height: 28, rx: 6 }),
    s("text", { x: x + width / 2, y: y + 5, "text-anchor": "middle" }, label));
}
