// What a memory holds, what is still to be done, and what models have cost.

import { get } from "/page/api.js";
import { counted, fill, h, nothing, put } from "/page/dom.js";
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
    h("h2", {}, "Tokens spent"), spent(stats.spent));
}

function pending(body, work) {
  const rows = Object.entries(work.pending).filter(([, count]) => count);
  const most = Math.max(...rows.map(([, count]) => count), 1);
  if (!rows.length) return nothing("Nothing is left to be done.");
  return [
    h("dl", { class: "bars" }, rows.map(([view, count]) => h("div", {}, h("dt", {}, view), h("dd", {},
      h("span", { class: "track whole", "aria-hidden": "true" }, h("span", { class: "bar own", style: { "--share": count / most } })),
      h("span", { class: "value" }, count.toLocaleString()))))),
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
