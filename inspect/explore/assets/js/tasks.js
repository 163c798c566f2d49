// The tasks, and the fields of the one that is chosen.

import { get } from "./api.js";
import { el, hex } from "./dom.js";
import { List, widest } from "./list.js";
import { fieldTip, tip, untip } from "./tip.js";
import { micro } from "./units.js";

export class Tasks {
  constructor(host, links, { pin, hover, point }) {
    this.point = point;
    this.links = links;
    this.tasks = [];
    this.wide = { name: 0, op: 0 };
    this.fields = [];
    this.task = null;
    this.key = "";
    const top = el("div"),
      below = el("div");
    host.append(el("div", { class: "split" }, top, below));
    this.list = new List(top, {
      label: "Tasks",
      render: (i) => {
        const t = this.tasks[i];
        const mark = links.tasks.has(i)
          ? "strong"
          : links.nearTask === i
            ? "hover"
            : links.mark(t.statements) === "hover"
              ? "hover"
              : "";
        return {
          text:
            `${`${t.procedure}/${t.index}`.padEnd(this.wide.name)} ${t.attested ? "\u2713" : "\u00b7"} ` +
            `${t.op.padEnd(this.wide.op)} ${micro(t.does || t.rule)} `,
          no: i,
          dim: `rule ${t.rule}, at ${hex(t.offset)}, ${t.words} words`,
          title:
            `${t.kind}\n` +
            (t.attested
              ? "\u2713 recorded programs have tasks of this kind"
              : "\u00b7 no recorded program has a task of this kind"),
          class: mark,
        };
      },
      act: (i) => {
        this.open(i);
        pin("task", i);
      },
      hover: (i) => hover(i >= 0 ? this.tasks[i].statements : [], i),
    });
    this.detail = new List(below, {
      label: "Fields of the task",
      render: (i) => {
        const f = this.fields[i];
        return {
          text: `${f.name.padEnd(29)} ${f.text.padEnd(18)} `,
          no: f.word,
          dim: `${f.known === "modelled" ? "(modelled) " : ""}${f.doc}`,
          class: f.value === 0 ? "dim" : "",
        };
      },
      act: (i) => this.help(i),
      hover: (i) => {
        if (i >= 0) {
          this.help(i);
        } else {
          untip();
          point(-1);
        }
      },
    });
    this.detail.view.addEventListener("pointermove", (e) => {
      this.pointer = { x: e.clientX, y: e.clientY };
    });
    this.detail.view.addEventListener("keydown", () => setTimeout(() => this.help(this.detail.cursor, true)));
    this.detail.view.addEventListener("blur", () => {
      untip();
      point(-1);
    });
  }

  help(i, keys = false) {
    const f = this.fields[i];
    if (!f) return;
    this.point(this.task.offset + 4 * f.word);
    const node = this.detail.drawn.get(i);
    const box = node?.getBoundingClientRect();
    fieldTip(keys || !this.pointer ? { x: (box?.left || 0) + 80, y: box?.top || 0 } : this.pointer, f);
  }

  // take shows the tasks of a compilation, which the page has read.
  take(key, tasks, why) {
    this.key = key;
    this.tasks = tasks;
    // Columns are as wide as most need.
    this.wide = {
      name: Math.min(12, widest(tasks.map((t) => `${t.procedure}/${t.index}`))),
      op: Math.min(24, widest(tasks.map((t) => t.op))),
    };
    this.list.say(why);
    this.list.set(tasks.length, widest(tasks.map((t) => (t.does || t.rule) + t.op)) + 54);
    this.fields = [];
    this.task = null;
    this.detail.set(0);
    this.detail.say(why ? "" : "Select a task to see its fields.");
  }

  async open(i) {
    const key = this.key;
    const task = await get(`view/${key}/task`, { task: i });
    if (key !== this.key) return;
    this.task = task;
    this.detail.say("");
    // What the task computes comes first: the header links it into its chain.
    const rank = (f) => 2 * (f.value === 0) + (f.block === "Header");
    this.fields = [...task.fields].sort((a, b) => rank(a) - rank(b) || a.word - b.word);
    this.detail.cursor = -1;
    this.detail.set(this.fields.length, 58 + widest(task.fields.map((f) => f.doc)));
    this.detail.view.scrollTop = 0;
  }

  // wordTip names the fields in a word of the task section, where the task is open.
  wordTip(at, offset) {
    const t = this.task;
    if (!t || offset < t.offset || offset >= t.offset + 4 * t.words) return false;
    const word = (offset - t.offset) >> 2;
    const fs = this.fields.filter((f) => f.word === word);
    tip(
      at,
      `word ${word} of task ${t.task} = ${hex(t.word_values[word])}`,
      ...fs.slice(0, 8).map((f) => `${f.name} = ${f.text}${f.doc ? ` (${f.doc})` : ""}`),
    );
    return true;
  }

  // reveal shows the first task of what is pinned, and its fields if they are in sight.
  reveal(fields) {
    const first = [...this.links.tasks].sort((a, b) => a - b)[0];
    if (first === undefined) return;
    this.list.show(first);
    if (fields && (!this.task || this.task.task !== first)) this.open(first);
  }
}
