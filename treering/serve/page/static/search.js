// Search, with the score taken apart: each term is a bar, and the bars add up.

import { get, post } from "/page/api.js";
import { around } from "/page/around.js";
import { against, counted, field, fill, h, marked, nothing, put, say, select, to, toEntry, when } from "/page/dom.js";
import { brief } from "/page/entries.js";
import { FILTERS, filters } from "/page/filters.js";

const OWN = new Set(["lexical", "dense"]);
const NEWEST = 10;

export async function search(page, query) {
  const results = h("div", { class: "results" });
  put(page, form(query), results);
  if (!query.q) {
    page.querySelector("input[type=search]").focus({ preventScroll: true });
    await newest(results);
    return;
  }
  const wanted = { query: query.q, k: Number(query.k ?? 10), mode: query.mode ?? "hybrid" };
  for (const name of FILTERS) if (query[name]) wanted[name] = query[name];
  if (query.relations === "none") wanted.relations = [];
  const hits = await post("search", wanted);
  say(counted(hits.length, "hit"));
  const most = widest(hits);
  if (!hits.length) fill(results, nothing("Nothing found."));
  else fill(results, legend(), h("ol", { class: "hits" }, hits.map((hit) => shown(hit, most, query.q, hits))));
}

/** What is shown before anything is asked for. */
async function newest(results) {
  const page = await get("entries", { newest: true, limit: NEWEST });
  if (!page.entries.length) {
    fill(results, nothing("Nothing is remembered here yet. "), h("p", {}, h("a", { href: "#/entries?add=1" }, "Add an entry")));
    return;
  }
  fill(results, h("h2", {}, "Newest"), h("ol", { class: "entries" }, page.entries.map((entry) => h("li", {}, brief(entry)))),
    page.next ? h("p", {}, h("a", { href: "#/entries" }, "All entries")) : null);
}

function form(query) {
  return h("form", { class: "ask", role: "search", on: { submit: sent } },
    h("div", { class: "row" },
      h("input", { type: "search", name: "q", value: query.q ?? "", "aria-label": "Search the memory", placeholder: "What do you want to know?", autocomplete: "off" }),
      h("button", {}, "Search")),
    h("details", { open: FILTERS.some((name) => query[name]) },
      h("summary", {}, "Filters and ranking"),
      h("div", { class: "fields" }, filters(query),
        field("hits", select("k", ["5", "10", "25", "50"], query.k ?? "10")),
        field("base score", select("mode", ["hybrid", "lexical", "dense"], query.mode ?? "hybrid")),
        field("relations", select("relations", [["", "as fits the content"], ["none", "none"]], query.relations ?? "")))));
}

function sent(event) {
  event.preventDefault();
  const given = Object.fromEntries(new FormData(event.target));
  if (given.k === "10") delete given.k;
  if (given.mode === "hybrid") delete given.mode;
  location.hash = to("search", given);
}

function legend() {
  return h("p", { class: "legend" },
    h("span", { class: "swatch own" }), " base score ",
    h("span", { class: "swatch related" }), " what related fragments add. The terms sum to the score.");
}

/** The largest term of all scores, which has the longest bar. */
export const widest = (hits) => Math.max(...hits.flatMap((hit) => Object.values(hit.why.terms).map(Math.abs)), 1e-9);

function shown(hit, most, query, hits) {
  return h("li", {}, h("article", { class: "hit" },
    h("header", {},
      h("a", { href: toEntry(hit.entry_id) }, hit.source),
      hit.speaker ? h("span", { class: "who" }, hit.speaker) : null,
      when(hit.at),
      h("strong", { class: "score", title: "score" }, hit.score.toFixed(2))),
    h("p", { class: `text ${hit.kind}` }, marked(hit.text, query)),
    against(hit),
    hit.times > 1 ? h("p", { class: "folded" }, `× ${hit.times}`, hit.at ? [", latest on ", when(hit.at)] : null) : null,
    hit.was.map((older) => h("p", { class: "folded" }, `was: ${older.text} `, older.times > 1 ? `× ${older.times} ` : null, when(older.at))),
    bars(hit.why, most),
    around(hit, hits)));
}

/** One row a term: its name, a bar from the middle, its value. */
export function bars(why, most) {
  const raw = { lexical: why.bm25 && `BM25 ${why.bm25.toFixed(2)}`, dense: why.cosine && `cosine ${why.cosine.toFixed(2)}` };
  return h("dl", { class: "bars" }, Object.entries(why.terms).map(([name, value]) => h("div", { title: raw[name] },
    h("dt", {}, name),
    h("dd", {},
      h("span", { class: "track", "aria-hidden": "true" },
        h("span", {
          class: `bar ${OWN.has(name) ? "own" : "related"} ${value < 0 ? "minus" : "plus"}`,
          style: { "--share": Math.min(Math.abs(value) / most, 1).toFixed(4) },
        })),
      h("span", { class: "value" }, `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`)))));
}
