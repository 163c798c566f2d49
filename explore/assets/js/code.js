// Lines of programs as coloured text. What a word is follows from its form alone, and
// a line that has another form is shown as it is.

// Characters of a line that are shown: a constant may be megabytes.
const SHOWN = 2400;

const token = new RegExp(
  [
    String.raw`("(?:[^"\\]|\\.)*"?)`,
    String.raw`((?:tensor|list|tuple|dict|state)<[^=()]*?>(?=[\s,>)]|$)`,
    String.raw`\b(?:fp16|fp32|fp64|int4|uint[12346]|u?int(?:8|16|32|64)|bool|string)\b(?!\())`,
    String.raw`([A-Za-z_][\w.]*(?=(?:<[^<>()]*>)?\())`,
    String.raw`(%?[A-Za-z_][\w.]*(?=(?:: [^=]*)? = ))`,
  ].join("|"),
  "g",
);
const kinds = [null, "str", "type", "call", "name"];

// The attributes of a constant say its name and its type again before they say its
// value.
const again = new RegExp(
  String.raw`(=\s*const\s*\(\)\s*\[)name\s*=\s*(?:string|tensor<string,\s*\[\]>)\("[^"]*"\),` +
    String.raw`\s*val\s*=\s*(?:tensor<\w+,\s*\[[^\]]*\]>|\w+)(?=\()`,
);

// code makes the text and elements of a line. Indentation is shown by half, and what
// a line says twice as dots.
export function code(line) {
  const cut = line.length > SHOWN;
  let text = cut ? line.slice(0, SHOWN) : line;
  const indent = text.search(/\S/);
  if (indent > 1) text = " ".repeat(indent >> 1) + text.slice(indent);
  text = text.replace(again, "$1\u2026 ");
  const tail = text.search(/\)\s*\[name\s*=\s*(?:string|tensor<string,\s*\[\]>)\("[^"]*"\)\];\s*$/);
  const body = tail >= 0 ? text.slice(0, tail + 1) : text;
  const out = [];
  let at = 0;
  for (const m of body.matchAll(token)) {
    const k = kinds[m.findIndex((g, i) => i > 0 && g !== undefined)];
    // An argument's name is no declaration.
    if (k === "name" && /[[(,]\s*$/.test(body.slice(Math.max(0, m.index - 8), m.index))) continue;
    if (m.index > at) out.push(body.slice(at, m.index));
    out.push(span(k, m[0]));
    at = m.index + m[0].length;
  }
  if (at < body.length) out.push(body.slice(at));
  if (tail >= 0) out.push(span("attr", text.slice(tail + 1)));
  if (cut) out.push(span("attr", ` \u2026 ${line.length} characters`));
  return out;
}

function span(kind, text) {
  const node = document.createElement("span");
  node.className = `t-${kind}`;
  node.textContent = text;
  return node;
}

// shownWidth is how many characters code shows of a line.
export const shownWidth = (line) => Math.min(line.length, SHOWN + 40);
