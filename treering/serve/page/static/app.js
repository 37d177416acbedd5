// Which view is shown: the part of the address after "#" names it.

import { chosen, get, Problem, warm } from "/page/api.js";
import { fill, h, put, say } from "/page/dom.js";
import { chat } from "/page/chat.js";
import { code } from "/page/code.js";
import { entries, entry } from "/page/entries.js";
import { facts } from "/page/facts.js";
import { memos } from "/page/memos.js";
import { search } from "/page/search.js";
import { status } from "/page/status.js";
import { tree } from "/page/tree.js";

const VIEWS = {
  search: ["Search", search],
  chat: ["Chat", chat],
  tree: ["Tree", tree],
  facts: ["Facts", facts],
  memos: ["Memos", memos],
  entries: ["Entries", entries],
  code: ["Code", code],
  status: ["Status", status],
};

const main = document.getElementById("main");
let shown = 0;

async function show() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, id] = path.split("/").map(decodeURIComponent);
  const [title, view] = name === "entry" ? ["Entry", entry] : VIEWS[name] ?? VIEWS.search;
  const turn = ++shown;
  const page = h("section", { class: `view ${name || "search"}`, "aria-busy": true }, h("h1", {}, title));
  document.title = `${title} – treering`;
  mark(name === "entry" ? "entries" : name in VIEWS ? name : "search");
  fill(main, page);
  try {
    await view(page, Object.fromEntries(new URLSearchParams(query)), id);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (turn === shown) put(page, h("p", { class: "problem", role: "alert" }, error.message));
  } finally {
    page.removeAttribute("aria-busy");
  }
}

function mark(current) {
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.view === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function moved() {
  main.focus({ preventScroll: true }); // before the view, which may know a better place
  window.scrollTo(0, 0);
  show();
}

async function offerSpaces() {
  const names = await get("spaces");
  const picker = document.getElementById("space");
  if (chosen.space && !names.includes(chosen.space)) names.push(chosen.space);
  const options = names.length && !names.includes("default") && !chosen.space ? ["", ...names] : names;
  fill(picker, options.map((one) => h("option", { value: one, selected: one === (chosen.space || "default") }, one)));
  picker.parentElement.hidden = options.length < 2;
}

document.getElementById("space").addEventListener("change", (event) => {
  chosen.space = event.target.value;
  say(`Space ${event.target.value}`);
  show();
  warm();
});

function theme(choice) {
  if (choice) document.documentElement.dataset.theme = choice;
  return choice ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

document.getElementById("theme").addEventListener("click", () => {
  const now = theme(localStorage.getItem("treering-theme"));
  const next = now === "dark" ? "light" : "dark";
  localStorage.setItem("treering-theme", next);
  theme(next);
});

document.addEventListener("keydown", (event) => {
  const box = main.querySelector("input[type=search]");
  const typing = event.target.closest("input, textarea, select") && !(event.target === box && !box.value);
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (box) box.focus();
  else location.hash = "#/search";
});

window.addEventListener("hashchange", moved);
window.addEventListener("spaces", offerSpaces); // one has been removed
theme(localStorage.getItem("treering-theme"));
fill(document.getElementById("nav"), Object.entries(VIEWS).map(([name, [title]]) =>
  h("a", { href: `#/${name}`, "data-view": name }, title)));
const warmed = warm(); // beside the first view, so that the first search need not wait for it
await show();
await offerSpaces();
await warmed;
