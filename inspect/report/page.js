"use strict";
// Draws a report: a map of time, a timeline, a map of the graph, a table. All of them show the operations of
// data.ops by their index; choosing one marks it everywhere.

const source = document.getElementById("data"); // out of the document once another report is in its place
const data = JSON.parse(source.textContent);
const ops = data.ops;
const byId = (id) => document.getElementById(id);
const NS = "http://www.w3.org/2000/svg";
const color = (use) => `var(--${use || "transfer"})`;
let chosen = -1;

// el makes an SVG element.
function el(name, attrs, ...children) {
  const e = document.createElementNS(NS, name);
  for (const [k, v] of Object.entries(attrs || {})) if (v !== undefined) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

// three writes a number with three digits at most.
const three = (v) => (v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2)).replace(/(\.\d*?)0+$/, "$1")
  .replace(/\.$/, "");

function scaled(v, units, step) {
  let i = 0;
  while (v >= 999.5 && i < units.length - 1) { v /= step; i++; }
  return v === 0 ? "" : `${three(v)} ${units[i]}`;
}
const time = (ns) => scaled(ns, ["ns", "µs", "ms", "s"], 1000);
const bytes = (n) => scaled(n, ["B", "kB", "MB", "GB", "TB"], 1000);
const many = (n) => scaled(n, ["", "k", "M", "G", "T"], 1000);
// share writes whole per cent, as zinc check does.
const share = (ns) => {
  const p = data.total ? 100 * ns / data.total : 0;
  return !data.total ? "" : p > 0 && p < 0.5 ? "<1 %" : `${Math.round(p)} %`;
};
const place = (o) => (o.u === "cpu" ? "CPU" : o.u);

// The kinds of operations that take most time have a color each.
const kindTimes = new Map();
for (const o of ops) if (o.t && o.u !== "cpu") kindTimes.set(o.o, (kindTimes.get(o.o) || 0) + o.t);
const kinds = [...kindTimes].sort((a, b) => b[1] - a[1]).slice(0, 8).map((k) => k[0]);
function fillOf(o) {
  if (o.u === "cpu") return color("cpu");
  const k = kinds.indexOf(o.o);
  return k < 0 ? color("rest") : `var(--k${k})`;
}
function legend(id) {
  const entry = (c, n) => {
    const li = document.createElement("li"), i = document.createElement("i");
    i.style.background = c;
    li.append(i, n);
    return li;
  };
  const all = kinds.map((k, i) => entry(`var(--k${i})`, k));
  if (kindTimes.size > kinds.length) all.push(entry(color("rest"), "others"));
  if (ops.some((o) => o.t && o.u === "cpu")) all.push(entry(color("cpu"), "on the CPU"));
  byId(id).replaceChildren(...all);
}
legend("kindcolors");

// The text that follows the pointer.
function tip(e, text) {
  const t = byId("tip");
  t.hidden = !text;
  if (!text) return;
  t.textContent = text;
  const x = Math.min(e.clientX + 14, innerWidth - t.offsetWidth - 8);
  const below = e.clientY + 18 + t.offsetHeight < innerHeight;
  t.style.left = `${Math.max(8, x)}px`;
  t.style.top = `${below ? e.clientY + 18 : e.clientY - t.offsetHeight - 10}px`;
}
function tips(node, text) {
  node.addEventListener("pointermove", (e) => tip(e, text()));
  node.addEventListener("pointerleave", () => tip(null, ""));
}
const about = (o) => [`${o.o} ${o.n}`, [place(o), o.t && time(o.t), share(o.t || 0), o.b && `bound by ${o.b}`]
  .filter(Boolean).join(", "), o.l && `line ${o.l}`, o.x].filter(Boolean).join("\n");

