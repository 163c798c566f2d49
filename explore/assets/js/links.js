// What is linked with what. The server answers for what is pinned; while the
// pointer only passes, the statements that rows name are enough.

import { get } from "./api.js";

const COLOURS = 7;

export class Links {
  constructor(changed) {
    this.changed = changed;
    this.clear();
  }

  // clear forgets a compilation.
  clear() {
    this.key = "";
    this.statements = [];
    this.byLine = new Map();
    this.colour = [];
    this.unpin(false);
  }

  // take begins with a compilation's statements. Colours go round in the order of the
  // source, operations apart from constants, so that neighbours differ.
  take(key, statements) {
    this.clear();
    this.key = key;
    this.statements = statements;
    const rank = { op: 0, const: 0 };
    statements.forEach((s, i) => {
      const kind = s.op === "const" || s.op === "input" ? "const" : "op";
      this.colour[i] = rank[kind]++ % COLOURS;
      if (!this.byLine.has(s.line)) this.byLine.set(s.line, []);
      this.byLine.get(s.line).push(i);
    });
  }

  // stripe is the class of a row that came from statements: the colour of the first
  // operation among them, or of the first of all.
  stripe(ids) {
    if (!ids || ids.length === 0) return "";
    const op = ids.find(
      (i) =>
        i >= 0 &&
        this.statements[i] &&
        this.statements[i].op !== "const" &&
        this.statements[i].op !== "input",
    );
    const c = this.colour[op ?? ids[0]];
    return c === undefined ? "" : `s${c}`;
  }

  line(n) {
    return this.byLine.get(n) || [];
  }

  // mark is the class of a row by its statements.
  mark(ids) {
    let weak = false;
    for (const i of ids || []) {
      if (this.strong.has(i)) return "strong";
      weak = weak || this.weak.has(i);
    }
    if (weak) return "weak";
    return (ids || []).some((i) => this.near.has(i)) ? "hover" : "";
  }

  hover(ids, task = -1) {
    this.near = new Set(ids);
    this.nearTask = task;
    this.changed("hover");
  }

  unpin(tell = true) {
    this.pinned = null;
    this.found = null;
    this.strong = new Set();
    this.weak = new Set();
    this.near = new Set();
    this.nearTask = -1;
    this.tasks = new Set();
    this.operations = new Set();
    this.stretches = [];
    if (tell) this.changed("pin");
  }

  async pin(kind, id) {
    const key = this.key;
    const found = await get(`view/${key}/links`, { kind, id });
    if (key !== this.key) return;
    this.pinned = { kind, id };
    this.found = found;
    this.strong = new Set(found.statements);
    this.weak = new Set([...found.users, ...found.with]);
    this.near = new Set();
    this.tasks = new Set(found.tasks);
    this.operations = new Set(found.operations);
    this.stretches = found.bytes;
    this.changed("pin");
  }

  // holds reports whether bytes of a section are linked.
  holds(section, offset, size) {
    return this.stretches.some(
      (s) => s.section === section && offset < s.offset + s.size && s.offset < offset + size,
    );
  }
}
