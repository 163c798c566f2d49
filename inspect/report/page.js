// Draws a report: a map of time, a timeline, a roofline, a table. All of them show the operations of data.ops by their
// index; choosing one marks it everywhere. charts.js comes before it, in the same script.

const source = document.getElementById("data"); // out of the document once another report is in its place
const data = JSON.parse(source.textContent);
const ops = data.ops;
const byId = (id) => document.getElementById(id);
let chosen = -1;

// share writes whole per cent, as zinc check does.
const share = (ns) => {
  const p = data.total ? 100 * ns / data.total : 0;
  return !data.total ? "" : p > 0 && p < 0.5 ? "<1 %" : `${Math.round(p)} %`;
};
const place = (o) => (o.u === "cpu" ? "CPU" : o.u);

// An operation has the colour of what bounds it.
const fillOf = (o) => color(o.u === "cpu" ? "cpu" : o.b);

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
const bound = (o) => o.b && `bound by ${data.names[o.b]}`;
const about = (o) => [`${o.o} ${o.n}`, [place(o), o.t && time(o.t), share(o.t || 0), bound(o)]
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
    bound(o), o.x].filter(Boolean).join(" · ");
  if (from === "row") return;
  let row = byId(`op-${i}`);
  if (!row) {
    byId("find").value = "";
    only = null;
    fill();
    row = byId(`op-${i}`);
    row.classList.add("on");
  }
  byId("torow").href = `#op-${i}`;
  if (from === "chart") return;
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

let mapBy = "scope";
function drawMap() {
  const box = byId("map"), W = box.clientWidth, H = Math.max(260, Math.min(440, W * 0.4));
  const root = tree(mapBy);
  if (!root.t) { byId("treemap").hidden = true; return; }
  const svg = chart(W, H, "map of time");
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
    choose(chosen, "chart");
  });
}

// ---- Timeline and roofline

// marks makes a node of a chart tell of an operation, and choose it.
function marks(node, i, text) {
  tips(node, () => (i >= 0 ? `${about(ops[i])}\n${text()}` : text()));
  if (i >= 0) node.addEventListener("click", () => choose(i, "chart"));
}
const line = new Timeline(byId("line"), data, marks);
line.moved = () => document.querySelectorAll(`#line [data-op="${chosen}"]`).forEach((e) => e.classList.add("on"));
byId("in").addEventListener("click", () => line.zoom(0.4));
byId("out").addEventListener("click", () => line.zoom(2.5));
byId("fit").addEventListener("click", () => line.all());

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
  { title: "bound", width: 8, cls: "wide0", of: (o) => (o.u === "cpu" ? "" : data.names[o.b] || "") },
  { title: "DMA", width: 9, cls: "n wide1", of: (o) => bytes(o.d || 0), by: (o) => o.d || 0 },
  { title: "MACs", width: 8, cls: "n wide2", of: (o) => many(o.m || 0), by: (o) => o.m || 0 },
  { title: "weights", width: 9, cls: "n wide1", of: (o) => bytes(o.w || 0), by: (o) => o.w || 0 },
  { title: "why", width: 22, cls: "why wide0", of: (o) => o.x || "" },
];
if (data.many) columns.unshift({ title: "function", width: 10, of: (o) => o.f });
let sort = { column: data.total ? columns.find((c) => c.title === "time") : null, down: true };
let most = 60; // rows that are shown, beside the one that is chosen
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
  const longest = largest(ops.map((o) => o.t || 1));
  const shown = list.slice(0, most);
  if (list.indexOf(chosen) >= most) shown.push(chosen);
  const rows = shown.map((i) => {
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
        m.style.width = `${100 * o.t / longest}%`;
        td.append(m);
      }
      tr.append(td);
    }
    tr.addEventListener("click", () => choose(i, "row"));
    return tr;
  });
  head();
  byId("rows").tBodies[0].replaceChildren(...rows);
  byId("rest").hidden = list.length <= most;
  byId("rest").textContent = `Show ${Math.min(list.length, 5 * most) - most} of the other ${list.length - most}`;
  const t = list.reduce((s, i) => s + (ops[i].t || 0), 0);
  byId("shown").textContent = list.length === ops.length ? `${ops.length} operations` :
    `${list.length} of ${ops.length}${only ? `, ${only.name}` : ""}${t ? `, ${time(t)}` : ""}`;
}
byId("rest").addEventListener("click", () => { most *= 5; fill(); });
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

function draw() {
  drawMap();
  byId("timeline").hidden = !data.spans.length;
  if (data.spans.length) line.draw();
  byId("roofline").hidden = false; // a hidden box has no width
  byId("roofline").hidden = !roofline(byId("roof"), data, marks);
  if (chosen >= 0) choose(chosen, "chart");
}
let width = 0;
new ResizeObserver((_, observer) => {
  if (!source.isConnected) observer.disconnect();
  else if (width !== (width = innerWidth)) draw();
}).observe(document.body);
width = innerWidth;
fill();
draw();