// choose marks an operation in every view; from is the view where it was chosen.
function choose(i, from) {
  chosen = i;
  document.querySelectorAll(".on").forEach((e) => e.classList.remove("on"));
  const o = ops[i];
  byId("chosen").hidden = !o;
  if (!o) return;
  for (const e of document.querySelectorAll(`[data-op="${i}"]`)) e.classList.add("on");
  for (const e of document.querySelectorAll("[data-ops]")) if (e.members.has(i)) e.classList.add("on");
  byId("what").textContent = `${o.o} ${o.n}`;
  byId("facts").textContent = [o.l && `line ${o.l}`, o.y, o.s, place(o), o.t && `${time(o.t)}, ${share(o.t)}`,
    o.b && `bound by ${o.b}`, o.x].filter(Boolean).join(" · ");
  if (from === "row") return;
  let row = byId(`op-${i}`);
  if (!row) { byId("find").value = ""; fill(); row = byId(`op-${i}`); row.classList.add("on"); }
  byId("torow").href = `#op-${i}`;
  if (from === "graph" || from === "timeline") return;
  row.scrollIntoView({ block: "center" });
}

// ---- Map of time

// tree returns what the map shows: modules or kinds of operations, with the kinds or modules in them.
function tree(by) {
  const root = { n: "", t: 0, kids: new Map() };
  const put = (path, t, paint, i) => {
    let at = root;
    root.t += t;
    for (const n of path) {
      if (!at.kids.has(n)) at.kids.set(n, { n, t: 0, kids: new Map(), paint, ops: [] });
      at = at.kids.get(n);
      at.t += t;
      if (i >= 0) at.ops.push(i);
    }
  };
  ops.forEach((o, i) => {
    if (!o.t) return;
    const scope = (o.s || "").split("/").filter(Boolean);
    const numbered = scope.findIndex((p, k) => k > 0 && /^\d+$/.test(p));
    const module = numbered > 0 ? scope.slice(0, numbered + 1).join(" ") : scope.join(" ") || "no module";
    const first = data.many ? [o.f] : [];
    put(by === "kind" ? [...first, o.o, module] : [...first, module, o.o], o.t, fillOf(o), i);
  });
  // Where the way to the engine is most of the time, the map shows what is left.
  const other = data.other.reduce((s, r) => s + r.t, 0);
  byId("without").textContent = 2 * other > data.total ? `Without dispatches, inputs and outputs: ${time(other)}.` : "";
  if (2 * other <= data.total) for (const r of data.other) put([r.n], r.t, color(r.b), -1);
  return root;
}

// squares divides a rectangle among items, largest first, so that none is much longer than wide.
function squares(items, x, y, w, h, place) {
  let rest = items.reduce((s, k) => s + k.t, 0);
  let i = 0;
  while (i < items.length && w > 0.5 && h > 0.5) {
    const side = Math.min(w, h), scale = w * h / rest;
    let sum = 0, worst = Infinity, n = i;
    for (; n < items.length; n++) {
      const s = (sum + items[n].t) * scale, big = items[i].t * scale, small = items[n].t * scale;
      const ratio = Math.max(side * side * big / (s * s), s * s / (side * side * small));
      if (ratio > worst) break;
      worst = ratio;
      sum += items[n].t;
    }
    const thick = sum * scale / side;
    let along = 0;
    for (; i < n; i++) {
      const len = side * items[i].t / sum;
      if (w >= h) place(items[i], x, y + along, thick, len);
      else place(items[i], x + along, y, len, thick);
      along += len;
    }
    if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
    rest -= sum;
  }
}

// wide is the width of text in the map.
const pen = document.createElement("canvas").getContext("2d");
pen.font = "12px system-ui, sans-serif"; // as the style sheet has it
const wide = (text) => pen.measureText(text).width;

