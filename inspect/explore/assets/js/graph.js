// The graph of the model: operations as boxes, blocks that fold, coloured by place or by cost. A worker lays it out.

import { largest } from "./charts.js";
import { el, painted } from "./dom.js";
import { shortName, shortType } from "./code.js";
import { count, place, time } from "./units.js";
import { tip, untip } from "./tip.js";

const SVG = "http://www.w3.org/2000/svg";
// px of a node. All have the same size, so that the iterations of a block have the same layout.
const HIGH = 38,
  BROAD = 164,
  WIDE = 190; // of a folded block
const LEAST = 0.08,
  MOST = 2.5; // scales
// The scales from which names and the other words of a box are drawn: they are 4 and 5 px high there.
const NAMES = 0.3,
  WORDS = 0.45;

function svg(tag, props = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [k, v] of Object.entries(props)) if (v !== undefined) node.setAttribute(k, v);
  node.append(...children.filter(Boolean));
  return node;
}

const cut = (text, n) => (text.length > n ? `${text.slice(0, n - 1)}\u2026` : text);

const cutLeft = (text, n) => (text.length > n ? `\u2026${text.slice(text.length - n + 1)}` : text);

export class GraphView {
  // pin(statement) chooses a statement; laid({layout, all, boxes, nodes}) is called when a layout is painted.
  constructor(host, links, costs, { pin, hover, laid }) {
    this.host = host;
    this.links = links;
    this.costs = costs;
    this.pin = pin;
    this.hover = hover;
    this.laid = laid;
    this.colour = "place";
    this.open = new Set();
    this.graph = null;
    this.boxes = new Map(); // by id: n12, s3
    this.edges = new Map(); // by the boxes at their ends
    this.layers = [];
    this.pinned = new Set(); // boxes
    this.near = new Set();
    this.chosen = new Set(); // edges
    this.seen = null; // what has elements
    this.asked = 0;
    this.view = { x: 0, y: 0, k: 1 };
    this.layer = svg("g");
    this.svg = svg(
      "svg",
      { tabindex: "0", role: "application", "aria-label": "Graph of the model; arrow keys follow its edges" },
      svg(
        "defs",
        {},
        svg(
          "marker",
          {
            id: "arrow",
            viewBox: "0 0 8 8",
            refX: "7",
            refY: "4",
            markerWidth: "8",
            markerHeight: "8",
            markerUnits: "userSpaceOnUse",
            orient: "auto",
          },
          svg("path", { d: "M0 0 L8 4 L0 8 z" }),
        ),
      ),
      this.layer,
    );
    this.note = el("p", { class: "empty" });
    this.legend = el("div", { class: "legend-of-graph" });
    host.append(this.svg, this.note, this.legend);
    this.listen();
    new ResizeObserver(() => {
      if (this.moved) this.see();
      else if (this.tree) this.fit();
    }).observe(host);
  }

  // worker is created with the first graph, after the first paint.
  ask(tree) {
    this.worker ??= new Worker("js/layout.js", { type: "module" });
    const id = ++this.asked;
    return new Promise((done, fail) => {
      const end = (f, x) => {
        this.worker.removeEventListener("message", got);
        f(x);
      };
      const got = (e) => {
        if (e.data.id !== id) return;
        if (e.data.error) end(fail, new Error(e.data.error));
        else end(done, e.data);
      };
      this.worker.addEventListener("message", got);
      this.worker.addEventListener("error", (e) => end(fail, new Error(e.message || "the layout failed")), {
        once: true,
      });
      this.worker.postMessage({ id, tree });
    });
  }

  say(why) {
    this.note.textContent = why;
    this.note.hidden = !why;
    this.layer.replaceChildren();
    this.boxes.clear();
    this.edges.clear();
    this.graph = null;
    this.tree = null;
  }

