// The right side: what the model costs and what to do first or, with a statement chosen, what that costs, why it is
// where it is, and what to write instead.

import { bytes, el } from "./dom.js";
import { ordered, parts } from "./parts.js";
import { badge, bar, big, count, micro, place, share, time } from "./units.js";
import { shortName, shortType } from "./code.js";

const FEW = 8; // rows of a list that are shown at first

const h3 = (text) => el("h3", { textContent: text });
const dim = (text) => el("p", { class: "dim", textContent: text });
const button = (text, click, props = {}) =>
  el("button", { type: "button", textContent: text, on: { click }, ...props });

// verdicts say in words who refuses a statement.
const verdicts = {
  "hardware-cannot": "The engine cannot do this.",
  "zinc-cannot-yet": "zinc does not lower this yet; the engine may be able to.",
  "not-worth-it": "The engine could do this, but it would take longer.",
};

export class Answer {
  // does has what the answer leads to: choose(statement), apply(rewrite), precision(word), undo(), compare(), deeper(),
  // task(index), and ask(path, body), which asks the server about the compilation.
  constructor(host, links, costs, does) {
    this.host = host;
    this.links = links;
    this.costs = costs;
    this.does = does;
    this.tasks = [];
    this.graph = null;
    this.base = null; // what the model's own text costs: {us, key}
    this.advice = new Map(); // by key: null while it is sought
    this.across = new Map(); // the model on each generation, by key: null while it is compared
    this.found = new Map(); // rewrites by key and statement
    this.shown = -2;
  }

  name(id) {
    const s = this.links.statements[id];
    return s ? `${s.op} ${s.name}` : "";
  }

  // wait says that nothing is known yet, and why.
  wait(why) {
    this.shown = -2;
    this.host.replaceChildren(dim(why));
  }

  // take begins with a compilation. Without a key it is not there yet, and only its costs are known.
  take({ key, summary, why, notes = [], edited, base }) {
    this.key = key;
    this.summary = summary;
    this.why = why;
    this.notes = notes;
    this.edited = edited;
    this.base = base;
    this.tasks = [];
    this.graph = null;
    this.show(-1);
  }

  // more adds what the page reads after the first paint.
  more({ tasks, graph }) {
    if (tasks) this.tasks = tasks;
    if (graph) this.graph = graph;
    if (this.shown >= 0) this.show(this.shown);
  }

  // show shows a statement, or the model for -1.
  show(id) {
    this.shown = id;
    if (!this.costs.answer) {
      this.host.replaceChildren(dim(this.why || "Nothing has compiled yet."));
      return;
    }
    this.host.replaceChildren(...(id >= 0 ? this.statement(id) : this.model()).filter(Boolean));
    this.host.scrollTop = 0;
  }

  // go is a row that leads to a statement.
  go(id, ...children) {
    const s = this.links.statements[id];
    return el(
      "button",
      {
        type: "button",
        class: "go",
        on: { click: () => this.does.choose(id) },
        title: `line ${s?.line || "?"}: ${s?.name}`,
      },
      ...children,
    );
  }

  // model is the answer for the whole model.
  model() {
    const c = this.costs.answer,
      s = this.summary;
    const all = s.engine_ops + s.cpu_ops,
      macs = c.engine_macs + c.cpu_macs;
    return [
      this.change(),
      this.hero(c),
      this.why ? dim(this.why) : null,
      this.parts(c),
      ...this.notes.map((n) => el("p", { class: "caution", textContent: n })),
      el("p", {
        textContent:
          `${s.engine_ops} of ${count(all, "operation")} on the engine` +
          (macs ? `, with ${share(c.engine_macs, macs)} of ${big(macs)} multiply-accumulates` : "") +
          `; ${count(s.dispatches, "dispatch", "dispatches")}, ${count(c.cpu_calls, "call", "calls")} of the CPU.`,
      }),
      s.coreml_line ? dim(s.coreml_line) : null,
      ...this.first(c),
      ...this.slowest(),
      ...this.causes(c),
      ...this.kinds(c),
      ...this.weights(c),
      ...this.dispatches(c),
      ...this.generations(),
    ];
  }

