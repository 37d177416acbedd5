// What a memory holds, what is still to be done, and what models have cost.

import { chosen, get, Problem, remove } from "/page/api.js";
import { counted, fill, h, nothing, put, say } from "/page/dom.js";
import { doer } from "/page/work.js";

export async function status(page) {
  const body = h("div", {});
  put(page, body);
  await draw(body);
}

async function draw(body) {
  const [stats, work] = await Promise.all([get("stats"), get("pending")]);
  const figures = [
    ["entries", stats.entries], ["sources", stats.sources], ["fragments", stats.fragments], ["embedded", stats.embedded],
  ];
  fill(body,
    h("div", { class: "figures" }, figures.map(([name, value]) => h("div", {}, h("strong", {}, value.toLocaleString()), h("span", {}, name)))),
    h("p", { class: "meta" }, `space ${stats.space}; model ${stats.model ?? "none yet"}${stats.dimension ? `, ${stats.dimension} dimensions` : ""}; the file has ${(stats.bytes / 1e6).toFixed(1)} MB`),
    h("h2", {}, "Pending work"), pending(body, work),
    h("h2", {}, "Tokens spent"), spent(stats.spent),
    h("h2", {}, "This space"), removing(body, stats));
}

/** A button that says what would go with the space; only then one that removes it. */
function removing(body, stats) {
  const box = h("section", { class: "forgetting", "aria-live": "polite" });
  const start = h("button", { type: "button", class: "danger quiet", on: { click: () => {
    const keep = h("button", { type: "button", class: "quiet", on: { click: () => { fill(box, start); start.focus(); } } }, "Keep");
    fill(box, h("div", { class: "card warn" },
      h("h3", {}, `Remove the space “${stats.space}” for good?`),
      h("p", {}, `Its ${counted(stats.entries, "entry", "entries")} from ${counted(stats.sources, "source")} go, with all that was derived from them, its name, and the keys that open only it. Other spaces stay as they are.`),
      h("div", { class: "row" }, h("button", { type: "button", class: "danger", on: { click: () => go(body, box, stats) } }, "Remove for good"), keep)));
    keep.focus();
  } } }, "Remove this space…");
  return fill(box, start);
}

async function go(body, box, stats) {
  let done = null;
  try {
    done = await remove(`spaces/${encodeURIComponent(stats.space)}`);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    put(box, h("p", { class: "problem", role: "alert" }, error.message));
    return;
  }
  const bytes = done.scrubbed ? "Nothing of it is left in the file." : "The file is being read; its bytes are cleaned when the memory settles.";
  const text = `Removed the space ${stats.space} with ${counted(done.entries.length, "entry", "entries")}. ${bytes}`;
  chosen.space = "";
  fill(body, h("p", { class: "card" }, text), h("p", {}, h("a", { href: "#/search" }, "Go on to the search")));
  say(text);
  window.dispatchEvent(new Event("spaces"));
}

function pending(body, work) {
  const rows = Object.entries(work.pending).filter(([, count]) => count);
  if (!rows.length) return nothing("Nothing is left to be done.");
  return [
    h("ul", { class: "work" }, rows.map(([kind]) => h("li", {}, work.told[kind]))),
    doer("Do it now", () => draw(body)),
  ];
}

function spent(rows) {
  if (!rows.length) return nothing("No language model has been used.");
  const cells = ["operation", "model", "calls", "prompt tokens", "reply tokens"];
  return h("div", { class: "wide" }, h("table", {},
    h("thead", {}, h("tr", {}, cells.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map((one) => h("tr", {},
      h("th", { scope: "row" }, one.operation), h("td", {}, one.model),
      [one.calls, one.prompt_tokens, one.completion_tokens].map((value) => h("td", { class: "number" }, value.toLocaleString()))))),
    h("tfoot", {}, h("tr", {}, h("th", { scope: "row", colspan: "3" }, `together ${counted(sum(rows, "calls"), "call")}`),
      h("td", { class: "number" }, sum(rows, "prompt_tokens").toLocaleString()),
      h("td", { class: "number" }, sum(rows, "completion_tokens").toLocaleString())))));
}

const sum = (rows, name) => rows.reduce((total, one) => total + one[name], 0);