  // take begins with a graph; blocks of the same name stay open.
  async take(graph) {
    const same =
      this.graph && this.graph.nodes.length === graph.nodes.length && this.graph.function === graph.function;
    this.graph = graph;
    this.note.hidden = true;
    if (!same) {
      this.open.clear();
      this.moved = false;
      this.cursor = "";
    }
    this.children = new Map([[-1, []]]);
    graph.scopes.forEach((s, i) => this.children.set(i, []));
    const seen = new Set();
    graph.nodes.forEach((n, i) => {
      this.children.get(n.scope).push(`n${i}`);
      for (let s = n.scope; s >= 0 && !seen.has(s); s = graph.scopes[s].parent) {
        seen.add(s);
        this.children.get(graph.scopes[s].parent).push(`s${s}`);
      }
    });
    this.at = new Map();
    graph.nodes.forEach((n, i) => {
      if (n.statement >= 0) this.at.set(n.statement, i);
    });
    await this.lay();
  }

  // path lists a node's scopes from the outside in.
  path(i) {
    const out = [];
    for (let s = this.graph.nodes[i].scope; s >= 0; s = this.graph.scopes[s].parent) out.unshift(s);
    return out;
  }

  // total adds up a scope's statements.
  total(s) {
    const { first, count: n } = this.graph.scopes[s];
    let us = 0,
      cpu = 0;
    for (const x of this.graph.nodes.slice(first, first + n)) {
      const c = this.costs.of(x.statement);
      us += c?.us || 0;
      if (c && place(c) === "cpu") cpu++;
    }
    return { us, cpu };
  }

  words(id) {
    const i = Number(id.slice(1));
    if (id[0] === "n") {
      const n = this.graph.nodes[i],
        c = this.costs.of(n.statement);
      return { head: n.op, cost: c?.us ? time(c.us) : "", below: shortName(n.name), place: place(c), us: c?.us || 0 };
    }
    const s = this.graph.scopes[i],
      t = this.total(i);
    if (s.index < 0)
      return {
        head: s.name,
        cost: t.us ? time(t.us) : "",
        below: `${s.repeat} \u00d7 ${t.us ? time(t.us / s.repeat) : count(s.count / s.repeat, "operation")}`,
        place: t.cpu ? "cpu" : "engine",
        us: t.us,
      };
    return {
      head: s.name,
      cost: t.us ? time(t.us) : "",
      below: `${count(s.count, "operation")}${t.cpu ? `, ${t.cpu} on the CPU` : ""}`,
      place: t.cpu ? "cpu" : "engine",
      us: t.us,
    };
  }

  // spec is the tree that the worker lays out.
  spec(scope) {
    const ids = this.children.get(scope);
    const index = new Map(ids.map((id, k) => [id, k]));
    const children = ids.map((id) => {
      const i = Number(id.slice(1));
      if (id[0] === "s" && this.open.has(i)) return { id, head: true, least: 160, ...this.spec(i) };
      return { id, w: id[0] === "s" ? WIDE : BROAD, h: HIGH };
    });
    // An edge belongs to the innermost level that has both of its ends.
    const edges = new Map();
    const inside = (i) => {
      for (let s = this.graph.nodes[i].scope, last = `n${i}`; ; s = this.graph.scopes[s].parent) {
        if (s === scope) return index.get(last);
        if (s < 0) return undefined;
        last = `s${s}`;
      }
    };
    for (const [a, b] of this.graph.edges) {
      const x = inside(a),
        y = inside(b);
      if (x !== undefined && y !== undefined && x !== y) edges.set(x * 1e6 + y, [x, y]);
    }
    return { children, edges: [...edges.values()] };
  }

  async lay() {
    const graph = this.graph,
      begun = performance.now();
    const r = await this.ask({ id: "top", ...this.spec(-1) });
    if (graph !== this.graph || r.id !== this.asked) return;
    this.tree = r.tree;
    this.draw();
    this.restyle();
    if (this.moved) this.see();
    else this.fit();
    const size = { layout: r.ms, boxes: this.boxes.size, nodes: graph.nodes.length };
    painted().then(() => this.laid({ ...size, all: performance.now() - begun }));
  }

