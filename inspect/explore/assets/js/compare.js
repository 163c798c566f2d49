// Two compilations side by side, each with a choice of its own: what changed, and
// under each change what it does at the levels below.

import { Config } from "./config.js";
import { $, bytes as size, el, hex, options } from "./dom.js";
import { List, widest } from "./list.js";
import { time } from "./units.js";

// Every kind has a sign and a word; the colour says nothing that they do not.
const signs = { added: "+", removed: "\u2212", changed: "~", moved: "\u2195" };
const classes = { added: "plus", removed: "minus", changed: "tilde", moved: "tilde" };
const names = {
  settings: "settings",
  mil: "MIL statements",
  constants: "constants",
  ir: "IR",
  passes: "program after each pass",
  limits: "limits of the targets",
  placement: "placement",
  cost: "estimated time",
  tasks: "tasks and fields",
  container: "container",
  chain: "E5 chain",
};
const FEW = 8; // details of a change that are shown at first
const count = (n, one, many) => `${n} ${n === 1 ? one : many}`;

export class Compare {
  // body(value, text) makes the body of a request to compile out of a side's choice;
  // line(n) shows a line of the source.
  constructor(info, { body, changed, line, job }) {
    this.body = body;
    this.job = job;
    this.rows = [];
    this.answer = null;
    this.whole = new Set(); // changes whose details are all shown
    const again = () => {
      this.run();
      changed();
    };
    this.a = new Config($("side-a"), info, { texts: true, changed: again });
    this.b = new Config($("side-b"), info, { texts: true, changed: again });
    options(
      $("level"),
      [
        { value: "", label: "everything" },
        ...info.diff_levels.map((l) => ({ value: l.name, label: names[l.name] || l.name, title: l.doc })),
        { value: "outputs", label: "outputs (runs both)" },
        { value: "bytes", label: "bytes and their owners" },
      ],
      "",
    );
    $("level").addEventListener("change", () => {
      this.seeds();
      if (this.answered === this.asks()) this.lay();
      else this.run();
      changed();
    });
    $("diff-seed").addEventListener("change", again);
    this.list = new List($("compare").querySelector(".body"), {
      label: "Differences",
      render: (i) => this.rows[i],
      act: (i) => {
        const r = this.rows[i];
        if (r.line) line(r.line);
        if (!r.opens) return;
        this.whole.add(r.opens);
        this.lay(true);
      },
    });
    this.seeds();
  }

  seeds() {
    $("diff-seed-label").hidden = $("level").value !== "outputs";
  }

  // asks says what a request asks for besides all levels.
  asks() {
    return { outputs: "outputs", bytes: "bytes" }[$("level").value] || "";
  }

  open(on) {
    $("compare").hidden = !on;
    $("main").classList.toggle("comparing", on);
    $("compare-toggle").setAttribute("aria-pressed", on);
    if (on) this.run();
  }

  shown() {
    return !$("compare").hidden;
  }

  async run() {
    if (!this.shown()) return;
    this.stop?.abort();
    const stop = (this.stop = new AbortController());
    const asks = this.asks();
    $("compare-note").textContent = "comparing ...";
    try {
      const r = await this.job(
        "comparing",
        "diff",
        {
          a: this.body(this.a.value(), this.a.selects.text.value),
          b: this.body(this.b.value(), this.b.selects.text.value),
          outputs: asks === "outputs",
          bytes: asks === "bytes",
          seed: Math.max(0, Math.floor(Number($("diff-seed").value))) || 0,
        },
        stop,
        true,
      );
      this.answer = r;
      this.whole = new Set();
      this.answered = asks;
      this.lay();
    } catch (e) {
      if (stop !== this.stop) return;
      $("figures").replaceChildren();
      this.answer = null;
      this.answered = "none";
      this.rows = [];
      this.list.set(0);
      for (const id of ["line-a", "line-b"]) $(id).textContent = "";
      $("compare-note").textContent = e?.name === "AbortError" ? "cancelled" : e.message;
    }
  }

