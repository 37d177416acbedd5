// Entries, newest first: to add, correct and forget, the last after a look at what it touches.

import { get, post, update } from "/page/api.js";
import { against, counted, field, fill, formatted, h, nothing, put, say, superseded, to, toEntry, when } from "/page/dom.js";
import { FILTERS, filters } from "/page/filters.js";
import { leaf } from "/page/tree.js";

const PAGE = 50;

export async function entries(page, query) {
  const where = Object.fromEntries(FILTERS.filter((name) => query[name]).map((name) => [name, query[name]]));
  const list = h("ol", { class: "entries" });
  put(page,
    adding(Boolean(query.add)),
    h("form", { class: "fields", role: "search", on: { submit: (event) => {
      event.preventDefault();
      location.hash = to("entries", Object.fromEntries(new FormData(event.target)));
    } } },
    filters(query), h("button", {}, "Filter")),
    list);
  put(page, await withheld());
  await more(list, where, null);
  if (!list.childElementCount) fill(list, nothing(Object.keys(where).length ? "No entry meets the filter." : "Nothing is remembered here yet."));
  else if (Object.keys(where).length) put(page, forgetting({ ...where }, "Forget all of these…", "Forget all entries that meet the filter for good?", []));
}

/** A form for a new entry, closed until it is wanted. */
function adding(open) {
  const note = h("p", { class: "problem", role: "alert" });
  const text = h("textarea", { name: "text", rows: "4", required: true, "aria-label": "Text to remember" });
  const form = h("form", { on: { submit: async (event) => {
    event.preventDefault();
    const given = Object.fromEntries([...new FormData(event.target)].filter(([, value]) => value));
    if (given.at) given.at = new Date(given.at).toISOString();
    try {
      const receipt = await post("entries", given);
      say(receipt.ids.length ? "Added." : "It is remembered already.");
      if (receipt.ids.length) location.hash = toEntry(receipt.ids[0]);
      else fill(note, "It is remembered already, in this source.");
    } catch (error) {
      fill(note, error.message);
    }
  } } },
  text,
  h("div", { class: "fields" },
    field("its source", h("input", { name: "source", placeholder: "notes" })),
    field("who said it", h("input", { name: "speaker" })),
    field("when", h("input", { name: "at", type: "datetime-local" })),
    h("button", {}, "Remember")),
  note);
  return h("details", { class: "card adding", open }, h("summary", {}, "Add an entry"), form);
}

/** Entries that nothing finds: retracted, or proposed by an agent and not accepted yet. */
async function withheld() {
  const held = await get("withheld", {});
  if (!held.length) return null;
  return h("details", { class: "card", open: held.some((one) => one.correction.what === "proposed") },
    h("summary", {}, `${counted(held.length, "entry", "entries")} withheld`),
    held.map(({ entry: one, correction }) => h("article", { class: "brief" },
      h("header", {}, one.source, h("span", { class: "tag" }, correction.what),
        correction.by ? h("span", { class: "who" }, correction.by) : null, when(correction.at)),
      h("p", { class: "text clamp" }, one.text),
      correction.reason ? h("p", {}, correction.reason) : null,
      h("p", { class: "row" },
        changing(correction.what === "proposed" ? "Accept" : "Restore", "restore", one.id),
        erasing(one.id)))));
}

function erasing(id) {
  const box = h("span", {}, h("button", { type: "button", class: "danger", on: { click: () => go(box, { ids: [id] }) } }, "Forget for good"));
  return box;
}

/** A button that withholds an entry or puts it back, and draws the page again. */
function changing(title, route, id) {
  return h("button", { type: "button", class: "quiet", on: { click: async () => {
    await post(route, { entry_id: id });
    say("Done.");
    location.hash = to("entries", {});
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } } }, title);
}

async function more(list, where, cursor) {
  const page = await get("entries", { newest: true, ...where, limit: PAGE, cursor });
  put(list, page.entries.map((one) => h("li", {}, brief(one))));
  if (!page.next) return;
  const button = h("button", { type: "button", class: "quiet", on: { click: async () => {
    button.disabled = true;
    await more(list, where, page.next);
    item.remove();
  } } }, "More");
  const item = h("li", {}, button);
  put(list, item);
}

export function brief(entry) {
  return h("article", { class: "brief" },
    h("header", {},
      h("a", { href: toEntry(entry.id) }, entry.source),
      entry.speaker ? h("span", { class: "who" }, entry.speaker) : null,
      when(entry.at ?? entry.added)),
    h("p", { class: "text clamp" }, entry.text),
    against(entry));
}