  // draw places every box and edge, and makes elements for those in sight. Levels of blocks have layers of their own:
  // what is in an unfolded block is drawn over its ground.
  draw() {
    this.boxes.clear();
    this.edges.clear();
    this.layers = [];
    this.group(this.tree, 0, 0, 0);
    this.overlay = svg("g", { class: "flow" });
    this.layer.replaceChildren(...this.layers.flatMap((l) => [l.edges, l.boxes]), this.overlay);
    this.seen = null;
    this.most = largest([...this.boxes.values()].filter((b) => !b.open).map((b) => b.words.us));
  }

  group(t, x, y, level) {
    this.layers[level] ??= { edges: svg("g", { class: "edges" }), boxes: svg("g") };
    for (const e of t.edges) {
      const points = e.points.map(([u, v]) => [u + x, v + y]);
      this.edges.set(`${e.from} ${e.to}`, { points, far: e.far, level, ...bounds(points), node: null });
    }
    for (const c of t.children) {
      const place = { x: x + c.x, y: y + c.y, w: c.w, h: c.h, level };
      this.boxes.set(c.id, { ...place, words: this.words(c.id), open: Boolean(c.children), node: null });
      if (c.children) this.group(c, place.x, place.y, level + 1);
    }
  }

  // see draws what is in sight with the half of a pane around it, and removes what is far away. Words are drawn where
  // they can be read.
  see() {
    if (!this.tree) return;
    const { width, height } = this.size();
    const { x, y, k } = this.view;
    const now = { x: -x / k, y: -y / k, w: width / k, h: height / k, detail: k < NAMES ? 0 : k < WORDS ? 1 : 2 };
    const was = this.seen;
    if (was && was.detail === now.detail && within(now, was) && now.w * 4 > was.w) return;
    const same = was?.detail === now.detail;
    const wide = { x: now.x - now.w / 2, y: now.y - now.h / 2, w: 2 * now.w, h: 2 * now.h, detail: now.detail };
    this.seen = wide;
    const keep = (all, into, make) => {
      const fresh = this.layers.map(() => []);
      for (const [id, b] of all) {
        const sight = b.x < wide.x + wide.w && b.x + b.w > wide.x && b.y < wide.y + wide.h && b.y + b.h > wide.y;
        if (b.node && (!sight || !same)) {
          b.node.remove();
          b.node = null;
        }
        if (sight && !b.node) fresh[b.level].push((b.node = make(id, b)));
      }
      fresh.forEach((list, i) => this.layers[i][into].append(...list));
    };
    keep(this.edges, "edges", (id, e) =>
      svg("path", {
        d: curve(e.points),
        class: this.classOfEdge(id, e),
        "marker-end": e.far || now.detail === 0 ? undefined : "url(#arrow)",
      }),
    );
    keep(this.boxes, "boxes", (id, b) => this.box(id, b, now.detail));
  }

  // box makes the element of a box. At detail 0 only blocks have words, at 1 names, at 2 everything.
  box(id, b, detail) {
    const w = b.words;
    const scope = id[0] === "s";
    const g = svg("g", {
      class: this.classOf(id, b),
      transform: `translate(${b.x} ${b.y})`,
      "data-id": id,
      id: `graph-${id}`,
    });
    if (scope && !b.open)
      g.append(svg("rect", { class: "shadow", x: 4, y: 4, width: b.w, height: b.h, rx: 5 }));
    g.append(svg("rect", { class: "ground", width: b.w, height: b.h, rx: 5 }));
    if (!b.open) g.append(svg("rect", { class: "edge-of", width: 5, height: b.h, rx: 2.5 }));
    const text = (cls, x, y, words, props = {}) => {
      const t = svg("text", { class: cls, x, y, ...props });
      t.textContent = words;
      g.append(t);
    };
    // A folded block has its time beside the number of its operations: the end of its name tells it apart.
    const low = scope && !b.open;
    const room = Math.floor((b.w - 26 - (low ? 0 : w.cost.length * 7)) / 7.4) - (scope ? 2 : 0);
    const fold = scope ? (b.open ? "\u25be " : "\u25b8 ") : "";
    if (scope || detail > 0) text("head", 12, 16, fold + (scope ? cutLeft : cut)(w.head, Math.max(6, room)));
    if (detail < 2) return g;
    if (w.cost) text("cost", b.w - 8, low ? 31 : 16, w.cost, { "text-anchor": "end" });
    if (!b.open)
      text("below", 12, 31, cut(w.below, Math.floor((b.w - 20 - (low ? w.cost.length * 7 : 0)) / 6.3)));
    return g;
  }

