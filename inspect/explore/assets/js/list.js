// A list that holds elements for the rows in sight only, so that its length costs
// nothing. Rows are 18 px high.

import { el } from "./dom.js";

export const ROW = 18;
const SPARE = 12;
let lists = 0;

export class List {
  // render(i) returns {text or parts, no, dim, class, title}; parts() makes what the row
  // shows when it is drawn; act(i) is a click or Enter;
  // hover(i) is told the row under the pointer, -1 for none.
  constructor(host, { label, render, act, hover, edit }) {
    this.id = `list${lists++}`;
    this.render = render;
    this.act = act;
    this.count = 0;
    this.cursor = -1;
    this.drawn = new Map();
    this.space = el("div", { class: "space" });
    this.note = el("p", { class: "empty", hidden: true });
    this.view = el(
      "div",
      { class: "list", tabindex: "0", role: "listbox", "aria-label": label },
      this.space,
      this.note,
    );
    host.append(this.view);
    this.view.addEventListener("scroll", () => this.draw());
    this.view.addEventListener("keydown", (e) => this.key(e));
    this.view.addEventListener("click", (e) => {
      const i = this.at(e);
      if (i >= 0) {
        this.move(i, false);
        act?.(i);
      }
    });
    if (edit)
      this.view.addEventListener("dblclick", (e) => {
        const i = this.at(e);
        if (i >= 0) edit(i);
      });
    if (hover) {
      let last = -1;
      const tell = (i) => {
        if (i !== last) {
          last = i;
          hover(i);
        }
      };
      this.view.addEventListener("pointermove", (e) => tell(this.at(e)));
      this.view.addEventListener("pointerleave", () => tell(-1));
    }
    new ResizeObserver(() => this.draw()).observe(this.view);
  }

  at(e) {
    const row = e.target.closest?.(".row");
    return row && this.space.contains(row) ? Number(row.dataset.i) : -1;
  }

  // set gives the list its length and the characters of its longest row.
  set(count, widest = 0) {
    this.count = count;
    if (this.cursor >= count) this.cursor = count - 1;
    this.space.style.height = `${count * ROW}px`;
    this.space.style.width = widest ? `calc(${Math.min(widest, 4096) + 8}ch + 30px)` : "";
    this.refresh();
  }

  // say tells why there are no rows.
  say(why) {
    this.note.textContent = why;
    this.note.hidden = !why;
  }

  refresh() {
    for (const node of this.drawn.values()) node.remove();
    this.drawn.clear();
    this.draw();
  }

  draw() {
    const top = this.view.scrollTop,
      height = this.view.clientHeight;
    const from = Math.max(0, Math.floor(top / ROW) - SPARE);
    const to = Math.min(this.count, Math.ceil((top + height) / ROW) + SPARE);
    for (const [i, node] of this.drawn) {
      if (i < from || i >= to) {
        node.remove();
        this.drawn.delete(i);
      }
    }
    const fresh = [];
    for (let i = from; i < to; i++) {
      if (this.drawn.has(i)) continue;
      const node = this.row(i);
      this.drawn.set(i, node);
      fresh.push(node);
    }
    this.space.append(...fresh);
  }

  row(i) {
    const r = this.render(i);
    const node = el("div", { class: "row", role: "option", id: `${this.id}-${i}` });
    node.dataset.i = i;
    node.style.top = `${i * ROW}px`;
    node.setAttribute("aria-setsize", this.count);
    node.setAttribute("aria-posinset", i + 1);
    if (r.no !== undefined) node.append(el("span", { class: "no", textContent: r.no }));
    if (r.parts) node.append(...r.parts());
    else node.append(r.text);
    if (r.dim) node.append(el("span", { class: "dim", textContent: r.dim }));
    if (r.title) node.title = r.title;
    if (r.share) node.style.setProperty("--share", Math.max(0.01, r.share));
    this.dress(i, node, r.class);
    return node;
  }

  dress(i, node, classes) {
    node.className = `row ${classes || ""}${i === this.cursor ? " cursor" : ""}`;
    node.setAttribute("aria-selected", i === this.cursor);
  }

  // restyle gives the rows in sight their classes again.
  restyle() {
    for (const [i, node] of this.drawn) this.dress(i, node, this.render(i).class);
  }

  move(i, scroll = true) {
    if (this.count === 0) return;
    this.cursor = Math.max(0, Math.min(i, this.count - 1));
    if (scroll) this.show(this.cursor);
    this.view.setAttribute("aria-activedescendant", `${this.id}-${this.cursor}`);
    this.restyle();
  }

  // show brings a row into sight, with some rows around it; after is how many rows
  // behind it belong to it.
  show(i, after = 0) {
    const h = this.view.clientHeight,
      room = Math.min(3 * ROW, h / 4);
    const top = i * ROW - room,
      bottom = (i + 1 + after) * ROW + room;
    const now = this.view.scrollTop;
    if (top < now || bottom > now + h) {
      const far = top < now - h || bottom > now + 2 * h;
      this.view.scrollTop = far ? i * ROW - h / 3 : top < now ? top : Math.min(top, bottom - h);
    }
    this.draw();
  }

  key(e) {
    if (e.target !== this.view || e.ctrlKey || e.altKey || e.metaKey) return;
    const page = Math.max(1, Math.floor(this.view.clientHeight / ROW) - 1);
    const to = {
      ArrowDown: this.cursor + 1,
      ArrowUp: this.cursor - 1,
      PageDown: this.cursor + page,
      PageUp: this.cursor - page,
      Home: 0,
      End: this.count - 1,
    }[e.key];
    if (to !== undefined) {
      e.preventDefault();
      this.move(to);
    } else if ((e.key === "Enter" || e.key === " ") && this.cursor >= 0) {
      e.preventDefault();
      this.act?.(this.cursor);
    }
  }
}

export const widest = (texts) => texts.reduce((n, t) => Math.max(n, t.length), 0);