export async function entry(page, _, id) {
  const story = await get(`page/entries/${encodeURIComponent(id)}/story`);
  const found = story.entry;
  put(page,
    h("header", { class: "about" },
      fact("Source", h("a", { href: to("entries", { source: found.source }) }, `${found.source} #${found.position}`)),
      found.speaker ? fact("Speaker", found.speaker) : null,
      found.session ? fact("Session", h("a", { href: to("entries", { session: found.session }) }, found.session)) : null,
      found.at ? fact("Time", when(found.at)) : null,
      fact("Added", when(found.added)),
      fact("Id", h("code", {}, found.id))),
    whole(found, story.formatted),
    against(found),
    Object.keys(found.metadata).length ? h("details", {}, h("summary", {}, "Metadata"), h("pre", {}, JSON.stringify(found.metadata, null, 2))) : null,
    h("h2", {}, "Where it went"),
    story.places.length ? h("ol", { class: "places" }, story.places.map(place)) : nothing("It is not in the tree yet."),
    part("Memos that rest on it", story.memos, (memo) => h("p", {}, h("strong", {}, memo.topic), ` ${memo.claims.map((claim) => claim.text).join(" ")}`)),
    part("What it states", story.facts, (one) => h("p", {},
      `${one.subject}, ${one.attribute}: `, h("strong", {}, one.value),
      one.superseded_by ? h("span", { class: "tag" }, superseded(one.superseded_by)) : null)),
    changing("Withhold this entry", "retract", found.id),
    forgetting({ ids: [found.id] }, "Forget this entry…", "Forget 1 entry for good?", touched(story)));
}

/** The text, formatted if it is Markdown; as it is written at a press; and the way to correct it. */
function whole(found, html) {
  const plain = h("p", { class: `text whole ${found.kind}` }, found.text);
  const body = h("div", {});
  const tools = h("p", { class: "row tools-below" });
  let isPlain = !html;
  const swap = h("button", { type: "button", class: "quiet", on: { click: () => { isPlain = !isPlain; draw(); } } });
  const correct = h("button", { type: "button", class: "quiet", on: { click: () => correcting(body, tools, found, draw) } }, "Correct…");
  function draw() {
    fill(body, isPlain ? plain : h("div", { class: "text whole formatted" }, formatted(html)));
    fill(swap, isPlain ? "Formatted" : "As it is written");
    fill(tools, correct, html ? swap : null);
  }
  draw();
  return [body, tools];
}

function correcting(body, tools, found, cancel) {
  const text = h("textarea", { rows: String(Math.min(Math.max(found.text.split("\n").length + 1, 4), 24)), "aria-label": "The corrected text" });
  text.value = found.text;
  const note = h("p", { class: "problem", role: "alert" });
  const save = async () => {
    try {
      await update(`entries/${encodeURIComponent(found.id)}`, { text: text.value });
      say("Corrected.");
      window.dispatchEvent(new HashChangeEvent("hashchange"));
    } catch (error) {
      fill(note, error.message);
    }
  };
  fill(body, text, note);
  fill(tools, h("button", { type: "button", on: { click: save } }, "Save"),
    h("button", { type: "button", class: "quiet", on: { click: cancel } }, "Cancel"));
  text.focus();
}

const fact = (name, value) => h("div", {}, h("span", { class: "name" }, name), " ", value);

function part(title, found, show) {
  return found.length ? [h("h2", {}, title), found.map(show)] : null;
}

function place(one) {
  return h("li", {}, h("ol", { class: "path" }, one.above.map(({ node, label }) => h("li", { class: node.text ? "" : "typical" }, label || "…"))), leaf(one.leaf));
}

/** A button that shows what would go; only then one that does it. */
function forgetting(which, label, title, lines) {
  const box = h("section", { class: "forgetting", "aria-live": "polite" });
  const keep = h("button", { type: "button", class: "quiet", on: { click: () => { fill(box, start); start.focus(); } } }, "Keep");
  const start = h("button", { type: "button", class: "danger quiet", on: { click: () => {
    fill(box, h("div", { class: "card warn" },
      h("h2", {}, title),
      h("ul", {}, lines.map((line) => h("li", {}, line))),
      h("div", { class: "row" },
        h("button", { type: "button", class: "danger", on: { click: () => go(box, which) } }, "Forget for good"), keep)));
    keep.focus();
  } } }, label);
  return fill(box, start);
}

function touched({ places, memos }) {
  const above = new Set(places.flatMap((one) => one.above.map(({ node }) => node.number)));
  return [
    `${counted(places.length, "leaf", "leaves")} of the tree; ${counted(above.size, "summary", "summaries")} above would be written again`,
    `${counted(memos.length, "memo")} ${memos.length === 1 ? "rests" : "rest"} on it${memos.length ? `: ${memos.map((memo) => memo.topic).join(", ")}` : ""}`,
  ];
}

async function go(box, which) {
  let done = null;
  try {
    done = await post("forget", which);
  } catch (error) {
    put(box, h("p", { class: "problem", role: "alert" }, error.message));
    return;
  }
  const derived = Object.entries(done.views).map(([view, count]) => `${count} ${view}`).join(", ");
  const bytes = done.scrubbed ? "Nothing of it is left in the file." : "The file is being read; its bytes are cleaned when the memory settles.";
  const text = `Forgot ${counted(done.entries.length, "entry", "entries")}${derived ? ` and ${derived}` : ""}. ${bytes}`;
  fill(box, h("p", { class: "card" }, text), quoting(done.replies));
  say(text);
}

/** What a model said that may quote what is gone: it stays, and each can be looked at. */
function quoting(replies) {
  if (!replies?.length) return null;
  return h("div", { class: "card warn" },
    h("p", {}, "What a model said may still quote it:"),
    h("ul", {}, replies.map((id) => h("li", {}, h("a", { href: toEntry(id) }, id)))));
}
