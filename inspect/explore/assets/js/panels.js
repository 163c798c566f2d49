// The panels behind the tabs, other than the tasks'.

import { get } from "./api.js";
import { roofline, Timeline } from "./charts.js";
import { bytes, el, hex } from "./dom.js";
import { List, widest } from "./list.js";
import { tip, untip } from "./tip.js";

const cell = (text, props = {}) => el("td", { textContent: text, ...props });
const table = (head, rows) =>
  el(
    "table",
    {},
    el("thead", {}, el("tr", {}, ...head.map((h) => el("th", { textContent: h, scope: "col" })))),
    el("tbody", {}, ...rows),
  );

// sectionOf is the section of the bytes' pane that a part of the container is.
const sectionOf = (p) =>
  p.section === "__text"
    ? "text"
    : p.bytes && (p.section.startsWith("__kern") || (p.segment === "__TEXT" && p.section === "__const"))
      ? "constants"
      : "";

// Charts are the timeline of a call and the roofline of its operations.
export class Charts {
  // choose(operation) chooses the statement of an operation.
  constructor(timeline, roof, { choose }) {
    this.choose = choose;
    [this.line, this.roof] = [timeline, roof].map((host) => {
      const box = el("div", { class: "drawing" });
      host.append(el("div", { class: "scroll", tabindex: "0" }, box));
      return box;
    });
    new ResizeObserver(() => this.draw()).observe(timeline.parentElement);
  }

  async take(key, why = "") {
    this.wanted = key;
    const data = key ? await get(`view/${key}/drawing`) : null;
    if (key !== this.wanted) return;
    this.data = data;
    this.line.replaceChildren(el("p", { class: "dim", textContent: why || "No estimate." }));
    this.roof.replaceChildren(this.line.firstChild.cloneNode(true));
    this.chart = null;
    if (data?.spans.length) {
      const box = el("div"); // a timeline listens on its own
      this.line.replaceChildren(box);
      this.chart = new Timeline(box, data, (...a) => this.marks(...a));
    }
    this.draw();
  }

  marks(node, i, text) {
    const o = this.data.ops[i];
    node.addEventListener("pointermove", (e) =>
      tip({ x: e.clientX, y: e.clientY }, o ? `${o.o} ${o.n}` : "", ...text().split("\n")),
    );
    node.addEventListener("pointerleave", untip);
    if (o) node.addEventListener("click", () => this.choose(o));
  }

  // draw draws what is in sight, which has a width.
  draw() {
    if (!this.data) return;
    if (this.chart && this.line.clientWidth) this.chart.draw();
    if (this.roof.clientWidth && !roofline(this.roof, this.data, (...a) => this.marks(...a)))
      this.roof.replaceChildren(el("p", { class: "dim", textContent: "No operation on the engine multiplies." }));
  }
}

// Container is where the parts of the container lie.
export class Container {
  constructor(host, links, { show }) {
    this.host = el("div", { class: "scroll", tabindex: "0" });
    host.append(this.host);
    this.links = links;
    this.show = show;
    this.marks = [];
  }

  async take(key, why = "") {
    this.host.replaceChildren();
    this.marks = [];
    this.ticks = [];
    if (!key) {
      this.host.append(el("p", { class: "dim", textContent: why || "No container." }));
      return;
    }
    const m = await get(`view/${key}/container`);
    const most = Math.max(...m.parts.map((p) => p.bytes), 1);
    this.map(m);
    const rows = m.parts.map((p) => {
      const name = p.section ? `\u00a0\u00a0${p.section}` : p.segment;
      const bar = el("div", { class: "share-of" });
      bar.style.width = p.bytes ? `${Math.max(1, (100 * Math.log1p(p.bytes)) / Math.log1p(most))}%` : "0";
      const section = sectionOf(p);
      const tr = el(
        "tr",
        {},
        cell(name),
        cell(hex(p.address), { class: "num" }),
        cell(hex(p.size), { class: "num" }),
        cell(p.bytes ? hex(p.offset) : "", { class: "num" }),
        el("td", {}, bar),
      );
      if (p.bytes) {
        tr.tabIndex = 0;
        const go = () => (section ? this.show(section, 0) : this.show("file", p.offset));
        tr.addEventListener("click", go);
        tr.addEventListener("keydown", (e) => {
          if (e.key === "Enter") go();
        });
      }
      if (section && p.section) this.marks.push({ tr, section });
      return tr;
    });
    this.host.append(
      el("p", {
        textContent:
          `${bytes(m.size)}, ${m.ports} ports, ${m.tensors} tensors, ` +
          `${m.symbols} symbols, ${m.relocations} relocations`,
      }),
      table(["segment, section", "address", "size", "in the file", "bytes (logarithmic)"], rows),
      el("p", {}, el("b", { textContent: "Procedures" })),
      table(
        ["name", "entry", "tasks", "buffer-access registers"],
        m.procedures.map((p) =>
          el(
            "tr",
            {},
            cell(p.name),
            cell(hex(p.entry), { class: "num" }),
            cell(p.tasks, { class: "num" }),
            cell(p.bars.map((b) => `${b.index}: ${hex(b.address)}`).join("  "), { class: "values" }),
          ),
        ),
      ),
      el("p", { class: "values", textContent: m.banner }),
    );
    this.restyle();
  }

