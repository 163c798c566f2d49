// The program after each pass.

import { rows } from "./api.js";
import { program, shownWidth } from "./code.js";
import { $, options } from "./dom.js";
import { List } from "./list.js";

export class Passes {
  constructor(links, { pin, hover, changed }) {
    this.links = links;
    this.passes = [];
    this.all = []; // lines of the pass
    this.lines = []; // those that are shown
    this.hidden = true; // constants
    this.key = "";
    this.changed = changed;
    this.list = new List($("ir"), {
      label: "Program lines",
      render: (i) => {
        const l = this.lines[i];
        return {
          parts: () => program(l.text),
          no: l.no,
          class: `${l.unit ? `on-${l.unit}` : ""} ${links.mark(l.statements)}`,
        };
      },
      act: (i) => {
        const s = (this.lines[i].statements || []).find((x) => x >= 0);
        if (s !== undefined) pin(s);
      },
      hover: (i) => hover(i >= 0 ? this.lines[i].statements || [] : []),
    });
    $("pass").addEventListener("change", () => {
      this.show().then(changed);
    });
    $("pass-before").addEventListener("click", () => this.step(-1));
    $("pass-after").addEventListener("click", () => this.step(1));
  }

  // take begins with a compilation's passes, at the pass that is chosen where it has
  // one, else at the last that changed something.
  async take(key, passes, chosen, why = "") {
    this.key = key;
    this.passes = passes;
    this.list.say(why);
    const many = new Set(passes.map((p) => p.function)).size > 1;
    options(
      $("pass"),
      passes.map((p, i) => ({
        value: String(i),
        label:
          `${p.changed ? "\u25cf" : "\u25cb"} ${p.pass}${many ? ` (${p.function})` : ""}` +
          `${p.changed ? "" : ", unchanged"}`,
      })),
    );
    let at = passes.findIndex((p) => p.pass === chosen);
    if (at < 0) at = passes.length - 1;
    $("pass").value = String(at);
    await this.show();
  }

  at() {
    return Number($("pass").value || 0);
  }
  name() {
    return this.passes[this.at()]?.pass || "";
  }

  async show() {
    const key = this.key,
      pass = this.at(),
      p = this.passes[pass];
    $("pass-what").textContent = p ? p.what : "";
    $("pass-what").title = p ? p.what : "";
    const lines = p ? await rows(`view/${key}/ir`, { pass }) : [];
    if (key !== this.key || pass !== this.at()) return;
    lines.forEach((l, i) => {
      l.no = i + 1;
    });
    this.all = lines;
    this.lay();
  }

  // lay chooses the lines that are shown.
  lay() {
    this.lines = this.hidden ? this.all.filter((l) => l.kind !== "const") : this.all;
    this.list.set(this.lines.length, this.lines.reduce((n, l) => Math.max(n, shownWidth(l.text)), 0) + 6);
  }

  hide(on) {
    this.hidden = on;
    this.lay();
  }

  step(by) {
    let i = this.at() + by;
    while (i >= 0 && i < this.passes.length && !this.passes[i].changed) i += by;
    if (i < 0 || i >= this.passes.length) return;
    $("pass").value = String(i);
    this.show().then(this.changed);
  }

  // reveal brings the first line of what is pinned into sight.
  reveal() {
    const i = this.lines.findIndex((l) => this.links.mark(l.statements) === "strong");
    if (i >= 0) this.list.show(i);
  }
}
