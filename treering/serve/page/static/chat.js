// Asking the memory, and a chat that is remembered; with what the model was shown.

import { get, post } from "/page/api.js";
import { counted, field, fill, formatted, h, put, say, select, toEntry, when } from "/page/dom.js";

const HISTORY = 20;
const BUDGETS = ["500", "1000", "2000", "4000", "8000"];

export async function chat(page, query) {
  const talk = h("ol", { class: "talk plain", "aria-live": "polite" });
  const text = h("textarea", { name: "message", rows: "3", required: true, "aria-label": "Your question or message", placeholder: "What do you want to know?" });
  const source = h("input", { name: "source", value: query.source ?? "chat", required: true, autocomplete: "off", "aria-label": "conversation" });
  const conversation = field("conversation", source);
  const how = select("how", [["ask", "ask, not remembered"], ["chat", "chat, remembered"]], query.how ?? "ask");
  const form = h("form", { class: "ask talking", on: { submit: (event) => { event.preventDefault(); send(form, talk, event.submitter?.name === "look"); } } },
    text,
    h("div", { class: "fields" },
      field("how", how), conversation,
      field("tokens of the prompt", select("budget", BUDGETS, "2000"))),
    h("div", { class: "row" }, h("button", {}, "Send"), h("button", { name: "look", class: "quiet" }, "Show the prompt")));
  const changed = async () => {
    conversation.hidden = how.value !== "chat";
    fill(talk, how.value === "chat" ? await history(form.elements.source.value) : null);
  };
  how.addEventListener("change", changed);
  source.addEventListener("change", changed);
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
  });
  put(page, talk, form);
  await changed();
  text.focus({ preventScroll: true });
}

async function history(source) {
  const page = await get("entries", { newest: true, source, kind: "chat", limit: HISTORY });
  return page.entries.reverse().map((entry) => line(entry.speaker ?? entry.role ?? "", [h("p", { class: "text" }, entry.text)], entry));
}

function line(who, content, entry = null) {
  return h("li", { class: `card ${who === "user" ? "mine" : ""}` },
    h("header", {}, h("strong", {}, who), " ", entry ? h("a", { href: toEntry(entry.id) }, when(entry.at ?? entry.added)) : null), content);
}

/** Show the prompt, and unless only that is wanted, the reply under it. */
async function send(form, talk, onlyLook) {
  const given = Object.fromEntries(new FormData(form));
  const isChat = given.how === "chat";
  const budget = Number(given.budget);
  const message = given.message.trim();
  if (!message) return;
  const answer = h("div", {}, h("p", { class: "nothing" }, "At it…"));
  const mine = line("user", [h("p", { class: "text" }, message)]);
  const item = line(onlyLook ? "prompt" : "treering", [answer]);
  put(talk, onlyLook ? null : mine, item);
  item.scrollIntoView({ block: "nearest" });
  const buttons = form.querySelectorAll("button");
  buttons.forEach((button) => { button.disabled = true; });
  let shown = null;
  try {
    shown = await prompt(isChat, message, given.source, budget);
    if (onlyLook) {
      fill(answer, prompted(shown, true));
      return;
    }
    fill(answer, h("p", { class: "nothing" }, "The model is at work…"), prompted(shown));
    const reply = isChat
      ? await post("chat", { message, source: given.source, budget })
      : await post("ask", { question: message, budget });
    fill(answer, await replied(reply), prompted(shown));
    form.elements.message.value = "";
    say(reply.text);
  } catch (error) {
    fill(answer, h("p", { class: "problem", role: "alert" }, error.message), shown ? prompted(shown) : null);
  } finally {
    buttons.forEach((button) => { button.disabled = false; });
    form.elements.message.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  }
}

/** What the model is shown, as {parts: [[name, text]], tokens}. */
async function prompt(isChat, message, source, budget) {
  if (!isChat) {
    const context = await post("context", { query: message, budget });
    return { parts: [["passages", context.text || "Nothing that is remembered fits."]], tokens: context.tokens };
  }
  const made = await post("chat/prompt", { message, source, budget });
  return { parts: made.messages.map((one) => [one.role, one.content]), tokens: made.tokens };
}

function prompted(shown, open = false) {
  return h("details", { open },
    h("summary", {}, `What the model is shown, ${counted(shown.tokens, "token")}`),
    shown.parts.map(([name, text]) => [h("h3", {}, name), h("pre", { tabindex: "0", class: "prompt" }, text)]));
}

async function replied(reply) {
  const html = await post("page/markdown", { text: reply.text });
  const cited = reply.citations ?? [];
  return [
    h("div", { class: "text formatted" }, formatted(html)),
    cited.length ? h("ul", { class: "plain cited" }, cited.map((passage) => h("li", {},
      `[${passage.number}] `, h("a", { href: toEntry(passage.hits[0].entry_id) }, passage.source), " ", when(passage.at)))) : null,
    reply.dangling?.length ? h("p", { class: "problem" }, `It cites ${reply.dangling.map((number) => `[${number}]`).join(", ")}, which it was not shown.`) : null,
    h("p", { class: "meta" }, `${reply.model || "no model was asked"}, ${counted((reply.usage?.prompt_tokens ?? 0) + (reply.usage?.completion_tokens ?? 0), "token")}`),
  ];
}