  // map draws the file from left to right, sections by the logarithms of their sizes,
  // and in each where the bytes of what is pinned lie.
  map(m) {
    this.ticks = [];
    const strip = el("div", {
      class: "map",
      role: "img",
      "aria-label": "The parts of the container in the order of the file",
    });
    let at = 0;
    const add = (name, size, go, key) => {
      const node = el(
        "div",
        { class: `part${go ? " go" : ""}`, title: `${name}, ${bytes(size)}`, on: go ? { click: go } : {} },
        el("span", { textContent: name }),
      );
      node.style.flexGrow = Math.log1p(size);
      if (key) {
        const ticks = el("div", { class: "ticks" });
        node.append(ticks);
        this.ticks.push({ ticks, section: key.section, from: key.from, size });
      }
      strip.append(node);
    };
    let constants = 0; // constants of the sections before
    for (const p of m.parts.filter((p) => p.section && p.bytes).sort((a, b) => a.offset - b.offset)) {
      if (p.offset > at)
        add(
          at === 0 ? "header, commands" : "padding",
          p.offset - at,
          (
            (from) => () =>
              this.show("file", from)
          )(at),
          null,
        );
      const section = sectionOf(p);
      add(
        p.section,
        p.bytes,
        () => this.show(section || "file", section ? 0 : p.offset),
        section && { section, from: section === "constants" ? constants : 0 },
      );
      if (section === "constants") constants += p.bytes;
      at = p.offset + p.bytes;
    }
    if (m.size > at)
      add(
        "rest",
        m.size - at,
        (
          (from) => () =>
            this.show("file", from)
        )(at),
        null,
      );
    this.host.append(strip);
  }

  restyle() {
    for (const { ticks, section, from, size } of this.ticks || []) {
      const shown = this.links.stretches
        .filter((s) => s.section === section && s.offset < from + size && s.offset + s.size > from)
        .slice(0, 400);
      ticks.replaceChildren(
        ...shown.map((s) => {
          const tick = el("i");
          tick.style.left = `${(100 * Math.max(0, s.offset - from)) / size}%`;
          tick.style.width = `${(100 * Math.min(s.size, size)) / size}%`;
          return tick;
        }),
      );
    }
    for (const { tr, section } of this.marks)
      tr.className = this.links.stretches.some((s) => s.section === section) ? "strong" : "";
  }
}

// Chain is the operations of the descriptor.
export class Chain {
  constructor(host, links, { pin, hover }) {
    this.rows = [];
    this.links = links;
    this.list = new List(host, {
      label: "Operations of the descriptor",
      render: (i) => {
        const r = this.rows[i];
        if (r.head) return { text: r.head, class: "fold" };
        return {
          text: r.text,
          no: r.id,
          class: links.operations.has(r.id)
            ? "strong"
            : r.statements.some((s) => links.near.has(s))
              ? "hover"
              : "",
          title: r.title,
        };
      },
      act: (i) => {
        if (!this.rows[i].head) pin("operation", this.rows[i].id);
      },
      hover: (i) => hover(i >= 0 && !this.rows[i].head ? this.rows[i].statements : []),
    });
  }

  async take(key, why = "") {
    const rows = [];
    if (key) {
      const c = await get(`view/${key}/chain`);
      let id = 0;
      const names = (list) => list.map((o) => `${o.name} ${o.type}`).join(", ");
      const whole = (list) =>
        list.map((o) => `${o.name} ${o.type} ${o.aperture}, ${bytes(o.bytes)}`).join("\n");
      for (const f of c.functions) {
        rows.push({
          head: `function ${f.name}, ${f.operations.length} operations; descriptor of ${bytes(c.bytes)}`,
        });
        for (const o of f.operations) {
          const statements = c.sources[id].statements;
          rows.push({
            id,
            statements,
            text: `${o.type.padEnd(13)} ${o.detail}   (${names(o.inputs)}) \u2192 (${names(o.outputs)})`,
            title: `${o.name}\nin:\n${whole(o.inputs)}\nout:\n${whole(o.outputs)}`,
          });
          id++;
        }
      }
    }
    this.rows = rows;
    this.list.say(key ? "" : why || "No descriptor.");
    this.list.set(rows.length, widest(rows.map((r) => r.text || r.head)) + 6);
  }