  // lay makes rows of the answer, of the level that is chosen; stay keeps the place.
  lay(stay = false) {
    const r = this.answer,
      level = $("level").value;
    for (const [id, s] of [
      ["line-a", r.a],
      ["line-b", r.b],
    ]) {
      $(id).textContent = s.ok ? [s.placement, s.no_pair].filter(Boolean).join("; ") : s.error;
      $(id).className = s.ok ? "" : "bad";
    }
    this.figures(r.figures || []);
    this.rows = [];
    const failed = [
      ["left", r.a],
      ["right", r.b],
    ].filter(([, s]) => !s.ok);
    if (failed.length) {
      $("compare-note").textContent = failed.map(([side, s]) => `the ${side} side has ${s.error}`).join("; ");
      for (const [side, s] of failed)
        for (const p of s.places || [])
          for (const t of p.text.trimEnd().split("\n"))
            this.rows.push({ text: t, no: side === "left" ? "A" : "B", class: "diag" });
    } else if (level === "bytes") {
      this.bytes(r);
    } else {
      this.changes(r, level);
    }
    if (!stay) {
      this.list.cursor = -1;
      this.list.view.scrollTop = 0;
    }
    this.list.set(this.rows.length, widest(this.rows.map((x) => x.text + (x.dim || ""))) + 14);
  }

  // figures shows what a call of each side takes.
  figures(list) {
    const number = (f, v) => (f.unit === "us" ? time(v) : f.unit === "bytes" ? size(v) : String(v));
    const change = (f) => {
      if (f.a === f.b) return el("td", { class: "num dim", textContent: "=" });
      const less = f.b < f.a;
      const part = f.a && Number(((100 * Math.abs(f.b - f.a)) / f.a).toPrecision(3));
      const by = f.a ? `${less ? "\u2212" : "+"}${part} %` : "new";
      return el("td", {
        class: `num ${less ? "good" : "worse"}`,
        textContent: `${less ? "\u25bc" : "\u25b2"} ${by}`,
      });
    };
    const cells = (f) => [
      el("th", { scope: "row", textContent: f.name }),
      el("td", { class: "num", textContent: number(f, f.a) }),
      el("td", { class: "num", textContent: number(f, f.b) }),
      change(f),
    ];
    const head = ["of a call, estimated", "A", "B", "change"].map((h, i) =>
      el("th", { scope: "col", class: i ? "num" : "", textContent: h }),
    );
    $("figures").replaceChildren(
      ...(list.length
        ? [
            el(
              "table",
              {},
              el("thead", {}, el("tr", {}, ...head)),
              el("tbody", {}, ...list.map((f) => el("tr", {}, ...cells(f)))),
            ),
          ]
        : []),
    );
  }

  changes(r, level) {
    const missing = new Map();
    for (const l of r.levels)
      if (l.missing && (!level || l.level === level))
        missing.set(l.missing, [...(missing.get(l.missing) || []), names[l.level] || l.level]);
    for (const [why, ls] of missing)
      this.rows.push({ text: `not compared: ${ls.join(", ")}: ${why}`, no: "", class: "fold" });
    let changes = 0,
      effects = 0;
    for (const c of r.changes) {
      const below = (c.effects || []).filter((e) => !level || e.level === level);
      const own = !level || c.level === level;
      if (!own && below.length === 0) continue;
      if (own) changes++;
      effects += below.length + (own && !level ? c.more_effects || 0 : 0);
      this.change(c, 0, own);
      for (const e of below) this.change(e, 1, true);
      if (c.more_effects)
        this.rows.push({
          text: `    and ${count(c.more_effects, "effect", "effects")} more`,
          no: "",
          class: "fold",
        });
    }
    if (r.omitted)
      this.rows.push({ text: `and ${count(r.omitted, "change", "changes")} more`, no: "", class: "fold" });
    const at = level ? ` at the level of ${names[level] || level}` : "";
    if (changes + effects === 0) {
      $("compare-note").textContent = !missing.size
        ? `no difference${at}`
        : level
          ? `not compared${at}`
          : "no difference at the compared levels";
      if (!missing.size || !level)
        this.rows.push({
          text: r.same
            ? "The two sides are equal at every compared level: edit the text, or change a setting of a side."
            : `Nothing differs${at}; other levels do.`,
          no: "",
          class: "fold",
        });
    } else {
      $("compare-note").textContent =
        [
          changes && count(changes, "change", "changes"),
          effects && `${count(effects, "effect", "effects")} of ${changes ? "them" : "other changes"}`,
        ]
          .filter(Boolean)
          .join(", ") + at;
    }
  }