// label writes text into a box where it fits, shortened unless it must be whole.
function label(g, text, x, y, w, h, cls, whole = false) {
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

let mapBy = "scope";
function drawMap() {
  const box = byId("map"), W = box.clientWidth, H = Math.max(260, Math.min(440, W * 0.4));
  const root = tree(mapBy);
  if (!root.t) { byId("treemap").hidden = true; return; }
  const svg = el("svg", { viewBox: `0 0 ${W} ${H}`, height: H, role: "img", "aria-label": "map of time" });
  const big = (m) => [...m.values()].sort((a, b) => b.t - a.t);
  const leaf = (k, path, x, y, w, h) => {
    if (w < 1.5 || h < 1.5) return;
    const r = el("rect", { x: x + 0.5, y: y + 0.5, width: Math.max(0.5, w - 1), height: Math.max(0.5, h - 1), rx: 2,
      fill: k.paint, class: "hit", "data-ops": "" });
    r.members = new Set(k.ops);
    tips(r, () => `${[...path, k.n].join(" › ")}\n${time(k.t)}, ${share(k.t)}` +
      (k.ops.length > 1 ? `\n${k.ops.length} operations` : ""));
    r.addEventListener("click", () => {
      if (k.ops.length === 0) return;
      only = k.ops.length > 1 ? { ops: new Set(k.ops), name: [...path, k.n].join(" › ") } : null;
      fill();
      choose(k.ops.reduce((a, b) => (ops[b].t > ops[a].t ? b : a)), "map");
    });
    svg.append(r);
    label(svg, k.n, x, y, w, h, "in");
    if (h > 34) label(svg, time(k.t), x, y + 15, w, h - 15, "in", true);
  };
  const group = (k, path, x, y, w, h) => {
    const kids = big(k.kids);
    if (kids.length === 0) return leaf(k, path, x, y, w, h);
    const top = w > 46 && h > 40 ? 19 : 0;
    if (top) {
      svg.append(el("rect", { x: x + 1, y: y + 1, width: w - 2, height: h - 2, rx: 4, class: "group" }));
      const whole = `${k.n}  ${time(k.t)}`;
      label(svg, wide(whole) < w - 10 ? whole : k.n, x, y, w, top, "");
    }
    const pad = top ? 3 : 0;
    squares(kids, x + pad, y + top, w - 2 * pad, h - top - pad,
      (c, ...at) => group(c, [...path, k.n], ...at));
    return undefined;
  };
  squares(big(root.kids), 0, 0, W, H, (k, ...at) => group(k, [], ...at));
  box.replaceChildren(svg);
}
for (const b of document.querySelectorAll("[data-by]")) {
  b.addEventListener("click", () => {
    mapBy = b.dataset.by;
    for (const x of document.querySelectorAll("[data-by]")) x.setAttribute("aria-pressed", String(x === b));
    drawMap();
    choose(chosen, "graph");
  });
}

// ---- Timeline

let view = [0, data.total];
const uses = {
  dispatch: "dispatch", CPU: "cpu", "engine: multiply-accumulate": "macs", "engine: DMA": "dma", "engine: L2": "l2",
};
function drawLine() {
  const box = byId("line"), W = box.clientWidth, left = W > 700 ? 120 : 88, row = 26;
  if (!data.spans.length) { byId("timeline").hidden = true; return; }
  const tracks = data.tracks.map((n, i) => i).filter((i) => data.spans.some((s) => s[0] === i));
  const H = 26 + tracks.length * row;
  const svg = el("svg", { viewBox: `0 0 ${W} ${H}`, height: H, role: "img", "aria-label": "timeline of one call" });
  const x = (t) => left + (t - view[0]) / (view[1] - view[0]) * (W - left - 2);
  let step = 10 ** Math.floor(Math.log10((view[1] - view[0]) / (W / 160)));
  for (const f of [1, 2, 5, 10]) if ((view[1] - view[0]) / (step * f) <= W / 110) { step *= f; break; }
  for (let t = Math.ceil(view[0] / step) * step; t <= view[1]; t += step) {
    svg.append(el("line", { x1: x(t), x2: x(t), y1: 18, y2: H, class: "grid" }));
    if (x(t) < W - 50) svg.append(el("text", { x: x(t) + 3, y: 14, class: "quiet" }, time(t) || "0"));
  }
  tracks.forEach((track, k) => {
    const y = 22 + k * row;
    svg.append(el("text", { x: 0, y: y + 15 }, data.tracks[track].replace("engine: ", W > 700 ? "engine: " : "")));
    let end = -1;
    for (const [tr, start, len, i, name] of data.spans) {
      if (tr !== track || start + len < view[0] || start > view[1]) continue;
      const a = Math.max(left, x(start)), b = Math.min(W - 2, x(start + len));
      if (b - a < 0.7 && a < end) continue; // it would be on top of the one before
      end = a + 0.7;
      const use = name === "inputs and outputs" ? "io" : uses[data.tracks[track]];
      const r = el("rect", { x: a, y, width: Math.max(0.7, b - a), height: row - 6, class: "hit",
        fill: use ? color(use) : fillOf(ops[i]), "data-op": i >= 0 ? i : undefined });
      tips(r, () => (i >= 0 ? about(ops[i]) : name) + `\n${time(len)} from ${time(start) || "0"}`);
      if (i >= 0) r.addEventListener("click", () => choose(i, "timeline"));
      svg.append(r);
      if (b - a > 34) label(svg, i >= 0 ? ops[i].o : name, a, y + 1, b - a, 18, "in");
    }
  });
  box.replaceChildren(svg);
}
function zoom(f, at = 0.5) {
  const w = Math.min(data.total, Math.max(data.total / 5000, (view[1] - view[0]) * f));
  const from = view[0] + (view[1] - view[0] - w) * at;
  move(from, w);
}
function move(from, w) {
  from = Math.min(Math.max(0, from), data.total - w);
  view = [from, from + w];
  drawLine();
  for (const e of document.querySelectorAll(`#line [data-op="${chosen}"]`)) e.classList.add("on");
}
byId("in").addEventListener("click", () => zoom(0.4));
byId("out").addEventListener("click", () => zoom(2.5));
byId("fit").addEventListener("click", () => move(0, data.total));
byId("line").addEventListener("wheel", (e) => {
  if (!e.ctrlKey) return;
  e.preventDefault();
  const b = byId("line").getBoundingClientRect();
  zoom(e.deltaY > 0 ? 1.25 : 0.8, (e.clientX - b.left) / b.width);
}, { passive: false });
byId("line").addEventListener("pointerdown", (e) => {
  const x = e.clientX, from = view[0], w = view[1] - view[0], W = byId("line").clientWidth;
  if (w >= data.total) return;
  const drag = (m) => move(from - (m.clientX - x) / W * w, w);
  addEventListener("pointermove", drag);
  addEventListener("pointerup", () => removeEventListener("pointermove", drag), { once: true });
});

// ---- Map of the graph

// lay puts every operation at a depth, after all that it reads, and in the lane of what it reads first or the nearest
// free one.
function lay() {
  const depth = [], lane = [], taken = [], late = [];
  ops.forEach((o, i) => {
    depth[i] = 0;
    for (const r of o.r || []) if (r < i) depth[i] = Math.max(depth[i], depth[r] + 1);
  });
  // An operation is next to the first one that reads it.
  for (let i = ops.length - 1; i >= 0; i--) {
    if (late[i] !== undefined) depth[i] = Math.max(depth[i], late[i]);
    for (const r of ops[i].r || []) late[r] = Math.min(late[r] ?? Infinity, depth[i] - 1);
  }
  ops.forEach((o, i) => {
    const full = taken[depth[i]] ||= new Set();
    const want = o.r && o.r[0] < i ? lane[o.r[0]] : 0;
    let at = want;
    for (let k = 1; full.has(at); k++) at = want + (k % 2 ? (k + 1) / 2 : -k / 2);
    full.add(at);
    lane[i] = at;
  });
  return { depth, lane, columns: Math.max(0, ...depth) + 1 };
}
const laid = lay();
function drawNet() {
  const box = byId("net"), W = box.clientWidth, step = ops.length > 300 ? 13 : 22, high = ops.length > 300 ? 11 : 14;
  if (!ops.length) { byId("graph").hidden = true; return; }
  const across = Math.max(4, Math.floor((W - 12) / step)), rows = Math.ceil(laid.columns / across);
  const row = (i) => Math.floor(laid.depth[i] / across);
  // A row has the lanes that its operations use and no others.
  const lanes = Array.from({ length: rows }, () => new Set());
  ops.forEach((o, i) => lanes[row(i)].add(laid.lane[i]));
  const rank = lanes.map((l) => new Map([...l].sort((a, b) => a - b).map((n, k) => [n, k])));
  const top = [];
  let H = 8;
  rank.forEach((l, r) => { top[r] = H; H += l.size * high + 12; });
  const at = (i) => {
    const r = row(i);
    return [8 + (laid.depth[i] % across) * step, top[r] + 6 + rank[r].get(laid.lane[i]) * high, r];
  };
  const svg = el("svg", { viewBox: `0 0 ${W} ${H}`, height: H, role: "img", "aria-label": "map of the graph" });
  const wires = el("g"), dots = el("g");
  const feeds = ops.map(() => []);
  ops.forEach((o, i) => {
    for (const from of o.r || []) {
      const [x, y, r] = at(i), [fx, fy, fr] = at(from);
      const bend = Math.min(30, Math.abs(x - fx) / 2);
      const d = r === fr ? `M${fx} ${fy}C${fx + bend} ${fy} ${x - bend} ${y} ${x} ${y}` :
        `M${fx} ${fy}h${Math.min(10, W - fx)}M${x} ${y}h-8`;
      const wire = el("path", { d, class: "wire" });
      feeds[from].push(wire);
      feeds[i].push(wire);
      wires.append(wire);
    }
  });
  const most = Math.max(1, ...ops.map((o) => o.t || 0));
  ops.forEach((o, i) => {
    const [x, y] = at(i);
    const r = 2.4 + (high / 2 - 2.6) * Math.sqrt((o.t || 0) / most);
    const dot = el("circle", { cx: x, cy: y, r, fill: color(o.u), class: "hit", "data-op": i });
    tips(dot, () => about(o));
    dot.addEventListener("pointerenter", () => feeds[i].forEach((w) => w.classList.add("lit")));
    dot.addEventListener("pointerleave", () => feeds[i].forEach((w) => w.classList.remove("lit")));
    dot.addEventListener("click", () => choose(i, "graph"));
    dots.append(dot);
  });
  svg.append(wires, dots);
  box.replaceChildren(svg);
}

// ---- Table

// A column has a title, a class that hides it on narrow pages, a width in per cent, its text, and the value to sort
// by.
const columns = [
  { title: "line", width: 6, cls: "n wide0", of: (o) => o.l || "", by: (o) => o.l || 0 },
  { title: "operation", width: 14, of: (o) => o.o },
  { title: "result", width: 22, of: (o) => o.n },
  { title: "module", width: 18, cls: "wide2", of: (o) => (o.s || "").replaceAll("/", " / ") },
  { title: "place", width: 10, of: place },
  { title: "time", width: 10, cls: "n", of: (o) => time(o.t || 0), by: (o) => o.t || 0 },
  { title: "bound", width: 8, cls: "wide0", of: (o) => (o.u === "cpu" ? "" : o.b || "") },
  { title: "DMA", width: 9, cls: "n wide1", of: (o) => bytes(o.d || 0), by: (o) => o.d || 0 },
  { title: "MACs", width: 8, cls: "n wide2", of: (o) => many(o.m || 0), by: (o) => o.m || 0 },
  { title: "constants", width: 9, cls: "n wide1", of: (o) => bytes(o.w || 0), by: (o) => o.w || 0 },
  { title: "why", width: 22, cls: "why wide0", of: (o) => o.x || "" },
];
if (data.many) columns.unshift({ title: "function", width: 10, of: (o) => o.f });
let sort = { column: null, down: false };
let only = null; // what a click in a map left of the rows
const text = ops.map((o) => [o.f, o.o, o.n, o.s, place(o), o.b, o.x, o.v, `line ${o.l}`].join(" ").toLowerCase());

function head() {
  const tr = document.createElement("tr");
  for (const c of columns) {
    const th = document.createElement("th"), b = document.createElement("button");
    th.className = c.cls || "";
    th.style.width = `${c.width}%`;
    const on = sort.column === c;
    b.textContent = c.title + (on ? (sort.down ? " ↓" : " ↑") : "");
    th.setAttribute("aria-sort", on ? (sort.down ? "descending" : "ascending") : "none");
    b.addEventListener("click", () => {
      // Numbers begin with the largest; a third click is the order of the program.
      const down = Boolean(c.by) && c.title !== "line";
      if (!on) sort = { column: c, down };
      else if (sort.down === down) sort.down = !down;
      else sort = { column: null, down: false };
      fill();
    });
    th.append(b);
    tr.append(th);
  }
  byId("rows").tHead.replaceChildren(tr);
}

// fill writes the rows that pass the filter, in order.
function fill() {
  const words = byId("find").value.toLowerCase().split(/[\s,]+/).filter(Boolean);
  let list = [...ops.keys()].filter((i) => (!only || only.ops.has(i)) && words.every((w) => text[i].includes(w)));
  const c = sort.column;
  if (c) {
    const by = c.by || c.of, way = sort.down ? -1 : 1;
    list = list.map((i) => [by(ops[i]), i]).sort((a, b) => (a[0] < b[0] ? -way : a[0] > b[0] ? way : a[1] - b[1]))
      .map((p) => p[1]);
  }
  const most = Math.max(1, ...ops.map((o) => o.t || 0));
  const rows = list.map((i) => {
    const o = ops[i], tr = document.createElement("tr");
    tr.id = `op-${i}`;
    tr.dataset.op = i;
    tr.className = `${o.u}${i === chosen ? " on" : ""}`;
    for (const col of columns) {
      const td = document.createElement("td");
      td.className = col.cls || "";
      td.textContent = col.of(o);
      if (col.title === "why") td.replaceChildren(Object.assign(document.createElement("span"),
        { textContent: col.of(o), title: col.of(o) }));
      if (col.title === "time" && o.t) {
        const m = document.createElement("i");
        m.className = `meter c-${o.b}`;
        m.style.width = `${100 * o.t / most}%`;
        td.append(m);
      }
      tr.append(td);
    }
    tr.addEventListener("click", () => choose(i, "row"));
    return tr;
  });
  head();
  byId("rows").tBodies[0].replaceChildren(...rows);
  const t = list.reduce((s, i) => s + (ops[i].t || 0), 0);
  byId("shown").textContent = list.length === ops.length ? `${ops.length} operations` :
    `${list.length} of ${ops.length}${only ? `, ${only.name}` : ""}${t ? `, ${time(t)}` : ""}`;
}
byId("find").addEventListener("input", () => { only = null; fill(); });
for (const b of document.querySelectorAll("[data-kind]")) {
  b.addEventListener("click", () => {
    only = { ops: new Set([...ops.keys()].filter((i) => ops[i].o === b.dataset.kind)), name: b.dataset.kind };
    fill();
    byId("layers").scrollIntoView();
  });
}
byId("close").addEventListener("click", () => choose(-1));
addEventListener("keydown", (e) => { if (e.key === "Escape" && source.isConnected) choose(-1); });

function draw() { drawMap(); drawLine(); drawNet(); if (chosen >= 0) choose(chosen, "graph"); }
let width = 0;
new ResizeObserver((_, observer) => {
  if (!source.isConnected) observer.disconnect();
  else if (width !== (width = innerWidth)) draw();
}).observe(document.body);
width = innerWidth;
fill();
draw();