  reveal() {
    const i = this.rows.findIndex((r) => this.links.operations.has(r.id));
    if (i >= 0) this.list.show(i);
  }
}

// Outputs runs the pair on request.
export class Outputs {
  // job(label, path, body) runs a request with its progress and a way to cancel it; choose(name) shows the statement
  // that computes a value, if the model has it.
  constructor(host, { job, choose }) {
    this.job = job;
    this.choose = choose;
    this.key = "";
    this.seed = el("input", { type: "number", min: 0, max: 4294967295, value: "1", "aria-label": "seed" });
    this.engine = el(
      "select",
      { "aria-label": "what runs it" },
      el("option", { value: "sim", textContent: "the whole stack" }),
      el("option", { value: "direct", textContent: "the engine alone" }),
    );
    this.mode = el(
      "select",
      { "aria-label": "arithmetic" },
      el("option", { value: "ane", textContent: "as the engine computes" }),
      el("option", { value: "ane-wide", textContent: "with sums in fp32, faster" }),
      el("option", { value: "ieee", textContent: "IEEE, fp16 storage" }),
    );
    this.button = el("button", {
      type: "button",
      textContent: "Run",
      id: "run",
      on: { click: () => this.run() },
    });
    this.out = el("div", { id: "outputs", role: "status", "aria-live": "polite" });
    host.append(
      el(
        "div",
        { class: "scroll" },
        el(
          "form",
          {
            on: {
              submit: (e) => {
                e.preventDefault();
                this.run();
              },
            },
          },
          el("label", {}, "seed ", this.seed),
          this.engine,
          this.mode,
          this.button,
        ),
        this.out,
      ),
    );
  }

  take(key, why = "") {
    this.key = key;
    this.button.disabled = !key;
    this.out.replaceChildren(
      el("p", {
        class: "dim",
        textContent: key ? "Inputs follow from the seed; states are zeros." : why || "No pair to run.",
      }),
    );
  }

  async run() {
    const key = this.key;
    this.button.disabled = true;
    this.out.replaceChildren(el("p", { class: "dim", textContent: "running \u2026" }));
    try {
      const r = await this.job("running", `view/${key}/run`, {
        seed: Number(this.seed.value) || 0,
        numerics: this.mode.value,
        engine: this.engine.value,
      });
      if (key !== this.key) return;
      this.out.replaceChildren(
        ...this.tensors("Outputs", r.outputs),
        ...this.tensors("Inputs, computed from the seed", r.inputs),
      );
    } catch (e) {
      if (key === this.key) this.out.replaceChildren(...this.failure(e));
    } finally {
      this.button.disabled = !this.key;
    }
  }

  // failure says why a run ended, with a way to the statement that the message names.
  failure(e) {
    if (e?.name === "AbortError") return [el("p", { class: "dim", textContent: "The run was cancelled." })];
    const out = [el("p", { class: "bad", textContent: `The run failed: ${e.message}` })];
    for (const [, name] of e.message.matchAll(/"([\w.]+)"/g)) {
      const go = this.choose(name);
      if (go) out.push(el("button", { type: "button", textContent: `Show ${name}`, on: { click: go } }));
    }
    return out;
  }

  tensors(title, list) {
    const number = (x) => (typeof x === "number" ? Number(x.toPrecision(6)).toString() : x);
    return [
      el("h2", { textContent: title }),
      ...list.flatMap((t) => {
        const most = Math.max(...t.histogram, 1);
        const bars = el(
          "div",
          { class: "histogram", role: "img", "aria-label": `histogram of ${t.name}` },
          ...t.histogram.map((n) => {
            const bar = el("div", { title: String(n) });
            bar.style.height = `${(100 * n) / most}%`;
            return bar;
          }),
        );
        return [
          el(
            "p",
            {},
            el("b", { textContent: t.name }),
            ` ${t.type}  min ${number(t.min)} max ${number(t.max)} mean ${number(t.mean)}` +
              (t.not_finite ? `, ${t.not_finite} not finite` : ""),
          ),
          t.histogram.filter(Boolean).length > 1 ? bars : null,
          el("p", {
            class: "values",
            textContent: `[${t.first.map(number).join(", ")}${t.first.length >= 16 ? ", ..." : ""}]`,
          }),
        ].filter(Boolean);
      }),
    ];
  }
}
