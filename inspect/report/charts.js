// Charts of an estimate: the timeline of a call, and the roofline of its operations. data is report.Drawing; marks
// makes a node tell of an operation, or of something else, and choose it.

const NS = "http://www.w3.org/2000/svg";

// el makes an SVG element.
export function el(name, attrs, ...children) {
  const e = document.createElementNS(NS, name);
  for (const [k, v] of Object.entries(attrs || {})) if (v !== undefined) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

// chart makes the drawing of a chart.
export const chart = (w, h, label) =>
  el("svg", { class: "chart", viewBox: `0 0 ${w} ${h}`, height: h, role: "img", "aria-label": label });

// largest and smallest take lists of any length; Math.max takes as many arguments as the stack has room for.
export const largest = (list) => list.reduce((a, b) => Math.max(a, b), 0);
export const smallest = (list) => list.reduce((a, b) => Math.min(a, b), Infinity);

// three writes a number with three digits at most.
const three = (v) => (v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2)).replace(/(\.\d*?)0+$/, "$1")
  .replace(/\.$/, "");

function scaled(v, units) {
  let i = 0;
  while (v >= 999.5 && i < units.length - 1) { v /= 1000; i++; }
  return v === 0 ? "" : `${three(v)} ${units[i]}`;
}
export const time = (ns) => scaled(ns, ["ns", "µs", "ms", "s"]);
export const bytes = (n) => scaled(n, ["B", "kB", "MB", "GB", "TB"]);
export const many = (n) => scaled(n, ["", "k", "M", "G", "T"]);

export const color = (use) => `var(--${use || "rest"})`;

// wide is the width of text in a chart.
const pen = document.createElement("canvas").getContext("2d");
pen.font = "12px system-ui, sans-serif"; // as the style sheets have it
const widths = new Map();
export function wide(text) {
  if (!widths.has(text)) widths.set(text, pen.measureText(text).width);
  return widths.get(text);
}

// label writes text into a box where it fits, shortened unless it must be whole.
export function label(g, text, x, y, w, h, cls, whole = false) {
  if (h < 16) return;
  let t = text;
  if (wide(t) > w - 8) {
    if (whole) return;
    while (t.length > 2 && wide(`${t}…`) > w - 8) t = t.slice(0, -1);
    if (t.length < 3) return;
    t += "…";
  }
  g.append(el("text", { x: x + 5, y: y + 14, class: cls }, t));
}

// Timeline draws one call in time: what it waits for, what tasks use, and how full L2 is.
export class Timeline {
  constructor(box, data, marks) {
    Object.assign(this, { box, data, marks, view: [0, data.total] });
    box.addEventListener("wheel", (e) => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      const b = box.getBoundingClientRect();
      this.zoom(e.deltaY > 0 ? 1.25 : 0.8, (e.clientX - b.left) / b.width);
    }, { passive: false });
    box.addEventListener("pointerdown", (e) => {
      const x = e.clientX, from = this.view[0], w = this.view[1] - this.view[0];
      if (w >= data.total) return;
      const drag = (m) => this.move(from - (m.clientX - x) / box.clientWidth * w, w);
      const over = new AbortController(), { signal } = over;
      addEventListener("pointermove", drag, { signal });
      for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => over.abort(), { signal });
    });
  }

  zoom(f, at = 0.5) {
    const all = this.data.total, old = this.view[1] - this.view[0];
    const w = Math.min(all, Math.max(all / 5000, old * f));
    this.move(this.view[0] + (old - w) * at, w);
  }

  move(from, w) {
    from = Math.min(Math.max(0, from), this.data.total - w);
    this.view = [from, from + w];
    this.draw();
    this.moved?.();
  }

  all() { this.move(0, this.data.total); }

  draw() {
    const { box, data, view } = this, W = box.clientWidth, left = 76, row = 26;
    const tracks = data.tracks.map((n, i) => i).filter((i) => data.spans.some((s) => s[0] === i));
    const most = largest(data.held.map((h) => h[2]));
    const H = 26 + tracks.length * row + (most ? 58 : 0);
    const svg = chart(W, H, "timeline of one call");
    const x = (t) => left + (t - view[0]) / (view[1] - view[0]) * (W - left - 2);
    const within = (start, len) => [Math.max(left, x(start)), Math.min(W - 2, x(start + len))];
    let step = 10 ** Math.floor(Math.log10((view[1] - view[0]) / (W / 160)));
    for (const f of [1, 2, 5, 10]) if ((view[1] - view[0]) / (step * f) <= W / 110) { step *= f; break; }
    for (let t = Math.ceil(view[0] / step) * step; t <= view[1]; t += step) {
      svg.append(el("line", { x1: x(t), x2: x(t), y1: 18, y2: H, class: "grid" }));
      if (x(t) < W - 50) svg.append(el("text", { x: x(t) + 3, y: 14, class: "quiet" }, time(t) || "0"));
    }
    tracks.forEach((track, k) => {
      const y = 22 + k * row, name = data.tracks[track];
      svg.append(el("text", { x: 0, y: y + 15 }, name.name));
      let end = -1;
      for (const [tr, start, len, i, text] of data.spans) {
        if (tr !== track || start + len < view[0] || start > view[1]) continue;
        const [a, b] = within(start, len);
        if (b - a < 0.7 && a < end) continue; // it would be on top of the one before
        end = a + 0.7;
        const use = text === data.names.io ? "io" : name.use || data.ops[i]?.b;
        const r = el("rect", { x: a, y, width: Math.max(0.7, b - a), height: row - 6, class: "hit",
          fill: color(use), "data-op": i >= 0 ? i : undefined });
        this.marks(r, i, () => `${i >= 0 ? "" : `${text}\n`}${time(len)} from ${time(start) || "0"}`);
        svg.append(r);
        if (b - a > 34) label(svg, i >= 0 ? data.ops[i].o : text, a, y + 1, b - a, 18, "in");
      }
    });
    if (most) this.held(svg, within, 22 + tracks.length * row, most, left, W);
    box.replaceChildren(svg);
  }

  // held draws the bytes of L2 that tasks use at most, from the bottom up to its size.
  held(svg, within, top, most, left, W) {
    const { data, view } = this, high = 44, full = data.l2 || most;
    svg.append(el("text", { x: 0, y: top + 15 }, "L2 in use"), el("text", { x: 0, y: top + 30, class: "quiet" },
      `of ${bytes(full)}`), el("line", { x1: left, x2: W - 2, y1: top, y2: top, class: "edge" }));
    let end = -1;
    for (const [start, len, n, i] of data.held) {
      if (start + len < view[0] || start > view[1]) continue;
      const [a, b] = within(start, len);
      if (b - a < 0.7 && a < end) continue;
      end = a + 0.7;
      const h = Math.max(1, Math.min(1, n / full) * high);
      const r = el("rect", { x: a, y: top + high - h, width: Math.max(0.7, b - a), height: h, class: "hit",
        fill: color("l2"), "data-op": i });
      this.marks(r, i, () => `${bytes(n)} of L2 in use`);
      svg.append(r);
    }
  }
}