  // change says what the edits change of the model's own time.
  change() {
    if (!this.edited || !this.base || !this.costs.answer.estimated) return null;
    const from = this.base.us,
      to = this.costs.total,
      less = from - to;
    const word = less > 0 ? "saves" : less < 0 ? "costs" : "changes nothing of";
    return el(
      "div",
      { class: `note ${less > 0 ? "good" : less < 0 ? "worse" : ""}`, id: "saving", role: "status" },
      el("b", { textContent: `As edited: ${time(from)} \u2192 ${time(to)}` }),
      ` The edit ${word} ${less ? `${time(Math.abs(less))} (${share(Math.abs(less), from)})` : "the time"} of a call.`,
      el("div", { class: "row-of" }, button("Compare", this.does.compare), button("Revert", this.does.undo)),
    );
  }

  hero(c) {
    return el(
      "div",
      { class: "hero" },
      el("span", { class: "figure", id: "total", textContent: c.estimated ? time(c.us) : "not estimated" }),
      el("span", {
        class: "dim",
        textContent: c.estimated
          ? `${c.range ? `(${c.range}) ` : ""}a call. ${c.error}`
          : "zinc writes no programs for this target, so only places are known",
      }),
    );
  }

  parts(c) {
    if (!c.estimated || !c.us) return null;
    const shown = ordered(c.parts.filter((p) => p.us > 0));
    const stack = el("div", { class: "stack", role: "img", "aria-label": "Where the time of a call goes" });
    for (const p of shown) {
      const node = el("i", { class: `c-${p.name}`, title: `${parts[p.name]}: ${time(p.us)}` });
      node.style.flexGrow = p.us / c.us;
      stack.append(node);
    }
    return el(
      "div",
      {},
      stack,
      el(
        "table",
        { class: "legend" },
        el(
          "tbody",
          {},
          ...shown.map((p) =>
            el(
              "tr",
              {},
              el("td", {}, el("i", { class: `key c-${p.name}` })),
              el("td", { textContent: parts[p.name] }),
              el("td", { class: "num", textContent: time(p.us) }),
              el("td", { class: "num", textContent: share(p.us, c.us) }),
            ),
          ),
        ),
      ),
    );
  }

  // first is what to do first: changes that were applied to the whole model and estimated again.
  first(c) {
    if (!c.estimated) return [];
    const box = el("div", { id: "advice" });
    const fill = () => {
      const a = this.advice.get(this.key);
      if (!this.key) box.replaceChildren(dim("The edit is being compiled \u2026"));
      else if (a === undefined)
        box.replaceChildren(button("Look for what makes it faster", () => this.seek().then(fill)));
      else if (a === null) box.replaceChildren(dim("looking for what makes it faster \u2026"));
      else if (a.error) box.replaceChildren(el("p", { class: "bad", textContent: a.error }));
      else box.replaceChildren(...this.outcome(a));
    };
    this.fill = fill;
    fill();
    return [h3("What to do first"), box];
  }

  // outcome is the answer of the search: what to change, or what was tried and what takes most.
  outcome(a) {
    const line = (x) =>
      el(
        "li",
        {},
        `${time(x.us)}: ${x.what} `,
        x.statement >= 0 ? button("Show", () => this.does.choose(x.statement)) : null,
      );
    return [
      ...a.advice.map((x) => this.advised(x)),
      a.nothing ? el("p", { textContent: a.nothing }) : null,
      a.largest ? el("ul", {}, ...a.largest.map(line)) : null,
      a.unfinished ? dim(a.unfinished) : null,
      a.weights ? dim(a.weights) : null,
    ].filter(Boolean);
  }

  // seek asks for advice once for each compilation.
  async seek() {
    const key = this.key;
    if (!key || this.advice.has(key)) return;
    this.advice.set(key, null);
    this.fill?.();
    try {
      this.advice.set(key, await this.does.ask("advice", {}));
    } catch (e) {
      if (e?.name === "AbortError") this.advice.delete(key);
      else this.advice.set(key, { error: e.message });
    }
    if (key === this.key) this.fill?.();
  }