  // classOf is the class of a box: its kind, its colour, and what the reader does with it.
  classOf(id, b) {
    const kind = id[0] === "s" ? "scope" : ["input", "output"].includes(b.words.head) ? "port" : "op";
    const heat = this.most ? Math.ceil(8 * Math.sqrt(b.words.us / this.most)) : 0;
    return [
      "box",
      kind,
      b.open && "open",
      this.colour === "cost" ? `heat heat-${heat}` : b.words.place,
      this.pinned.has(id) && "strong",
      this.near.has(id) && "hover",
      id === this.cursor && "cursor",
    ]
      .filter(Boolean)
      .join(" ");
  }

  classOfEdge(id, e) {
    return this.chosen.has(id) ? "chosen" : e.far ? "far-edge" : "";
  }

  // shownAs is the box that a node is shown in.
  shownAs(i) {
    let id = `n${i}`;
    for (const s of this.path(i).reverse()) if (!this.open.has(s)) id = `s${s}`;
    return id;
  }

  restyle() {
    if (!this.graph || !this.tree) return;
    this.pinned.clear();
    this.near.clear();
    for (const [set, from] of [
      [this.pinned, this.links.strong],
      [this.near, this.links.near],
    ])
      for (const s of from) {
        const i = this.at.get(s);
        if (i !== undefined) set.add(this.shownAs(i));
      }
    // The edges of what is pinned, whatever they cross.
    this.chosen.clear();
    this.overlay.replaceChildren();
    for (const s of [...this.links.strong].slice(0, 8)) {
      const i = this.at.get(s);
      if (i === undefined) continue;
      for (const [a, b] of this.graph.edges)
        if (a === i || b === i) {
          const from = this.shownAs(a),
            to = this.shownAs(b);
          const x = this.boxes.get(from),
            y = this.boxes.get(to);
          if (this.edges.has(`${from} ${to}`)) this.chosen.add(`${from} ${to}`);
          else if (x && y && x !== y)
            this.overlay.append(
              svg("path", {
                d: curve([
                  [x.x + x.w / 2, x.y + x.h],
                  [y.x + y.w / 2, y.y],
                ]),
              }),
            );
        }
    }
    for (const [id, b] of this.boxes) b.node?.setAttribute("class", this.classOf(id, b));
    for (const [id, e] of this.edges) e.node?.setAttribute("class", this.classOfEdge(id, e));
    if (this.colour === "cost")
      this.say2([
        ["heat-1", "little time"],
        ["heat-4", ""],
        ["heat-8", "most time"],
      ]);
    else
      this.say2([
        ["engine", "engine"],
        ["cpu", "CPU"],
        ["fused", "with another"],
        ["none", "no work"],
      ]);
  }

  say2(list) {
    this.legend.replaceChildren(
      ...list.map(([cls, text]) => el("span", {}, el("i", { class: `swatch ${cls}` }), text)),
    );
  }

  // reveal unfolds the blocks around the first pinned statement and brings it into sight.
  async reveal() {
    if (!this.graph) return;
    const i = [...this.links.strong].map((s) => this.at.get(s)).find((x) => x !== undefined);
    if (i === undefined) return this.restyle();
    const shut = this.path(i).filter((s) => !this.open.has(s));
    if (shut.length) {
      for (const s of shut) this.open.add(s);
      this.moved = true;
      await this.lay();
    }
    this.restyle();
    this.cursor = `n${i}`;
    this.center(this.cursor);
  }

  center(id) {
    const b = this.boxes.get(id);
    if (!b) return;
    const { width, height } = this.size();
    const k = Math.max(this.view.k, 0.7);
    const sx = b.x * this.view.k + this.view.x,
      sy = b.y * this.view.k + this.view.y;
    if (k === this.view.k && sx > 20 && sy > 20 && sx + b.w * k < width - 20 && sy + b.h * k < height - 20)
      return;
    this.to({ k, x: width / 2 - (b.x + b.w / 2) * k, y: height / 2.5 - (b.y + b.h / 2) * k });
  }

