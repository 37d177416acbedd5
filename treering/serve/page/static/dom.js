// Elements from values. Text only ever becomes text, or elements of a short list.

const SVG = "http://www.w3.org/2000/svg";

/** An element: `on` holds listeners, `style` custom properties, the rest are attributes. */
export function h(tag, props = {}, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function s(tag, props = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "style") {
      for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  return put(element, children);
}

/** Append `children`: elements, texts, lists of either; what is nothing is left out. */
export function put(element, ...children) {
  element.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

/** Put `children` in place of what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren();
  return put(element, children);
}

/** Tell those who do not see the page. */
export function say(text) {
  document.getElementById("live").textContent = text;
}

/** "1 entry", "2 entries". */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

const DAY = /^(\d{4})-(\d\d)-(\d\d)T00:00(?::00(?:\.0+)?)?(?:Z|[+-]\d\d:\d\d)?$/;

/** A time for people, or nothing. The beginning of a day is the day: nobody gave an hour. */
export function when(text) {
  if (!text) return null;
  const day = DAY.exec(text);
  const shown = day
    ? new Date(day[1], day[2] - 1, day[3]).toLocaleDateString(undefined, { dateStyle: "medium" })
    : new Date(text).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return h("time", { datetime: text, title: text }, shown);
}

/** "superseded since" with its date, where it is known. */
export const superseded = (newer) => (newer.at ? ["superseded since ", when(newer.at)] : "superseded");

/** What is known against a hit or an entry, or nothing. */
export function against(one) {
  const newer = one.superseded_by ?? one.stale;
  if (!newer) return null;
  const what = one.superseded_by ? (newer.of ? `“${newer.of}” is superseded` : "superseded") : "possibly out of date";
  return h("p", { class: "against" }, newer.at ? [`${what} since `, when(newer.at)] : what, `: ${newer.text}`);
}

/** An address of this page. */
export function to(view, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const tail = given.length ? `?${new URLSearchParams(given)}` : "";
  return `#/${view}${tail}`;
}

/** The address of an entry. */
export const toEntry = (id) => `#/entry/${encodeURIComponent(id)}`;

/** A labelled field of a form. */
export function field(label, control) {
  return h("label", {}, h("span", {}, label), control);
}

/** A select with its options, given as texts or [value, text] pairs. */
export function select(name, options, chosen) {
  return h("select", { name }, options.map((one) => {
    const [value, text] = Array.isArray(one) ? one : [one, one];
    return h("option", { value, selected: value === chosen }, text);
  }));
}

/** What is shown where there is nothing to show. */
export function nothing(text) {
  return h("p", { class: "nothing" }, text);
}

const ELEMENTS = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code",
  "strong", "em", "s", "span", "br", "hr", "table", "thead", "tbody", "tr", "th", "td"]);
const LINK = /^(https?|mailto):/i;

/** The elements of a text that the server has formatted; of an unknown one only the text. The parsed document runs and
 * loads nothing, and no attribute is taken over but the address of a link. */
export function formatted(html) {
  return known(new DOMParser().parseFromString(html, "text/html").body);
}

function known(parent) {
  return [...parent.childNodes].map((node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    const tag = node.nodeName.toLowerCase();
    if (tag === "img") return node.alt; // a picture would be fetched from elsewhere
    const inside = known(node);
    if (tag === "a" && LINK.test(node.getAttribute("href"))) {
      return h("a", { href: node.getAttribute("href"), rel: "noopener noreferrer", target: "_blank" }, inside);
    }
    if (!ELEMENTS.has(tag)) return inside;
    return h(tag, tag === "pre" ? { class: "code", tabindex: "0" } : {}, inside);
  });
}

const COMMON = new Set(("the and for are was were with that this these those what when where which who whom how why did does "
  + "has have had not but you your our his her its from about into any all can could will would").split(" "));
const ENDING = /(?:ing|ed|es|er|en|s|e)$/;

/** A text in which the words of a query are marked, in whatever form they stand there. */
export function marked(text, query) {
  const roots = (query.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [])
    .filter((word) => (word.length > 2 || /[^\u0000-\u02ff]/.test(word)) && !COMMON.has(word))
    .map((word) => (word.length > 4 ? word.replace(ENDING, "") : word));
  if (!roots.length) return [text];
  const words = new RegExp(`(?<![\\p{L}\\p{N}])((?:${roots.join("|")})\\p{L}{0,3})(?![\\p{L}\\p{N}])`, "giu");
  return text.split(words).map((piece, place) => (place % 2 ? h("mark", {}, piece) : piece));
}
