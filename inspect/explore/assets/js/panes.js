// The three panes: each is in one of three places, left, middle and right, and may be closed.

import { $, el } from "./dom.js";

const PLACES = ["left", "middle", "right"];
const PANES = [
  ["mil", "Source"],
  ["middle", "Graph and programs"],
  ["answer", "Answer"],
];

// The state: panes in the order of their places, and those that are closed.
let order = PANES.map(([id]) => id);
let shut = new Set();
let told = () => {};

export const paneIn = (place) => $(order[PLACES.indexOf(place)]);

function lay() {
  const main = $("main");
  order.forEach((id, i) => {
    const pane = $(id);
    pane.style.gridArea = PLACES[i];
    pane.classList.toggle("shut", shut.has(id));
    main.classList.toggle(`no-${PLACES[i]}`, shut.has(id));
  });
  for (const [id] of PANES) {
    const row = $(`pane-${id}`);
    if (!row) continue;
    const [box, before, after] = row.querySelectorAll("input, button");
    box.checked = !shut.has(id);
    box.disabled = !shut.has(id) && shut.size === PANES.length - 1;
    before.disabled = order.indexOf(id) === 0;
    after.disabled = order.indexOf(id) === PANES.length - 1;
  }
}

// move exchanges a pane with the one on its left (by = -1) or right.
export function move(id, by) {
  const i = order.indexOf(id);
  if (!order[i + by]) return;
  [order[i], order[i + by]] = [order[i + by], order[i]];
  lay();
  told();
}

// open opens or closes a pane; the last one stays.
export function open(id, on) {
  if (on) shut.delete(id);
  else if (shut.size < PANES.length - 1) shut.add(id);
  lay();
  told();
}

// menu fills the menu of panes; changed is called when the reader has changed something.
export function menu(host, changed) {
  told = changed;
  host.append(
    ...PANES.map(([id, label]) =>
      el(
        "div",
        { id: `pane-${id}`, class: "pane-row" },
        el(
          "label",
          {},
          el("input", { type: "checkbox", on: { change: (e) => open(id, e.target.checked) } }),
          label,
        ),
        el("button", {
          type: "button",
          textContent: "\u2190",
          "aria-label": `Move ${label} to the left`,
          on: { click: () => move(id, -1) },
        }),
        el("button", {
          type: "button",
          textContent: "\u2192",
          "aria-label": `Move ${label} to the right`,
          on: { click: () => move(id, 1) },
        }),
      ),
    ),
  );
  lay();
}

// commands are those of the palette.
export const commands = () => [
  ...PANES.flatMap(([id, label]) => [
    [`${shut.has(id) ? "Open" : "Close"} pane ${label}`, "", () => open(id, shut.has(id))],
    [`Move pane ${label} to the left`, "", () => move(id, -1)],
    [`Move pane ${label} to the right`, "", () => move(id, 1)],
  ]),
  ["Panes as they were at first", "", () => setPanes({ order: PANES.map(([id]) => id), shut: [] })],
];

// panes is the state for the link, undefined for the first one; setPanes takes one.
export function panes() {
  if (!shut.size && order.every((id, i) => id === PANES[i][0])) return undefined;
  return { order, shut: [...shut] };
}

export function setPanes(p) {
  const ids = PANES.map(([id]) => id);
  if (!Array.isArray(p?.order) || !Array.isArray(p.shut)) return;
  if (p.order.length !== ids.length || !ids.every((id) => p.order.includes(id))) return;
  order = [...p.order];
  shut = new Set(p.shut.filter((id) => ids.includes(id)).slice(0, ids.length - 1));
  lay();
  told();
}
