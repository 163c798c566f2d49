// What is linked with what. The server answers for what is pinned; while the
// pointer only passes, the statements that rows name are enough.

import { get } from "./api.js";

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
    this.unpin(false);
  }

  // take begins with a compilation's statements.
  take(key, statements) {
    this.clear();
    this.key = key;
    this.statements = statements;
    statements.forEach((s, i) => {
      if (!this.byLine.has(s.line)) this.byLine.set(s.line, []);
      this.byLine.get(s.line).push(i);
    });
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

  // pin chooses an item. Without a pair nothing is linked but the statement itself.
  async pin(kind, id, paired) {
    const key = this.key;
    const alone = { statements: [id], users: [], with: [], passes: [], tasks: [], bytes: [], operations: [] };
    const found = paired ? await get(`view/${key}/links`, { kind, id }) : alone;
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