  advised(a) {
    const less = a.dispatches[1] - a.dispatches[0];
    return el(
      "div",
      { class: "card" },
      el("b", {
        textContent: `Save ${time(a.before_us - a.after_us)} (${share(a.before_us - a.after_us, a.before_us)})`,
      }),
      el("span", {
        class: "dim",
        textContent:
          ` ${time(a.before_us)} \u2192 ${time(a.after_us)}` +
          (less
            ? `, ${count(Math.abs(less), "dispatch", "dispatches")} ${less < 0 ? "fewer" : "more"}`
            : "") +
          `; ${a.checked}`,
      }),
      el("p", { textContent: `${a.where}: ${a.what}.` }),
      a.note ? el("p", { class: "dim", textContent: `It ${a.note}.` }) : null,
      el(
        "div",
        { class: "row-of" },
        a.not_applicable
          ? el("span", { class: "dim", textContent: a.not_applicable })
          : a.precision
            ? button(`Compile in ${a.precision}`, () => this.does.precision(a.precision))
            : button(
                "Apply",
                () => this.does.apply({ recipe: a.recipe, function: a.function, names: a.names }),
                {
                  class: "primary",
                },
              ),
        a.statements.length ? button("Show", () => this.does.choose(a.statements[0])) : null,
      ),
    );
  }

  // slowest lists the statements that take most.
  slowest() {
    const list = this.costs.slowest(FEW);
    if (!list.length) return [];
    return [
      h3("Slowest statements"),
      el(
        "div",
        { id: "slowest", class: "rows" },
        ...list.map((c) => {
          const s = this.links.statements[c.statement];
          const p = place(c);
          return this.go(
            c.statement,
            badge(p),
            el("span", { class: "what", textContent: s.op }),
            el("span", { class: "who", textContent: shortName(s.name) }),
            bar(c.us, this.costs.most, p),
            el("span", { class: "num", textContent: time(c.us) }),
            el("span", { class: "num dim", textContent: share(c.us, this.costs.total) }),
          );
        }),
      ),
    ];
  }

  causes(c) {
    if (!c.causes.length) return [];
    return [
      h3("On the CPU, and why"),
      el(
        "div",
        { id: "causes" },
        ...c.causes.map((x) =>
          el(
            "div",
            { class: "card" },
            el("b", { textContent: x.ops.slice(0, 6).join(", ") + (x.ops.length > 6 ? " \u2026" : "") }),
            el("span", { class: "dim", textContent: ` ${count(x.count, "operation")}, ${time(x.us)}` }),
            el("p", { textContent: micro(x.why || "") || verdicts[x.verdict] || x.rule }),
            x.statement >= 0
              ? el(
                  "div",
                  { class: "row-of" },
                  button(`Show ${this.links.statements[x.statement]?.name}`, () =>
                    this.does.choose(x.statement),
                  ),
                )
              : null,
          ),
        ),
      ),
    ];
  }

  kinds(c) {
    const list = c.kinds.filter((k) => k.us > 0).slice(0, FEW);
    if (!list.length) return [];
    const most = list[0].us;
    return [
      h3("Time by operation"),
      el(
        "div",
        { class: "rows" },
        ...list.map((k) =>
          el(
            "div",
            { class: "go still" },
            badge(k.unit === "cpu" ? "cpu" : "engine"),
            el("span", { class: "what", textContent: k.op }),
            el("span", {
              class: "who",
              textContent: `\u00d7 ${k.count}${k.bound ? `, bound by ${parts[k.bound] || k.bound}` : ""}`,
            }),
            bar(k.us, most, k.unit === "cpu" ? "cpu" : "engine"),
            el("span", { class: "num", textContent: time(k.us) }),
            el("span", { class: "num dim", textContent: share(k.us, c.us) }),
          ),
        ),
      ),
    ];
  }

