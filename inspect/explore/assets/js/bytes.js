// The bytes of a section, a page at a time, linked word by word.

import { get } from "./api.js";
import { $, el, hex } from "./dom.js";
import { untip } from "./tip.js";

const PAGE = 4096;

export class Bytes {
  constructor(links, { pin, hover, wordTip }) {
    this.links = links;
    this.key = "";
    this.window = null;
    this.words = [];
    this.cursor = -1; // offset of the word that the keys are at
    this.pointed = -1;
    this.host = $("bytes").querySelector(".body");
    $("section").addEventListener("change", () => this.go($("section").value, 0));
    $("bytes-before").addEventListener("click", () => this.go(this.section(), this.window.offset - PAGE));
    $("bytes-after").addEventListener("click", () => this.go(this.section(), this.window.offset + PAGE));
    $("offset").addEventListener("change", () => {
      const n = Number($("offset").value);
      if (Number.isSafeInteger(n) && n >= 0) this.go(this.section(), n);
    });
    const word = (e) => e.target.closest?.(".word");
    this.host.addEventListener("click", (e) => {
      const w = word(e);
      if (w && this.section() !== "file") pin(this.section(), Number(w.dataset.at));
    });
    this.host.addEventListener("pointermove", (e) => {
      const w = word(e);
      if (w === this.last) return;
      this.last = w;
      if (!w) {
        untip();
        hover([]);
        return;
      }
      const run = this.run(Number(w.dataset.at));
      hover(run?.statements || [], run?.task ?? -1);
      if (this.section() !== "text" || !wordTip({ x: e.clientX, y: e.clientY }, Number(w.dataset.at)))
        untip();
    });
    // Keys move a cursor from word to word; Enter pins what the word is linked with.
    this.host.addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.altKey || e.metaKey || !this.words.length) return;
      const now = this.words.findIndex((w) => w.at === this.cursor);
      const to = {
        ArrowRight: now + 1,
        ArrowLeft: now - 1,
        ArrowDown: now + 4,
        ArrowUp: now - 4,
        PageDown: now + 64,
        PageUp: now - 64,
        Home: 0,
        End: this.words.length - 1,
      }[e.key];
      if (to !== undefined) {
        e.preventDefault();
        this.move(now < 0 ? 0 : to);
      } else if ((e.key === "Enter" || e.key === " ") && now >= 0 && this.section() !== "file") {
        e.preventDefault();
        pin(this.section(), this.cursor);
      }
    });
    this.host.addEventListener("blur", untip);
    this.wordTip = wordTip;
    this.hover = hover;
    this.host.addEventListener("pointerleave", () => {
      this.last = null;
      untip();
      hover([]);
    });
  }

  section() {
    return $("section").value;
  }

  async take(key, there, why = "") {
    this.key = there ? key : "";
    this.window = null;
    this.words = [];
    this.host.replaceChildren();
    $("bytes-note").textContent = there ? "" : "no pair";
    $("bytes-before").disabled = $("bytes-after").disabled = true; // until there is a page
    if (!there) this.host.append(el("p", { class: "empty", textContent: why || "There are no bytes." }));
    if (there) await this.go(this.section(), 0);
  }

  async go(section, offset) {
    if (!this.key) return;
    const key = this.key;
    const ask = (this.asked = {});
    offset = Math.max(0, Math.floor(offset / 16) * 16);
    if (this.window && this.window.section === section)
      offset = Math.min(offset, Math.max(0, this.window.size - 1));
    const w = await get(`view/${key}/bytes`, { section, offset, count: PAGE });
    if (key !== this.key || ask !== this.asked) return;
    this.window = w;
    $("section").value = section;
    $("offset").value = hex(w.offset);
    $("bytes-note").textContent = `of ${hex(w.size)}`;
    $("bytes-before").disabled = w.offset === 0;
    $("bytes-after").disabled = w.offset + PAGE >= w.size;
    this.draw();
  }

  run(at) {
    const runs = this.window.runs;
    let lo = 0,
      hi = runs.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (runs[mid].offset + runs[mid].size <= at) lo = mid + 1;
      else hi = mid;
    }
    return runs[lo] && runs[lo].offset <= at ? runs[lo] : null;
  }

  draw() {
    const w = this.window;
    this.words = [];
    const lines = [];
    for (let p = 0; p < w.hex.length; p += 32) {
      const line = el(
        "div",
        { class: "hex" },
        el("span", { class: "at", textContent: (w.offset + p / 2).toString(16).padStart(8, "0") }),
      );
      let ascii = "";
      for (let q = p; q < Math.min(p + 32, w.hex.length); q += 8) {
        const at = w.offset + q / 2,
          text = w.hex.slice(q, q + 8);
        const run = this.run(at);
        const node = el("span", { class: "word", textContent: text.replace(/../g, "$& ").trimEnd() });
        node.dataset.at = at;
        this.words.push({ node, at, size: text.length / 2, run });
        line.append(node);
        for (let k = 0; k < text.length; k += 2) {
          const c = parseInt(text.slice(k, k + 2), 16);
          ascii += c >= 32 && c < 127 ? String.fromCharCode(c) : ".";
        }
      }
      line.append(el("span", { class: "ascii", textContent: ascii }));
      lines.push(line);
    }
    this.host.replaceChildren(...lines);
    this.restyle();
  }

  restyle() {
    if (!this.window) return;
    const s = this.window.section;
    for (const { node, at, size, run } of this.words) {
      let mark = this.links.holds(s, at, size) ? " strong" : "";
      if (
        !mark &&
        run &&
        ((run.task !== undefined && run.task === this.links.nearTask) ||
          (run.statements || []).some((x) => this.links.near.has(x)))
      )
        mark = " hover";
      if (at === this.cursor) mark += " cursor";
      if (s === "text" && at === this.pointed) mark += " pointed";
      node.className = `word${mark}`;
    }
  }

  // move puts the cursor on a word, on the page before or behind where there is no such.
  async move(to) {
    const w = this.window;
    if (to < 0 && w.offset > 0) {
      await this.go(w.section, w.offset - PAGE);
      to = this.words.length - 1;
    } else if (to >= this.words.length && w.offset + PAGE < w.size) {
      await this.go(w.section, w.offset + PAGE);
      to = 0;
    }
    const word = this.words[Math.max(0, Math.min(to, this.words.length - 1))];
    this.cursor = word.at;
    this.restyle();
    const box = word.node.getBoundingClientRect(),
      pane = this.host.getBoundingClientRect();
    if (box.top < pane.top) this.host.scrollTop -= pane.top - box.top;
    if (box.bottom > pane.bottom) this.host.scrollTop += box.bottom - pane.bottom;
    const at = word.node.getBoundingClientRect();
    this.hover(word.run?.statements || [], word.run?.task ?? -1);
    if (this.section() !== "text" || !this.wordTip({ x: at.left, y: at.top }, word.at)) untip();
  }

  // point marks the word at an offset of the task section, -1 for none.
  point(offset) {
    if (this.pointed === offset) return;
    this.pointed = offset;
    this.restyle();
  }

  // reveal shows the first stretch of what is pinned, in the section in sight where
  // it has one there.
  async reveal() {
    const all = this.links.stretches;
    const s =
      all.find((x) => x.section === this.section()) || all.find((x) => x.section === "text") || all[0];
    if (!s) return;
    const w = this.window;
    if (!w || w.section !== s.section || s.offset < w.offset || s.offset >= w.offset + PAGE)
      await this.go(s.section, s.offset);
    const word = this.words.find((x) => x.at + x.size > s.offset);
    if (!word) return;
    const box = word.node.getBoundingClientRect(),
      pane = this.host.getBoundingClientRect();
    if (box.top < pane.top || box.bottom > pane.bottom - 4 * box.height)
      this.host.scrollTop += box.top - pane.top - pane.height / 4;
  }
}
