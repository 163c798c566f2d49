// Times, shares and units as the page writes them.

import { el } from "./dom.js";

// time writes microseconds with three digits at most, as zinc's commands do.
export function time(us) {
  let v = us * 1000,
    unit = "ns";
  for (const u of ["\u00b5s", "ms", "s"]) {
    if (Math.abs(v) < 999.5) break;
    v /= 1000;
    unit = u;
  }
  const text = Math.abs(v) >= 999.5 ? v.toFixed(0) : String(Number(v.toPrecision(3)));
  return `${text} ${unit}`;
}

// share writes a part of a whole in whole per cent.
export function share(part, whole) {
  if (!whole) return "";
  const p = (100 * part) / whole;
  return part > 0 && p < 0.5 ? "<1 %" : `${Math.round(p)} %`;
}

// micro writes the microseconds of zinc's sentences as the page does.
export const micro = (text) => text.replace(/(\d) us\b/g, "$1 \u00b5s");

export const count = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

// big writes a count with a prefix.
export function big(n) {
  let v = n,
    prefix = "";
  for (const p of ["k", "M", "G", "T"]) {
    if (v < 999.5) break;
    v /= 1000;
    prefix = p;
  }
  return `${Number(v.toPrecision(3))}${prefix ? ` ${prefix}` : ""}`;
}

// place is where a statement runs, as a class: engine, cpu, fused, transfer or none.
export function place(cost) {
  if (!cost) return "none";
  if (cost.units.includes("cpu")) return "cpu";
  if (cost.fused_into >= 0) return "fused";
  if (cost.units.includes("engine")) return "engine";
  return "transfer";
}

export const placeNames = {
  engine: "engine",
  cpu: "CPU",
  fused: "engine, with another",
  transfer: "conversion",
  none: "no work of its own",
};
const marks = { engine: "E", cpu: "C", fused: "\u21b3", transfer: "T", none: "" };

// badge is the mark of a place.
export const badge = (p, long = false) =>
  el("span", { class: `badge ${p}`, textContent: long ? placeNames[p] : marks[p], title: placeNames[p] });

// bar is a bar whose width is a part of a whole.
export function bar(part, whole, kind) {
  const fill = el("i");
  fill.style.width = part > 0 && whole > 0 ? `${Math.max(3, Math.min(100, (100 * part) / whole))}%` : "0";
  return el("span", { class: `meter ${kind}` }, fill);
}
