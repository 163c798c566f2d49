// The layout of graphs, in a worker. A request is a tree: a node has a width and a height, or, when it is unfolded,
// children and edges between them; the answer has the place of every node in its parent and the points of every edge.

import { Graph, layout } from "../vendor/dagre.js";

const GAP = { nodesep: 22, ranksep: 34, edgesep: 12, marginx: 12, marginy: 12 };
const HEAD = 26; // px above the children of an unfolded node

// Levels with the same sizes and edges have the same layout: the iterations of a block are laid out once.
const known = new Map();
const MOST = 400; // layouts that are kept

// A value that nearly everything reads, as a mask, and a node that reads nearly everything would take a column of the
// picture for each of their edges. Of these edges only the shortest takes part in the layout; the others are drawn
// straight and faint.
const FAN = 5;

function faint(edges) {
  const out = new Map(),
    into = new Map();
  const add = (m, k, i) => (m.has(k) ? m.get(k).push(i) : m.set(k, [i]));
  edges.forEach(([a, b], i) => {
    add(out, a, i);
    add(into, b, i);
  });
  const far = edges.map(() => false);
  for (const m of [out, into])
    for (const list of m.values()) {
      if (list.length <= FAN) continue;
      const length = (i) => edges[i][1] - edges[i][0];
      const near = list.reduce((x, i) => (length(i) < length(x) ? i : x));
      for (const i of list) if (i !== near && length(i) > 1) far[i] = true;
    }
  // A box with no other edge keeps its shortest, so that it stays near what it belongs to.
  for (const m of [out, into])
    for (const [node, list] of m) {
      const all = [...(out.get(node) || []), ...(into.get(node) || [])];
      if (all.every((i) => far[i])) far[list[0]] = false;
    }
  return far;
}

function level(children, edges) {
  const key = `${children.map((c) => `${c.w}x${c.h}`).join()};${edges.join(";")}`;
  let out = known.get(key);
  if (out) return out;
  const g = new Graph();
  g.setGraph({ rankdir: "TB", ...GAP });
  g.setDefaultEdgeLabel(() => ({}));
  children.forEach((c, i) => g.setNode(String(i), { width: c.w, height: c.h }));
  // The way of the program is straight: neighbours in it are drawn close.
  const far = faint(edges);
  edges.forEach(([a, b], i) => {
    if (!far[i]) g.setEdge(String(a), String(b), { weight: b === a + 1 ? 12 : 1 });
  });
  layout(g);
  const size = g.graph();
  out = {
    w: Math.ceil(size.width || 0),
    h: Math.ceil(size.height || 0),
    at: children.map((_, i) => {
      const n = g.node(String(i));
      return [n.x - n.width / 2, n.y - n.height / 2];
    }),
    edges: edges.map(([a, b], i) => {
      if (!far[i]) return g.edge(String(a), String(b)).points.map((p) => [p.x, p.y]);
      const x = g.node(String(a)),
        y = g.node(String(b));
      return [
        [x.x, x.y + x.height / 2],
        [y.x, y.y - y.height / 2],
      ];
    }),
    far,
  };
  if (known.size >= MOST) known.clear();
  known.set(key, out);
  return out;
}

// place lays out a node's children, the inner ones first, and gives the node its size.
function place(node) {
  if (!node.children) return { id: node.id, w: node.w, h: node.h };
  const children = node.children.map(place);
  const l = level(children, node.edges);
  children.forEach((c, i) => {
    [c.x, c.y] = l.at[i];
    if (node.head) c.y += HEAD;
  });
  const lines = node.head ? l.edges.map((ps) => ps.map(([x, y]) => [x, y + HEAD])) : l.edges;
  return {
    id: node.id,
    w: Math.max(l.w, node.least || 0),
    h: l.h + (node.head ? HEAD : 0),
    children,
    edges: node.edges.map(([a, b], i) => ({
      from: node.children[a].id,
      to: node.children[b].id,
      points: lines[i],
      far: l.far[i],
    })),
  };
}

addEventListener("message", (e) => {
  const begun = performance.now();
  try {
    postMessage({ id: e.data.id, tree: place(e.data.tree), ms: performance.now() - begun });
  } catch (error) {
    postMessage({ id: e.data.id, error: String(error?.message || error) });
  }
});
