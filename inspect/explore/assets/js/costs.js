// What the statements of a compilation cost, by statement.

import { largest } from "./charts.js";
import { micro, place, time } from "./units.js";

export class Costs {
  constructor() {
    this.take(null);
  }

  take(answer) {
    this.answer = answer;
    this.by = new Map((answer?.statements || []).map((s) => [s.statement, s]));
    this.most = largest((answer?.statements || []).map((s) => s.us));
    this.total = answer?.us || 0;
    this.followers = new Map();
    for (const s of this.by.values()) {
      if (s.fused_into < 0) continue;
      if (!this.followers.has(s.fused_into)) this.followers.set(s.fused_into, []);
      this.followers.get(s.fused_into).push(s.statement);
    }
  }

  of(id) {
    return this.by.get(id);
  }

  // first returns the first of some statements that has a cost.
  first(ids) {
    for (const id of ids || []) if (this.by.has(id)) return this.by.get(id);
    return undefined;
  }

  place(id) {
    return place(this.by.get(id));
  }

  // slowest lists statements with most time first.
  slowest(n) {
    return [...this.by.values()]
      .filter((s) => s.us > 0)
      .sort((a, b) => b.us - a.us || a.statement - b.statement)
      .slice(0, n);
  }

  // words say what a statement costs and why it is where it is, for a tip.
  words(c) {
    const p = place(c);
    const out = [];
    if (p === "cpu") out.push(`on the CPU: ${micro(c.reason || "no reason is known")}`);
    else if (p === "fused") out.push("its work is part of another statement's");
    if (this.answer?.estimated || p === "cpu") out.push(time(c.us));
    return out.join("; ");
  }
}
