// Memos by topic on a time line.

import { get } from "/page/api.js";
import { counted, fill, h, nothing, put, say, toEntry, when } from "/page/dom.js";
import { timeline } from "/page/timeline.js";

export async function memos(page) {
  const found = await get("memos");
  if (!found.length) {
    put(page, nothing("There is no memo yet. They are written from conversations by a language model when the memory settles."));
    return;
  }
  const detail = h("div", { class: "memo-detail", "aria-live": "polite" });
  const dated = found.filter((memo) => memo.spans.some((span) => span.at)).sort((a, b) => begin(a) - begin(b));
  const undated = found.filter((memo) => !dated.includes(memo));
  say(counted(found.length, "memo"));
  if (dated.length) put(page, line(dated, detail));
  if (undated.length) {
    put(page, h("h2", {}, "Without a time"),
      h("ul", { class: "plain" }, undated.map((memo) => h("li", {}, opener(memo, detail)))));
  }
  put(page, detail);
}

const times = (memo) => memo.spans.flatMap((span) => [span.at, span.until]).filter(Boolean).map(Date.parse);
const begin = (memo) => Math.min(...times(memo));

function line(found, detail) {
  return timeline(found.map((memo) => ({
    title: opener(memo, detail),
    spans: memo.spans.filter((span) => span.at).map((span) => ({
      from: Date.parse(span.at), until: Date.parse(span.until ?? span.at), title: counted(span.entry_ids.length, "line"),
    })),
  })), "Topics by time", Date.now());
}

function opener(memo, detail) {
  return h("button", { type: "button", class: "topic", "aria-expanded": "false", on: { click: (event) => open(event.currentTarget, memo, detail) } },
    memo.pinned ? "★ " : null, memo.topic);
}

async function open(button, memo, detail) {
  for (const other of document.querySelectorAll(".topic")) other.setAttribute("aria-expanded", String(other === button));
  const lines = h("ol", { class: "lines" });
  fill(detail, h("article", { class: "card" },
    h("h2", {}, memo.topic),
    h("p", {}, memo.claims.map((claim) => h("span", claim.supported ? {} : { class: "doubted", title: "not supported by its lines" }, `${claim.text} `))),
    h("p", { class: "meta" }, `${memo.origin}${memo.writer ? ` by ${memo.writer}` : ""}, `, when(memo.made)),
    lines));
  const ids = memo.spans.flatMap((span) => span.entry_ids);
  for (const entry of await Promise.all(ids.map((id) => get(`entries/${encodeURIComponent(id)}`)))) {
    put(lines, h("li", {}, h("a", { href: toEntry(entry.id) }, entry.speaker ?? entry.role ?? entry.source), " ", entry.text));
  }
  detail.scrollIntoView({ block: "nearest" });
}
