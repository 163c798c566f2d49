// Two compilations side by side, each with a choice of its own.

import { post } from "./api.js";
import { Config } from "./config.js";
import { $, options } from "./dom.js";
import { List, widest } from "./list.js";

const classes = { "-": "minus", "+": "plus", "@": "fold", "=": "" };
const names = {
  mil: "MIL text", ir: "IR after a pass", placement: "placement", tasks: "tasks and fields", container: "container", chain: "E5 chain", outputs: "outputs (runs both)",
};

export class Compare {
  // body(value) makes the body of a request to compile out of a side's choice.
  constructor(info, { body, changed, line }) {
    this.body = body;
    this.changed = changed;
    this.rows = [];
    const again = () => { this.passes(); this.run(); changed(); };
    this.a = new Config($("side-a"), info, { texts: true, changed: again });
    this.b = new Config($("side-b"), info, { texts: true, changed: again });
    options($("level"), info.diff_levels.map((l) => ({ value: l, label: names[l] || l })), "placement");
    $("level").addEventListener("change", again);
    $("level-pass").addEventListener("change", again);
    this.list = new List($("compare").querySelector(".body"), {
      label: "Differences",
      render: (i) => {
        const r = this.rows[i];
        return { text: `${r.op === "@" ? "\u22ef" : r.op === "=" ? " " : r.op} ${r.text}`, no: `${r.a || ""} ${r.b || ""}`.trim(), class: classes[r.op] };
      },
      act: (i) => { const r = this.rows[i]; if ($("level").value === "mil" && r.a) line(r.a); },
    });
    this.passes();
  }

  passes() { $("level-pass-label").hidden = $("level").value !== "ir"; }

  setPasses(list) {
    const before = $("level-pass").value;
    options($("level-pass"), [{ value: "", label: "the last pass" }, ...list]);
    $("level-pass").value = list.includes(before) ? before : "";
  }

  open(on) {
    $("compare").hidden = !on;
    $("main").classList.toggle("comparing", on);
    $("compare-toggle").setAttribute("aria-pressed", on);
    if (on) this.run();
  }

  shown() { return !$("compare").hidden; }

  async run() {
    if (!this.shown()) return;
    this.stop?.abort();
    const stop = (this.stop = new AbortController());
    $("compare-note").textContent = "comparing ...";
    try {
      const r = await post("diff", { a: this.body(this.a.value(), this.a.selects.text.value), b: this.body(this.b.value(), this.b.selects.text.value), level: $("level").value, pass: $("level-pass").value, seed: 1 }, stop.signal);
      this.rows = r.rows;
      for (const [id, s] of [["line-a", r.a], ["line-b", r.b]]) $(id).textContent = s.ok ? s.line + (s.placed_only ? "; zinc writes no programs for it" : "") : s.error;
      const failed = [["left", r.a], ["right", r.b]].filter(([, s]) => !s.ok).map(([side, s]) => `${side} side: ${s.error}`);
      $("compare-note").textContent = (r.same ? "no difference" : `${r.removed} rows on the left, ${r.added} on the right`) + (r.omitted ? `, ${r.omitted} left out` : "") + failed.map((f) => `; ${f}`).join("");
      this.list.set(r.rows.length, widest(r.rows.map((x) => x.text)) + 12);
    } catch (e) {
      if (stop.signal.aborted) return;
      this.rows = [];
      this.list.set(0);
      $("compare-note").textContent = e.message;
    }
  }

  state() { return { a: { ...this.a.value(), text: this.a.selects.text.value }, b: { ...this.b.value(), text: this.b.selects.text.value }, level: $("level").value, pass: $("level-pass").value }; }

  take(s) {
    if (!s || typeof s !== "object") return;
    this.a.take(s.a);
    this.b.take(s.b);
    if ([...$("level").options].some((o) => o.value === s.level)) $("level").value = s.level;
    this.passes();
  }
}