  // weights is how the engine reads weights that the model stores compressed.
  weights(c) {
    if (!c.weights?.length) return [];
    return [
      h3("Weights"),
      ...c.weights.map((w) =>
        el(
          "p",
          {},
          el("b", { textContent: w.form }),
          `: ${bytes(w.stored_bytes)} in the model, ${bytes(w.read_bytes)} read a call; ${w.why}`,
        ),
      ),
    ];
  }

  dispatches(c) {
    if (!c.dispatches.length) return [];
    return [
      el(
        "details",
        {},
        el("summary", { textContent: `Dispatches (${c.dispatches.length})` }),
        ...c.dispatches.slice(0, 100).map((d, i) =>
          el("p", {
            textContent:
              `${i + 1}. ${count(d.ops, "operation")}, ${count(d.tasks, "task")}` +
              `${c.estimated ? `, ${time(d.us)}` : ""}: ${d.why} ` +
              (d.cut_by || [])
                .slice(0, 3)
                .map((s) => this.name(s))
                .join(", "),
          }),
        ),
      ),
    ];
  }

  // generations is what the model comes to on each generation of chips, which is compared when asked for.
  generations() {
    const key = this.key;
    if (!key) return [];
    const box = el("div", { id: "generations" });
    const fill = () => {
      const a = this.across.get(key);
      if (a === undefined) box.replaceChildren(button("Compare the generations", () => this.compareAll(fill)));
      else if (a === null) box.replaceChildren(dim("comparing \u2026"));
      else if (a.error) box.replaceChildren(el("p", { class: "bad", textContent: a.error }));
      else box.replaceChildren(...this.onEach(a));
    };
    fill();
    return [h3("On each generation"), box];
  }

  // compareAll asks once for each compilation.
  async compareAll(fill) {
    const key = this.key;
    this.across.set(key, null);
    fill();
    try {
      this.across.set(key, await this.does.ask("generations", {}));
    } catch (e) {
      if (e?.name === "AbortError") this.across.delete(key);
      else this.across.set(key, { error: e.message });
    }
    fill();
  }

  onEach(a) {
    const most = Math.max(...a.generations.map((g) => g.call_us || 0));
    return [
      ...a.generations.map((g, i) => {
        const cell = (head) => a.table.rows[i][a.table.heads.indexOf(head)];
        return el(
          "div",
          { class: "card" },
          el(
            "div",
            { class: "go still" },
            el("b", { textContent: g.chip }),
            el("span", { class: "who", textContent: cell("estimate") === "-" ? "" : cell("estimate") }),
            bar(g.call_us || 0, most, "engine"),
            el("span", { class: "num", textContent: g.call_us ? time(g.call_us) : "\u2014" }),
          ),
          dim(
            `The engine accepts ${cell("engine accepts")} operations; on the CPU: ${cell("on the CPU")}. ` +
              `Programs for ${g.target}: ${cell("programs")}.`,
          ),
        );
      }),
      el("ul", { class: "dim" }, ...a.table.notes.map((n) => el("li", { textContent: n }))),
    ];
  }

  // statement is the answer for a statement.
  statement(id) {
    const s = this.links.statements[id],
      c = this.costs.of(id),
      f = this.links.found;
    const p = place(c);
    const node = this.graph?.nodes.find((n) => n.statement === id);
    return [
      el(
        "div",
        { class: "crumb" },
        button("\u2039 model", () => this.does.choose(-1), { id: "to-model" }),
        el("span", { class: "dim", textContent: s.line ? `line ${s.line}` : "" }),
      ),
      el(
        "h2",
        { class: "title" },
        el("span", { class: "t-call", textContent: s.op }),
        " ",
        el("span", { textContent: s.name }),
      ),
      node ? el("p", { class: "dim", textContent: shortType(node.type) }) : null,
      el("p", {}, badge(p, true), c ? ` step ${c.step + 1} of the program` : ` ${this.idle(s, f)}`),
      c ? this.tiles(c, p) : null,
      ...(c ? this.reason(id, c, p) : this.users(f)),
      ...(c && p === "cpu" ? this.rewrites(id, c) : []),
      ...this.work(id, c, p, f),
      ...this.around(id),
      el(
        "div",
        { class: "row-of" },
        this.why ? null : button("Tasks, fields and bytes", () => this.does.deeper("tasks")),
      ),
    ];
  }