  change(c, depth, whole) {
    const pad = "    ".repeat(depth);
    const where = [
      c.line_a && `line ${c.line_a}`,
      c.line_b && c.line_b !== c.line_a && (c.line_a ? `now ${c.line_b}` : `line ${c.line_b} on the right`),
    ]
      .filter(Boolean)
      .join(", ");
    const line = c.line_a || c.line_b;
    this.rows.push({
      text: `${c.level.padEnd(10)}${pad}${signs[c.kind] || "~"} ${c.subject} ${c.kind}`,
      dim: where && `   ${where}`,
      no: line || "",
      line,
      title: names[c.level] || c.level,
      class: `${classes[c.kind] || ""} ${depth ? "effect" : "cause"}`,
    });
    if (!whole) return;
    const few = this.whole.has(c) || c.details.length <= FEW + 1 ? c.details : c.details.slice(0, FEW);
    for (const d of few)
      this.rows.push({ text: `${" ".repeat(10)}${pad}    ${d}`, no: "", line, class: "detail" });
    const left = c.details.length - few.length;
    if (left)
      this.rows.push({
        text: `${" ".repeat(10)}${pad}    \u2026 ${left + (c.more_details || 0)} more`,
        no: "",
        class: "more",
        opens: c,
      });
    else if (c.more_details)
      this.rows.push({
        text: `${" ".repeat(10)}${pad}    and ${c.more_details} more`,
        no: "",
        class: "fold",
      });
  }

  bytes(r) {
    if (r.no_bytes) {
      $("compare-note").textContent = r.no_bytes;
      return;
    }
    const at = (n) => (n < 0 ? "-" : hex(n)).padStart(10);
    const n = r.ranges.length + (r.ranges_omitted || 0);
    $("compare-note").textContent = n
      ? `${count(n, "range of bytes differs", "ranges of bytes differ")}, ${count(
          r.ranges.reduce((s, x) => s + x.size, 0),
          "byte",
          "bytes",
        )}${r.ranges_omitted ? " in those shown" : ""}`
      : "all bytes are equal";
    if (n)
      this.rows.push({
        text: `${"left".padStart(10)}${"right".padStart(10)}${"bytes".padStart(9)}  owner`,
        no: "",
        class: "fold",
      });
    for (const x of r.ranges)
      this.rows.push({
        text: `${at(x.a)}${at(x.b)}${String(x.size).padStart(9)}  ${x.owner}`,
        dim: x.file === "container" ? "" : `   ${x.file}`,
        no: "",
        class: x.a < 0 ? "plus" : x.b < 0 ? "minus" : "tilde",
      });
    if (r.ranges_omitted)
      this.rows.push({
        text: `and ${count(r.ranges_omitted, "range", "ranges")} more`,
        no: "",
        class: "fold",
      });
  }

  state() {
    return {
      a: { ...this.a.value(), text: this.a.selects.text.value },
      b: { ...this.b.value(), text: this.b.selects.text.value },
      level: $("level").value,
      seed: $("diff-seed").value,
    };
  }

  take(s) {
    if (!s || typeof s !== "object") return [];
    const lost = [...this.a.take(s.a), ...this.b.take(s.b)];
    if ([...$("level").options].some((o) => o.value === s.level)) $("level").value = s.level;
    if (/^\d{1,15}$/.test(s.seed)) $("diff-seed").value = s.seed;
    this.seeds();
    return lost;
  }
}