// roofline draws operations that multiply: their products for each byte that DMA moves, against the rate at which they
// do them, below what DMA and products allow.
export function roofline(box, data, marks) {
  const { macs, bytes: rate } = data.roof || {};
  const list = data.ops.map((o, i) => ({ o, i })).filter(({ o }) => o.m && o.t && o.u !== "cpu");
  if (!macs || !list.length) return false;
  const W = box.clientWidth, H = Math.max(240, Math.min(380, W * 0.42)), left = 62, low = 30;
  const at = (o) => [o.m / Math.max(o.d || 0, 1), o.m / (o.t / 1e9)];
  const corner = macs / rate;
  const xs = [...list.map(({ o }) => at(o)[0]), corner / 10, corner * 10], ys = list.map(({ o }) => at(o)[1]);
  const floor = (v) => 10 ** Math.floor(Math.log10(v)), ceil = (v) => 10 ** Math.ceil(Math.log10(v));
  const [x0, x1] = [floor(smallest(xs)), ceil(Math.min(largest(xs), corner * 1e4))];
  const [y0, y1] = [floor(Math.min(smallest(ys), macs / 100)), ceil(macs * 1.01)];
  const px = (v) => left + Math.log(Math.min(v, x1) / x0) / Math.log(x1 / x0) * (W - left - 12);
  const py = (v) => 8 + (1 - Math.log(v / y0) / Math.log(y1 / y0)) * (H - low - 8);
  const svg = chart(W, H, "roofline of the operations");
  const every = Math.ceil(Math.log10(x1 / x0) / Math.max(2, (W - left) / 70));
  for (let v = x0, k = 0; v <= x1 * 1.01; v *= 10, k++) {
    svg.append(el("line", { x1: px(v), x2: px(v), y1: 8, y2: H - low, class: "grid" }));
    if (k % every === 0 && px(v) < W - 24) svg.append(el("text", { x: px(v) + 3, y: H - low + 14, class: "quiet" },
      v >= 1000 ? many(v) : String(Number(v.toPrecision(1)))));
  }
  for (let v = y0; v <= y1 * 1.01; v *= 10) {
    svg.append(el("line", { x1: left, x2: W - 12, y1: py(v), y2: py(v), class: "grid" }));
    svg.append(el("text", { x: left - 6, y: py(v) + 4, class: "quiet", "text-anchor": "end" }, `${many(v)}/s`));
  }
  svg.append(el("text", { x: W - 12, y: H - 2, class: "quiet", "text-anchor": "end" },
    W > 560 ? "multiply-accumulates for each byte of DMA" : "products per byte"));
  const roof = (v) => Math.min(macs, v * rate);
  const slope = `M${px(x0)} ${py(Math.max(y0, roof(x0)))}L${px(corner)} ${py(macs)}`;
  svg.append(el("path", { class: "edge", d: `${slope}L${px(x1)} ${py(macs)}` }));
  svg.append(el("text", { x: W - 16, y: py(macs) - 5, "text-anchor": "end" }, `products ${many(macs)}/s`));
  const [tx, ty] = [Math.sqrt(x0 * corner), roof(Math.sqrt(x0 * corner))];
  if (ty > y0) svg.append(el("text", { x: px(tx) - 6, y: py(ty) - 6, "text-anchor": "end" }, `DMA ${bytes(rate)}/s`));
  const most = largest(list.map(({ o }) => o.t));
  for (const { o, i } of list.sort((a, b) => b.o.t - a.o.t)) {
    const [x, y] = at(o);
    const dot = el("circle", { cx: px(x), cy: py(Math.max(y, y0)), r: 3 + 9 * Math.sqrt(o.t / most), fill: color(o.b),
      class: "hit dot", "data-op": i });
    marks(dot, i, () => `${many(o.m)} products, ${bytes(o.d || 0) || "0 B"} of DMA: ${many(y)} products a second`);
    svg.append(dot);
  }
  box.replaceChildren(svg);
  return true;
}