  idle(s, f) {
    if (s.op === "const") return "a constant: its bytes are part of the statements that read it";
    if (s.op === "input") return "an input of the function";
    if (f?.gone?.length) return `removed by ${f.gone.join(", ")}`;
    return "nothing of it is left in the compiled program";
  }

  users(f) {
    const list = [...new Set([...(f?.users || []), ...(f?.statements || [])])]
      .filter((i) => this.costs.of(i))
      .slice(0, FEW);
    return list.length
      ? [h3("It is part of"), el("div", { class: "rows" }, ...list.map((i) => this.link(i)))]
      : [];
  }

  // link is a short row for a statement.
  link(id) {
    const s = this.links.statements[id],
      c = this.costs.of(id);
    return this.go(
      id,
      badge(place(c)),
      el("span", { class: "what", textContent: s.op }),
      el("span", { class: "who", textContent: s.name }),
      el("span", { class: "num", textContent: c && c.us ? time(c.us) : "" }),
    );
  }

  tiles(c, p) {
    const known = this.costs.answer.estimated || p === "cpu";
    const tile = (value, name) =>
      el(
        "div",
        { class: "tile" },
        el("b", { textContent: value }),
        el("span", { class: "dim", textContent: name }),
      );
    return el(
      "div",
      { class: "tiles" },
      tile(known ? time(c.us) : "\u2014", "a call"),
      tile(known ? share(c.us, this.costs.total) || "0 %" : "\u2014", "of the total"),
      c.bound ? tile(parts[c.bound] || c.bound, "is the limit") : null,
      c.dma_bytes ? tile(bytes(c.dma_bytes), "by DMA") : null,
      c.macs ? tile(big(c.macs), "multiply-accumulates") : null,
    );
  }

  // reason says why a statement is where it is.
  reason(id, c, p) {
    if (p === "cpu") {
      const no = c.refusal;
      return [
        h3("Why it is on the CPU"),
        el(
          "div",
          { class: "card cpu", id: "why" },
          el("b", { textContent: micro(c.reason || "no reason is known") }),
          no ? el("p", { textContent: verdicts[no.verdict] || no.verdict }) : null,
          no && no.limit && no.verdict !== "not-worth-it"
            ? el("p", {
                class: "dim",
                textContent:
                  `${no.what}: ${no.value}; the limit: ${no.limit} ` +
                  `(rule ${no.rule}${no.source ? `; ${no.source}` : ""})`,
              })
            : null,
          no?.rewrite ? el("p", { textContent: `Hint: ${no.rewrite}.` }) : null,
        ),
      ];
    }
    if (p === "fused")
      return [
        h3("Why it costs nothing of its own"),
        el("p", {
          textContent: "Its work is done in the tasks of another statement, whose time includes it:",
        }),
        el("div", { class: "rows" }, this.link(c.fused_into)),
      ];
    const out = [];
    if (c.rule)
      out.push(
        h3("Why it is on the engine"),
        el("p", { textContent: `The engine accepts it: rule ${c.rule}.` }),
      );
    const with_ = this.costs.followers.get(id) || [];
    if (with_.length)
      out.push(
        el("p", { textContent: "Its tasks also compute:" }),
        el("div", { class: "rows" }, ...with_.slice(0, FEW).map((i) => this.link(i))),
      );
    return out;
  }

  // rewrites are sought at once for a statement that a rule of the hardware or of zinc keeps on the CPU.
  rewrites(id, c) {
    if (!c.refusal || c.refusal.verdict === "not-worth-it" || this.why || !this.key) return [];
    const key = `${this.key} ${id}`;
    const box = el("div", { id: "rewrites" });
    const fill = () => {
      const r = this.found.get(key);
      if (!r) box.replaceChildren(dim("looking for rewrites \u2026"));
      else if (r.error) box.replaceChildren(el("p", { class: "bad", textContent: r.error }));
      else
        box.replaceChildren(
          ...r.rewrites.map((x) => this.rewrite(id, x)),
          ...(r.rewrites.length
            ? []
            : [dim(r.not_sought || "No rewrite is known that compiles and runs on the engine.")]),
          ...r.tried.map((t) => el("p", { class: "dim", textContent: `${t.name} was tried: ${t.why}` })),
        );
    };
    if (!this.found.has(key)) {
      this.found.set(key, null);
      this.does
        .ask("explain", { statement: id })
        .then(
          (r) => this.found.set(key, r),
          (e) =>
            e?.name === "AbortError" ? this.found.delete(key) : this.found.set(key, { error: e.message }),
        )
        .then(() => this.refill?.());
    }
    this.refill = fill;
    fill();
    return [h3("What to write instead"), box];
  }

