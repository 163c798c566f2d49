// Help beside the pointer, or beside the row that the keyboard is on.

import { $, el } from "./dom.js";

export function tip(at, title, ...lines) {
  const t = $("tip");
  t.replaceChildren(
    el("b", { textContent: title }),
    ...lines.filter(Boolean).map((l) => el("div", { textContent: l })),
  );
  t.hidden = false;
  const w = t.offsetWidth,
    h = t.offsetHeight;
  t.style.left = `${Math.max(4, Math.min(at.x + 14, innerWidth - w - 4))}px`;
  t.style.top = `${at.y + 18 + h > innerHeight ? Math.max(4, at.y - h - 10) : at.y + 18}px`;
}

export function untip() {
  $("tip").hidden = true;
}

// grades says how far a field's meaning is known.
const grades = {
  named: "named: name and place are from public register maps",
  recorded: "recorded: the meaning follows from recorded programs",
  modelled: "modelled: the meaning is an assumption that no recorded program shows",
  unknown: "unknown: bits that nobody has explained",
};

export function fieldTip(at, f) {
  const place =
    f.block === "Header" ? `header word ${f.address / 4}` : `register 0x${f.address.toString(16)}`;
  tip(
    at,
    `${f.name} = ${f.text}`,
    f.doc,
    `${place}, bit ${f.bit}, ${f.width} wide${f.unit > 1 ? `, in units of ${f.unit}` : ""}; word ${f.word} of the task`,
    grades[f.known],
  );
}
