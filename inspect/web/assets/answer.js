// The first answer: the time of a call and its parts, from the JSON of zinc check. The report says the rest.

import { ordered, parts } from "./parts.js";

const node = (tag, props = {}, ...children) => {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...children);
  return e;
};

// three writes a number with three digits at most and a unit, as zinc's commands do.
function three(v, units) {
  let i = 0;
  while (v >= 999.5 && i < units.length - 1) (v /= 1000), i++;
  return `${Number(v.toPrecision(3))} ${units[i]}`;
}
const time = (us) => three(us * 1000, ["ns", "µs", "ms", "s"]);
const bytes = (n) => three(n, ["B", "kB", "MB", "GB", "TB"]);
const many = (n) => three(n, ["", "k", "M", "G", "T"]).trim();
const percent = (part, whole) => (whole ? `${Number(((100 * part) / whole).toPrecision(3))} %` : "");

// answer shows the first target of a document.
export function answer(document_) {
  const t = document_.targets[0], ops = t.engine_ops + t.cpu_ops;
  const used = ordered(Object.entries({ cpu: t.cpu_us, ...t.estimate?.terms_us }).filter(([, us]) => us > 0)
    .map(([name, us]) => ({ name, label: parts[name], us })));
  const tile = (name, value, more) => node("div", {}, node("dt", { textContent: name }),
    node("dd", {}, `${value} `, node("small", { textContent: more })));
  const bar = node("div", { className: "stack", role: "img",
    ariaLabel: `where the time goes: ${used.map((p) => `${p.label} ${time(p.us)}`).join(", ")}` });
  for (const p of used) bar.append(part(p));
  const band = t.call_band ? ` (${time(t.call_band.low_us)} to ${time(t.call_band.high_us)}, ${t.call_band.chip})` : "";
  return node("section", { id: "summary", className: "hero" },
    node("div", { className: "headline" },
      node("p", { className: "number", textContent: t.call_us ? time(t.call_us) : percent(t.engine_ops, ops) }),
      node("p", { className: "unit", textContent: t.call_us ? `a call${band}` : "of operations on the engine" }),
      node("p", { className: "soft", textContent: t.estimate?.known_error || t.exceeds || "" })),
    node("dl", { className: "tiles" },
      tile("on the engine", t.engine_ops, `of ${ops} operations`),
      tile("multiply-accumulates", many(t.engine_macs),
        `${percent(t.engine_macs, t.engine_macs + t.cpu_macs)} on the engine`),
      tile("dispatches", t.dispatches, `${t.cpu_calls} CPU calls`),
      tile("DMA", bytes(t.estimate?.dma_bytes || 0), "a call")),
    bar,
    node("ul", { className: "legend" }, ...used.map((p) => node("li", {},
      node("i", { className: `c-${p.name}` }), `${p.label} `, node("b", { textContent: time(p.us) })))));
}

function part(p) {
  const i = node("i", { className: `c-${p.name}`, title: `${p.label}: ${time(p.us)}` });
  i.style.flexGrow = p.us;
  return i;
}
