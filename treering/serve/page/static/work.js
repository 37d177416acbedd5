// Pending work: how much is left, and doing it now.

import { get, post } from "/page/api.js";
import { counted, fill, h, put, say } from "/page/dom.js";

const LOOK_AGAIN_MS = 1500;

/** A button that does the pending work and tells what is left meanwhile; `done` is called at the end. */
export function doer(label, done) {
  const told = h("span", { class: "meta", "aria-live": "polite" });
  const button = h("button", { type: "button", class: "quiet", on: { click: start } }, label);
  const box = h("span", { class: "doer" }, button, told);

  async function start() {
    button.disabled = true;
    let over = false;
    watch(() => over);
    try {
      await post("settle");
      await followed();
      say("Done.");
      over = true;
      await done();
    } catch (error) {
      put(box, h("p", { class: "problem", role: "alert" }, error.message));
    } finally {
      over = true;
      button.disabled = false;
    }
  }

  /** A server answers before long work is done: then it goes on by itself. */
  async function followed() {
    while (box.isConnected && (await get("pending")).settling) await pause();
  }

  async function watch(isOver) {
    while (!isOver() && box.isConnected) {
      const left = Object.values((await get("pending")).pending).reduce((sum, count) => sum + count, 0);
      if (!isOver()) fill(told, ` ${counted(left, "piece")} of work left…`);
      await pause();
    }
  }

  get("pending").then((work) => { if (work.settling) start(); });
  return box;
}

const pause = () => new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