  size() {
    return { width: this.host.clientWidth || 1, height: this.host.clientHeight || 1 };
  }

  to(v) {
    this.view = v;
    this.layer.setAttribute("transform", `translate(${v.x} ${v.y}) scale(${v.k})`);
    this.see();
  }

  // fit shows the whole width, from the top; a graph that is little higher than the pane is shown whole.
  fit(whole = false) {
    const { width, height } = this.size();
    const w = this.tree?.w || 1,
      h = (this.tree?.h || 1) + 30; // the legend
    let k = Math.min(1, (width - 16) / w);
    if (whole || (height - 16) / h > 0.6 * k) k = Math.min(k, (height - 16) / h);
    k = Math.max(whole ? LEAST : 0.55, k);
    // Of a graph that is wider than the pane, the middle one of the boxes at the top is shown.
    const top = [...this.boxes.values()].filter((b) => !b.open && b.y * k < height);
    const middles = top.map((b) => b.x + b.w / 2).sort((a, b) => a - b);
    const middle = w * k > width && middles.length ? middles[middles.length >> 1] : w / 2;
    this.to({ k, x: width / 2 - middle * k, y: Math.max(8, whole ? (height - h * k) / 2 : 8) });
  }

  zoom(by, x, y) {
    this.moved = true;
    const { width, height } = this.size();
    x ??= width / 2;
    y ??= height / 2;
    const k = Math.max(LEAST, Math.min(MOST, this.view.k * by));
    const f = k / this.view.k;
    this.to({ k, x: x - (x - this.view.x) * f, y: y - (y - this.view.y) * f });
  }

  async fold(all) {
    if (!this.graph) return;
    this.open = new Set(all ? this.graph.scopes.keys() : []);
    this.moved = false;
    await this.lay();
  }

  async toggle(id) {
    const s = Number(id.slice(1));
    const was = this.boxes.get(id);
    if (this.open.has(s)) this.open.delete(s);
    else this.open.add(s);
    this.moved = true;
    this.cursor = id;
    await this.lay();
    // The block stays where it was under the pointer.
    const b = this.boxes.get(id);
    if (was && b)
      this.to({
        ...this.view,
        x: this.view.x + (was.x - b.x) * this.view.k,
        y: this.view.y + (was.y - b.y) * this.view.k,
      });
  }

  act(id) {
    if (id[0] === "s") return this.toggle(id);
    const s = this.graph.nodes[Number(id.slice(1))].statement;
    this.cursor = id;
    if (s >= 0) this.pin(s);
  }

