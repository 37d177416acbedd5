// The REST interface, as the one who holds the key.

const KEY = "treering-key";
const SPACE = "treering-space";

export const chosen = {
  get space() { return sessionStorage.getItem(SPACE) ?? ""; },
  set space(name) { sessionStorage.setItem(SPACE, name); },
};

/** What went wrong, in the server's words. */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export const get = (path, query) => call("GET", path, query);
export const post = (path, body, query) => call("POST", path, query, body);
export const update = (path, body) => call("PATCH", path, {}, body);
export const remove = (path) => call("DELETE", path);

/** Have the server load what a search needs, while somebody is still typing. */
export async function warm() {
  try {
    await post("search", { query: "ready", k: 1 });
  } catch (error) {
    if (!(error instanceof Problem)) throw error; // the search that comes will say what is wrong
  }
}

async function call(method, path, query = {}, body = undefined) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const url = given.length ? `/v1/${path}?${new URLSearchParams(given)}` : `/v1/${path}`;
  const answer = await fetch(url, { method, headers: headers(body), body: body && JSON.stringify(body) });
  if (answer.status === 401) {
    await askForKey();
    return call(method, path, query, body);
  }
  const found = await answer.json().catch(() => null);
  if (!answer.ok) throw new Problem(answer.status, found?.detail ?? `${answer.status} ${answer.statusText}`);
  return found;
}

function headers(body) {
  const made = new Headers();
  const key = sessionStorage.getItem(KEY);
  if (key) made.set("Authorization", `Bearer ${key}`);
  // Header values are bytes: a name in UTF-8, each byte as one character.
  if (chosen.space) made.set("X-Treering-Space", String.fromCharCode(...new TextEncoder().encode(chosen.space)));
  if (body !== undefined) made.set("Content-Type", "application/json");
  return made;
}

let asking = null;

/** Ask for a key, once for all the calls that wait for one. */
function askForKey() {
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("key");
    sessionStorage.removeItem(KEY);
    sessionStorage.removeItem(SPACE);
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.addEventListener("close", () => {
      sessionStorage.setItem(KEY, document.getElementById("key-text").value.trim());
      asking = null;
      resolve();
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}
