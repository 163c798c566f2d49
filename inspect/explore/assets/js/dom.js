// Elements. Text goes in as text, never as markup.

export const $ = (id) => document.getElementById(id);

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (v === undefined || v === null) continue;
    if (k === "class") node.className = v;
    else if (k === "on") for (const [type, f] of Object.entries(v)) node.addEventListener(type, f);
    else if (k in node && k !== "list" && k !== "role") node[k] = v;
    else node.setAttribute(k, v);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

export function options(select, values, chosen) {
  select.replaceChildren(
    ...values.map((v) => {
      const o = typeof v === "string" ? { value: v, label: v } : v;
      return el("option", { value: o.value, textContent: o.label, title: o.title });
    }),
  );
  if (chosen !== undefined) select.value = chosen;
}

export const hex = (n) => "0x" + Number(n).toString(16);

export function bytes(n) {
  if (n < 10000) return `${n} bytes`;
  const [v, unit] = n < 1e6 ? [n / 1e3, "kB"] : [n / 1e6, "MB"];
  return `${v < 999.5 ? Number(v.toPrecision(3)) : Math.round(v)} ${unit}`;
}

export function later(ms, f) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...args), ms);
  };
}

// painted resolves after the page has been painted.
export const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