  rewrite(id, x) {
    const s = this.links.statements[id];
    const saved = x.before_us - x.after_us;
    const diff = el(
      "pre",
      { class: "diff", tabindex: "0" },
      ...x.diff.map((l) =>
        el("span", { class: l.startsWith("-") ? "minus" : "plus", textContent: `${l}\n` }),
      ),
    );
    return el(
      "div",
      { class: "card" },
      el("b", {
        textContent: x.not_applicable
          ? x.recipe
          : saved > 0
            ? `Save ${time(saved)} (${share(saved, x.before_us)})`
            : saved < 0
              ? `Costs ${time(-saved)} more`
              : "Changes nothing of the time",
      }),
      el("span", {
        class: "dim",
        textContent:
          (x.not_applicable ? "" : ` ${time(x.before_us)} \u2192 ${time(x.after_us)}, `) +
          ` ${x.dispatches[0]} \u2192 ${count(x.dispatches[1], "dispatch", "dispatches")}; compiled and run`,
      }),
      el("p", { textContent: `${x.recipe}: ${x.doc}.${x.note ? ` It ${x.note}.` : ""}` }),
      el(
        "div",
        { class: "row-of" },
        x.not_applicable
          ? el("span", { class: "dim", textContent: x.not_applicable })
          : button(
              "Apply",
              () => this.does.apply({ recipe: x.recipe, function: s.function, names: [s.name] }),
              {
                class: "primary",
              },
            ),
      ),
      el("details", {}, el("summary", { textContent: "What changes" }), diff),
    );
  }

  // work lists the tasks of a statement, a sentence each.
  work(id, c, p, f) {
    if (!f || p === "fused" || !f.tasks.length || !this.tasks.length) return [];
    const own = f.tasks.filter((i) => this.tasks[i]);
    // Tasks that do the same are one line, with the first of them.
    const lines = new Map();
    for (const i of own) {
      const text = micro(this.tasks[i].does || this.tasks[i].rule);
      if (lines.has(text)) lines.get(text).n++;
      else lines.set(text, { i, n: 1 });
    }
    const all = [...lines].map(([text, { i, n }]) =>
      el(
        "li",
        {},
        button(n > 1 ? `${n} \u00d7 ${text}` : text, () => this.does.task(i), { class: "plain" }),
      ),
    );
    const list = el("ol", { class: "tasks" }, ...all.slice(0, FEW));
    const more =
      all.length > FEW
        ? button(`${all.length - FEW} more`, (e) => {
            list.append(...all.slice(FEW));
            e.target.remove();
          })
        : null;
    return [h3(`${count(own.length, "task")} of the engine`), list, more];
  }

  // around lists what a statement reads and what reads it.
  around(id) {
    const g = this.graph;
    const at = g ? g.nodes.findIndex((n) => n.statement === id) : -1;
    if (at < 0) return [];
    const of = (title, ids) => {
      const list = ids.map((i) => g.nodes[i]).filter((n) => n.statement >= 0);
      if (!list.length) return [];
      return [
        h3(title),
        el("div", { class: "rows" }, ...list.slice(0, FEW).map((n) => this.link(n.statement))),
      ];
    };
    return [
      ...of(
        "Reads",
        g.edges.filter((e) => e[1] === at).map((e) => e[0]),
      ),
      ...of(
        "Read by",
        g.edges.filter((e) => e[0] === at).map((e) => e[1]),
      ),
    ];
  }
}
