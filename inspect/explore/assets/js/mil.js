// The source: lines with what is wrong beneath them, and their editing.

import { smallest } from "./charts.js";
import { readable, shownWidth, source, statement, written } from "./code.js";
import { $, el, later } from "./dom.js";
import { List, ROW } from "./list.js";
import { change } from "./share.js";
import { badge, micro, place } from "./units.js";

// SOON is the pause after which an edit is looked at, in ms: shorter than one between two keys.
const SOON = 50;

const constant = /=\s*const\s*\(\)\s*\[/;

export class Source {
  // changed is called when the text was edited; pin(statement) and hover(ids) when a
  // line is chosen or passed.
  constructor(links, costs, { changed, pin, hover, unhide }) {
    this.links = links;
    this.costs = costs;
    this.names = new Set(); // of constants
    this.marked = new Set(); // lines that are not the model's own
    this.unhide = unhide;
    this.changed = changed;
    this.own = [];
    this.lines = [];
    this.places = [];
    this.rows = [];
    this.fixed = false;
    this.hidden = true; // constants
    this.editor = null;
    this.host = $("mil").querySelector(".body");
    this.list = new List(this.host, {
      label: "MIL source lines",
      render: (i) => this.render(i),
      act: (i) => {
        const r = this.rows[i];
        const ids = r.diag === undefined && !r.blank ? links.line(r.line) : [];
        if (ids.length) pin(ids.find((s) => links.statements[s].op !== "input") ?? ids[0]);
      },
      hover: (i) => {
        const r = this.rows[i];
        hover(r && r.diag === undefined && !r.blank ? links.line(r.line) : []);
      },
      edit: (i) => this.edit(i),
    });
    this.list.view.addEventListener("keydown", (e) => {
      if (e.key === "e" && !e.ctrlKey && !e.metaKey && e.target === this.list.view) {
        e.preventDefault();
        e.stopPropagation();
        this.edit(this.list.cursor);
      }
    });
    $("edit").addEventListener("click", () => this.edit(this.list.cursor));
    $("edit-all").addEventListener("click", () => this.whole(!this.editing()));
    $("revert").addEventListener("click", () => {
      this.close();
      this.put([...this.own]);
      this.changed();
    });
    const soon = later(SOON, () => {
      this.lines = $("whole").value.split("\n");
      this.layout();
      this.changed();
    });
    $("whole").addEventListener("input", soon);
    $("find").addEventListener("keydown", (e) => {
      if (e.key === "Enter") this.find($("find").value);
    });
  }

  editing() {
    return !$("whole").hidden;
  }

  open(text, fixed) {
    this.close();
    this.own = text.split("\n");
    this.fixed = fixed;
    $("edit").disabled = $("edit-all").disabled = fixed;
    this.places = [];
    this.put([...this.own]);
    this.list.cursor = -1;
    this.list.view.scrollTop = 0;
  }

  put(lines) {
    this.lines = lines;
    $("whole").value = this.editing() ? lines.join("\n") : "";
    this.layout();
  }

  edited() {
    return this.lines.length !== this.own.length || this.lines.some((l, i) => l !== this.own[i]);
  }

  text() {
    return this.lines.join("\n");
  }

  // diagnose puts what is wrong beneath its lines.
  diagnose(places) {
    this.places = places || [];
    this.layout();
    this.tell();
    if (this.editor) {
      this.editor.style.top = `${this.rowOf[this.editLine] * ROW}px`;
      return; // the reader looks at the line
    }
    const first = this.rows.findIndex((r) => r.severity === "error");
    if (first < 0) return;
    let n = first;
    while (n + 1 < this.rows.length && this.rows[n + 1].diag !== undefined) n++;
    this.list.show(Math.max(first - 1, 0), n - first + 1);
  }

  // tell says beneath the text that is edited as a whole what is wrong with it.
  tell() {
    const lines = this.places.flatMap((p) => fit(p.text.replace(/\n$/, "").split("\n"), this.width()));
    $("whole-diag").textContent = lines.join("\n");
    $("whole-diag").hidden = !this.editing() || lines.length === 0;
  }

  layout() {
    this.look();
    const below = new Map();
    for (const p of this.places) {
      const at = Math.min(Math.max(p.line, 0), this.lines.length);
      if (!below.has(at)) below.set(at, []);
      for (const t of fit(p.text.replace(/\n$/, "").split("\n"), this.width()))
        below.get(at).push({ line: at, diag: t, severity: p.severity });
    }
    this.rows = [...(below.get(0) || [])];
    this.rowOf = [];
    this.lines.forEach((l, i) => {
      if (this.hidden && (i < this.first || constant.test(l)) && !below.has(i + 1)) return;
      this.rowOf[i + 1] = this.rows.length;
      this.rows.push({ line: i + 1 });
      // The box of the line that is edited covers the rows below it.
      if (this.editor && this.editLine === i + 1)
        for (let k = 1; k < this.editRows; k++) this.rows.push({ line: i + 1, blank: true });
      for (const d of below.get(i + 1) || []) this.rows.push(d);
    });
    this.list.set(this.rows.length, this.lines.reduce((n, l) => Math.max(n, shownWidth(l)), 0) + 6);
    $("revert").disabled = $("revert").hidden = !this.edited();
    $("edited-note").hidden = !this.edited();
    $("edited-note").textContent = `${this.marked.size || "some"} edited`;
  }

  // look finds the names of constants, and the lines that differ from the model's own.
  look() {
    this.names.clear();
    this.first = Math.max(0, this.lines.findIndex((l) => /^\s*func\b/.test(l))); // what is before it is hidden too
    for (const l of this.lines) {
      if (!constant.test(l)) continue;
      const s = statement(l);
      if (s) this.names.add(s.results[0].name);
    }
    this.marked.clear();
    const c = change(this.own, this.lines);
    if (!c) return;
    const own = new Set(this.own.slice(c.from, c.from + c.drop));
    for (let i = 0; i < c.put.length; i++) if (!own.has(c.put[i])) this.marked.add(c.from + i + 1);
  }

  render(i) {
    const r = this.rows[i];
    if (r.diag !== undefined) return { text: r.diag, no: "", class: `diag ${r.severity}` };
    if (r.blank) return { text: "", no: "", class: "blank" };
    const ids = this.links.line(r.line);
    const edited = this.marked.has(r.line) ? " edited" : "";
    const c = this.costs.first(ids);
    const p = place(c);
    return {
      parts: () => [
        badge(p),
        ...source(this.lines[r.line - 1], (n) => this.names.has(n), p === "cpu" ? micro(c.reason || "") : ""),
      ],
      no: r.line,
      share: c && this.costs.most ? c.us / this.costs.most : 0,
      title: c ? this.costs.words(c) : "",
      class: `${this.links.mark(ids)}${edited} ${p}${c?.us ? " heated" : ""}`,
    };
  }

  // width is how many characters a row shows beside its number.
  width() {
    return Math.max(24, Math.floor((this.host.clientWidth - 80) / 7.25));
  }

  // hide leaves the statements of constants out; the line at the cursor stays in sight.
  hide(on) {
    const line = this.rows[this.list.cursor]?.line;
    this.hidden = on;
    $("constants").setAttribute("aria-pressed", !on);
    this.layout();
    this.list.cursor = line !== undefined && this.rowOf[line] !== undefined ? this.rowOf[line] : -1;
    this.list.restyle();
    if (this.list.cursor >= 0) this.list.show(this.list.cursor);
  }

  showLine(n) {
    if (this.hidden && n > 0 && n <= this.lines.length && this.rowOf[n] === undefined) this.unhide();
    const row = this.rowOf?.[n];
    if (row !== undefined) this.list.show(row);
  }

  // firstEdited is the first line that is not the model's own, 0 for none.
  firstEdited() {
    return this.marked.size ? smallest([...this.marked]) : 0;
  }

  // seek puts the cursor on a line.
  seek(line) {
    if (this.rowOf[line] === undefined) this.unhide();
    if (this.rowOf[line] !== undefined) this.list.move(this.rowOf[line]);
  }

  // edit opens a line for editing, in place.
  edit(i) {
    if (this.fixed || this.editing() || i < 0 || i >= this.rows.length) return;
    this.close();
    const line = this.rows[i].line;
    if (line < 1) return;
    const before = this.lines[line - 1],
      form = readable(before); // null where the text itself is edited
    const box = el("textarea", {
      class: "line-edit",
      "aria-label": `Line ${line}`,
      spellcheck: false,
      value: form ?? before,
    });
    this.textOf = () => (form === null || box.value.includes("\n") ? box.value : written(box.value, before));
    // The line may be far wider than the pane: the box is as wide as the pane and wraps.
    this.list.view.scrollLeft = 0;
    const width = this.list.view.clientWidth;
    box.style.width = `${width}px`;
    this.editRows = Math.min(12, Math.ceil((box.value.length * 7.3) / Math.max(width - 80, 100)) + 1);
    box.style.height = `${this.editRows * ROW}px`;
    const soon = later(SOON, () => {
      if (this.editor === box) this.replace(line, this.textOf());
    });
    box.addEventListener("input", soon);
    box.addEventListener("keydown", (e) => {
      e.stopPropagation();
      if (e.key === "Enter" && !e.shiftKey) {
        e.preventDefault();
        this.close();
        this.list.view.focus();
      }
      if (e.key === "Escape") {
        e.preventDefault();
        box.value = form ?? before;
        this.close();
        this.list.view.focus();
      }
    });
    box.addEventListener("blur", () => this.close());
    this.editor = box;
    this.editLine = line;
    this.layout();
    box.style.top = `${this.rowOf[line] * ROW}px`;
    this.list.space.append(box);
    this.list.show(this.rowOf[line]);
    box.focus({ preventScroll: true });
    const start = before.search(/\S|$/);
    box.setSelectionRange(start, start);
  }

  // replace gives a line another text. Line ends in it make lines when the editor
  // closes.
  replace(line, text) {
    if (this.lines[line - 1] === text) return;
    this.lines[line - 1] = text;
    this.layout();
    this.changed();
  }

  close() {
    const box = this.editor;
    if (!box) return;
    this.editor = null;
    const text = this.textOf(),
      line = this.editLine;
    box.remove();
    if (text.includes("\n")) {
      this.lines.splice(line - 1, 1, ...text.split("\n"));
      this.layout();
      this.changed();
    } else if (this.lines[line - 1] === text) {
      this.layout();
    } else {
      this.replace(line, text);
    }
  }

  whole(on) {
    this.close();
    $("edit-all").setAttribute("aria-pressed", on);
    $("whole").hidden = !on;
    this.host.classList.toggle("whole", on);
    this.tell();
    if (on) {
      $("whole").value = this.text();
      $("whole").focus();
    }
  }

  find(what) {
    if (!what) return;
    const n = this.lines.length;
    const from = this.list.cursor >= 0 ? this.rows[this.list.cursor].line : 0;
    for (let k = 0; k < n; k++) {
      const line = (from + k) % n;
      if (!this.lines[line].includes(what)) continue;
      this.seek(line + 1);
      return;
    }
  }
}

// fit gives the lines of a message the width of the pane: the caret with what it
// points at stays in sight, words go on in the next row.
function fit(lines, width) {
  const out = [];
  for (let i = 0; i < lines.length; i++) {
    const caret = lines[i + 1]?.match(/^(\s*)(\^~*)\s*$/);
    if (!caret) {
      out.push(...wrap(lines[i], width));
      continue;
    }
    const source = lines[i],
      at = caret[1].length,
      size = Math.min(caret[2].length, width - 4);
    let from = Math.min(source.search(/\S|$/), at);
    if (at + size - from > width - 2) from = Math.max(from, Math.min(at - 2, at + size - width + 12));
    const more = from > source.search(/\S|$/) ? "\u2026" : "";
    out.push(
      `  ${more}${source.slice(from, from + width - 4)}`,
      `  ${" ".repeat(more.length + at - from)}${caret[2].slice(0, size)}`,
    );
    i++;
  }
  return out;
}

function wrap(text, width) {
  const out = [];
  while (text.length > width) {
    let k = text.lastIndexOf(" ", width);
    if (k < width / 2) k = width;
    out.push(text.slice(0, k));
    text = `    ${text.slice(k).trimStart()}`;
  }
  out.push(text);
  return out;
}
