// The palette: commands, statements and models by a few of their letters.

import { $, el } from "./dom.js";

const MOST = 30; // matches that are shown

// score says how well words match a text: -1 for not at all, smaller is better.
function score(words, text) {
  let sum = 0;
  for (const w of words) {
    const at = text.indexOf(w);
    if (at < 0) return -1;
    sum += at + (at === 0 || " _.".includes(text[at - 1]) ? 0 : 20);
  }
  return sum + text.length / 100;
}

export class Palette {
  // entries() lists {label, hint, run}.
  constructor(entries) {
    this.entries = entries;
    this.at = 0;
    this.shown = [];
    $("palette-input").addEventListener("input", () => this.fill());
    $("palette-input").addEventListener("keydown", (e) => this.key(e));
    $("palette-list").addEventListener("click", (e) => {
      const i = [...$("palette-list").children].indexOf(e.target.closest("li"));
      if (i >= 0) this.run(i);
    });
    $("palette").addEventListener("click", (e) => {
      if (e.target === $("palette")) $("palette").close();
    });
  }

  open() {
    if ($("palette").open) return;
    this.all = this.entries().map((e) => ({ ...e, text: `${e.label} ${e.hint || ""}`.toLowerCase() }));
    $("palette-input").value = "";
    this.fill();
    $("palette").showModal();
    $("palette-input").focus();
  }

  fill() {
    const words = $("palette-input").value.toLowerCase().split(/\s+/).filter(Boolean);
    this.shown = this.all.map((e) => ({ e, n: score(words, e.text) })).filter((x) => x.n >= 0);
    if (words.length) this.shown.sort((a, b) => a.n - b.n);
    this.shown = this.shown.slice(0, MOST).map((x) => x.e);
    $("palette-list").replaceChildren(
      ...this.shown.map((e, i) =>
        el(
          "li",
          { role: "option", id: `palette-${i}` },
          el("span", { textContent: e.label }),
          el("span", { class: "dim", textContent: e.hint || "" }),
        ),
      ),
    );
    if (!this.shown.length)
      $("palette-list").append(el("li", { class: "dim", textContent: "nothing matches" }));
    this.move(0);
  }

  move(i) {
    this.at = Math.max(0, Math.min(i, this.shown.length - 1));
    [...$("palette-list").children].forEach((n, k) =>
      n.setAttribute("aria-selected", k === this.at && this.shown.length > 0),
    );
    $("palette-input").setAttribute("aria-activedescendant", `palette-${this.at}`);
    $("palette-list").children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  key(e) {
    const to = { ArrowDown: this.at + 1, ArrowUp: this.at - 1, PageDown: this.at + 8, PageUp: this.at - 8 }[
      e.key
    ];
    if (to !== undefined) {
      e.preventDefault();
      this.move(to);
    } else if (e.key === "Enter") {
      e.preventDefault();
      this.run(this.at);
    }
  }

  run(i) {
    const e = this.shown[i];
    if (!e) return;
    $("palette").close();
    e.run();
  }
}