  listen() {
    const box = (e) => e.target.closest?.(".box")?.dataset.id;
    let drag = null;
    this.svg.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      drag = { x: e.clientX, y: e.clientY, view: { ...this.view }, far: false, id: box(e) };
    });
    this.svg.addEventListener("pointermove", (e) => {
      if (drag) {
        const dx = e.clientX - drag.x,
          dy = e.clientY - drag.y;
        if (!drag.far && Math.hypot(dx, dy) < 4) return;
        if (!drag.far) this.svg.setPointerCapture(e.pointerId);
        drag.far = this.moved = true;
        this.to({ ...drag.view, x: drag.view.x + dx, y: drag.view.y + dy });
        return;
      }
      const id = box(e);
      if (id === this.last) return;
      this.last = id;
      if (!id) {
        untip();
        this.hover([]);
        return;
      }
      this.tell(id, { x: e.clientX, y: e.clientY });
    });
    this.svg.addEventListener("pointerup", () => {
      const was = drag;
      drag = null;
      if (was && !was.far && was.id) this.act(was.id);
    });
    this.svg.addEventListener("pointercancel", () => (drag = null));
    this.svg.addEventListener("pointerleave", () => {
      this.last = null;
      untip();
      this.hover([]);
    });
    this.svg.addEventListener(
      "wheel",
      (e) => {
        e.preventDefault();
        const r = this.svg.getBoundingClientRect();
        if (e.shiftKey) this.to({ ...this.view, x: this.view.x - e.deltaY - e.deltaX });
        else
          this.zoom(
            Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0016)),
            e.clientX - r.left,
            e.clientY - r.top,
          );
      },
      { passive: false },
    );
    this.svg.addEventListener("keydown", (e) => this.key(e));
    this.svg.addEventListener("blur", untip);
  }

  tell(id, at) {
    const b = this.boxes.get(id);
    if (!b) return;
    const i = Number(id.slice(1));
    if (id[0] === "n") {
      const n = this.graph.nodes[i],
        c = this.costs.of(n.statement);
      this.hover(n.statement >= 0 ? [n.statement] : []);
      tip(at, `${n.op} ${n.name}`, shortType(n.type), c ? this.costs.words(c) : "");
    } else {
      this.hover([]);
      const s = this.graph.scopes[i];
      tip(
        at,
        s.name,
        b.words.below,
        b.words.cost,
        s.index < 0 ? `${s.repeat} blocks of ${count(s.count / s.repeat, "operation")}` : "",
        s.repeat > 1 && s.index >= 0 ? `iteration ${s.index + 1} of ${s.repeat}` : "",
      );
    }
  }

  key(e) {
    if (e.ctrlKey || e.altKey || e.metaKey || !this.tree) return;
    const zoom = { "+": 1.25, "=": 1.25, "-": 0.8 }[e.key];
    if (zoom) this.zoom(zoom);
    else if (e.key === "0") this.fit(true);
    else if ((e.key === "Enter" || e.key === " ") && this.boxes.has(this.cursor)) this.act(this.cursor);
    else if (e.key.startsWith("Arrow")) this.step(e.key.slice(5));
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  // step moves the cursor to the nearest box in a direction.
  step(way) {
    const from = this.boxes.get(this.cursor);
    let best = null,
      least = Infinity;
    for (const [id, b] of this.boxes) {
      if (id === this.cursor || b.open) continue;
      const dx = from ? b.x + b.w / 2 - from.x - from.w / 2 : b.x,
        dy = from ? b.y - from.y : b.y;
      const [along, aside] = { Down: [dy, dx], Up: [-dy, dx], Right: [dx, dy], Left: [-dx, dy] }[way];
      if (from && along < 4) continue;
      const d = Math.abs(along) + 2.5 * Math.abs(aside);
      if (d < least) {
        least = d;
        best = id;
      }
    }
    if (!best) return;
    this.cursor = best;
    this.moved = true;
    this.restyle();
    this.center(best);
    this.svg.setAttribute("aria-activedescendant", `graph-${best}`);
    const b = this.boxes.get(best),
      box = b.node.getBoundingClientRect();
    this.tell(best, { x: box.right, y: box.top });
  }
}

// bounds is the rectangle around the points of an edge.
function bounds(points) {
  const xs = points.map(([x]) => x),
    ys = points.map(([, y]) => y);
  const x = Math.min(...xs),
    y = Math.min(...ys);
  return { x, y, w: Math.max(...xs) - x, h: Math.max(...ys) - y };
}

// within reports whether rectangle a is in rectangle b.
const within = (a, b) => a.x >= b.x && a.y >= b.y && a.x + a.w <= b.x + b.w && a.y + a.h <= b.y + b.h;

// curve draws an edge through points.
function curve(ps) {
  const n = ps.map(([x, y]) => [Math.round(x * 10) / 10, Math.round(y * 10) / 10]);
  if (n.length === 2) {
    const [[x, y], [u, v]] = n,
      m = (y + v) / 2;
    return `M${x} ${y} C${x} ${m} ${u} ${m} ${u} ${v}`;
  }
  let d = `M${n[0][0]} ${n[0][1]}`;
  for (let i = 1; i < n.length - 1; i++) {
    const [x, y] = n[i],
      [u, v] = n[i + 1];
    const end = i === n.length - 2 ? [u, v] : [(x + u) / 2, (y + v) / 2];
    d += ` Q${x} ${y} ${end[0]} ${end[1]}`;
  }
  return d;
}
