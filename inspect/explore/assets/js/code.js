// Lines of programs as coloured text. What a word is follows from its form alone, and
// a line that has another form is shown as it is.

import { el } from "./dom.js";

// Characters of a line that are shown: a constant may be megabytes.
const SHOWN = 2400;

// typeEnd returns where the type ends that begins at a place of a text, or -1.
function typeEnd(text, at) {
  const word = /^[A-Za-z_]\w*/.exec(text.slice(at, at + 40));
  if (!word) return -1;
  let i = at + word[0].length;
  if (text[i] !== "<") return i;
  let depth = 0;
  for (; i < text.length && i < at + 2000; i++) {
    if (text[i] === "<") depth++;
    else if (text[i] === ">" && --depth === 0) return i + 1;
    else if (text[i] === "(" || text[i] === "=") return -1;
  }
  return -1;
}

// shortType writes a type as a reader would say it: fp16 1×16×14×14.
export function shortType(type) {
  const t = /^tensor<\s*(\w+)\s*,\s*\[([^\]]*)\]\s*>$/.exec(type.trim());
  if (!t) {
    const s = /^state<(.*)>$/.exec(type.trim());
    return s ? `state ${shortType(s[1])}` : type;
  }
  const dims = t[2].trim();
  return dims ? `${t[1]} ${dims.split(/\s*,\s*/).join("\u00d7")}` : t[1];
}

// split divides a text at the commas that are in no bracket or string.
function split(text) {
  const out = [];
  let depth = 0,
    from = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"') {
      for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === "\\") i++;
    } else if ("([{<".includes(c)) depth++;
    else if (")]}>".includes(c)) depth--;
    else if (c === "," && depth === 0) {
      out.push(text.slice(from, i).trim());
      from = i + 1;
    }
  }
  const last = text.slice(from).trim();
  return last || out.length ? [...out, last] : [];
}

// closing returns the place of the bracket that closes the one at a place, or -1.
function closing(text, at) {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    const c = text[i];
    if (c === '"') {
      for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === "\\") i++;
    } else if ("([{".includes(c)) depth++;
    else if (")]}".includes(c) && --depth === 0) return i;
  }
  return -1;
}

// statement reads a statement of MIL: its results, operation and arguments. null for another line.
export function statement(line) {
  const text = line.length > SHOWN ? line.slice(0, SHOWN) : line;
  let at = text.search(/\S/);
  if (at < 0) return null;
  const indent = at;
  const results = [];
  for (;;) {
    const end = typeEnd(text, at);
    if (end < 0) return null;
    const name = /^\s+([A-Za-z_][\w.]*)\s*/.exec(text.slice(end, end + 400));
    if (!name) return null;
    results.push({ type: text.slice(at, end), name: name[1] });
    at = end + name[0].length;
    if (text[at] !== ",") break;
    at++;
    while (text[at] === " ") at++;
  }
  const op = /^=\s*([A-Za-z_][\w.]*(?:<[^<>()]*>)?)\s*\(/.exec(text.slice(at, at + 200));
  if (!op) return null;
  const open = at + op[0].length - 1;
  const close = closing(text, open);
  const args = split(text.slice(open + 1, close < 0 ? undefined : close)).map((a) => {
    const m = /^(\w+)\s*=\s*(.*)$/s.exec(a);
    return m ? { name: m[1], value: m[2] } : { name: "", value: a };
  });
  return {
    indent,
    results,
    op: op[1],
    args,
    rest: close < 0 ? "" : text.slice(close + 1),
    cut: line.length > SHOWN ? line.length : 0,
  };
}

// shortName leaves out what the converter adds to the name of a result in fp16.
export const shortName = (name) => name.replace(/_cast_fp16$/, "");

// readable writes a statement in the order in which it is shown, for editing: operation, results, what it reads, types.
// null for a line that written would not give back.
export function readable(line) {
  const s = statement(line);
  if (!s || s.cut || s.op === "const") return null;
  const args = s.args.map((a) => (a.name ? `${a.name} = ${a.value}` : a.value)).join(", ");
  const types = s.results.map((r) => shortType(r.type)).join(", ");
  const text = `${s.op} ${s.results.map((r) => r.name).join(", ")} (${args}): ${types}`;
  return written(text, line) === line ? text : null;
}

const form =
  /^\s*([A-Za-z_][\w.]*(?:<[^<>()]*>)?)\s+([\w.]+(?:\s*,\s*[\w.]+)*)\s*\((.*)\)\s*:\s*([^:()]+?)\s*$/s;

// written is the line of MIL that a text of readable's form stands for, with what the form leaves out from the line
// that it was; another text is MIL already.
export function written(text, line) {
  const s = statement(line);
  const m = form.exec(text);
  if (!s || !m) return text;
  const names = m[2].split(/\s*,\s*/),
    types = split(m[4]);
  const own = new Map(s.results.map((r) => [shortType(r.type), r.type]));
  const results = names.map((name, i) => `${own.get(types[i]) ?? longType(types[i] || "")} ${name}`);
  let rest = s.rest;
  s.results.forEach((r, i) => {
    if (names[i]) rest = rest.replace(`"${r.name}"`, `"${names[i]}"`);
  });
  return `${line.slice(0, s.indent)}${results.join(", ")} = ${m[1]}(${m[3]})${rest}`;
}

// longType is the type that a short one stands for.
function longType(type) {
  const t = /^(state )?(\w+)(?: ([\w?]+(?:[\u00d7x][\w?]+)*))?$/.exec(type.trim());
  if (!t) return type;
  const long = `tensor<${t[2]}, [${(t[3] || "").split(/[\u00d7x]/).filter(Boolean).join(", ")}]>`;
  return t[1] ? `state<${long}>` : long;
}

const span = (kind, text) => el("span", { class: `t-${kind}`, textContent: text });
const pad = (indent) => " ".repeat(Math.min(indent >> 2, 8));

// valueOf is the value of a constant, without the type that the left side has said.
function valueOf(s) {
  const val = /\bval\s*=\s*/.exec(s.rest);
  if (!val) return "";
  let text = s.rest.slice(val.index + val[0].length).replace(/\]\s*;\s*$/, "");
  const type = typeEnd(text, 0);
  if (type > 0 && text[type] === "(") text = text.slice(type + 1).replace(/\)\s*$/, "");
  const blob = /^BLOBFILE\(.*offset\s*=\s*\w+\((\d+)\)/.exec(text);
  if (blob) return `weights at ${blob[1]}`;
  return text.length > 80 ? `${text.slice(0, 80)}\u2026` : text;
}

// shape is the column of types: that of the first result, and how many others there are.
const shape = (types) =>
  el("span", {
    class: "shape",
    textContent: `${shortType(types[0] || "")}${types.length > 1 ? ` +${types.length - 1}` : ""}`,
    title: types.map(shortType).join(", "),
  });

// source makes the elements of a line of MIL: operation, name, what it reads, then the constants that it names, dimmed,
// and the types at the right edge. isConst says whether a name is a constant's. A statement with a reason why it is on
// the CPU shows that instead of the constants.
export function source(line, isConst, why = "") {
  const s = statement(line);
  if (!s) return code(line);
  const out = [pad(s.indent), span("call", `${s.op} `)];
  s.results.forEach((r, i) => out.push(i ? ", " : "", span("name", shortName(r.name))));
  if (s.op === "const") {
    out.push(span("attr", ` ${valueOf(s)}`));
  } else {
    const fixed = (a) =>
      /^[\w.]+$/.test(a.value) ? isConst(a.value) : !/^\(?[A-Za-z_][\w., ]*\)?$/.test(a.value);
    const live = s.args.filter((a) => !fixed(a)),
      rest = s.args.filter(fixed);
    out.push(" (");
    live.forEach((a, i) => out.push(i ? ", " : "", span("arg", `${a.name} = `), shortName(a.value)));
    if (rest.length && !why)
      out.push(live.length ? ", " : "", span("attr", rest.map((a) => `${a.name} = ${a.value}`).join(", ")));
    out.push(rest.length && why ? ", \u2026)" : ")");
  }
  if (why) out.push(el("span", { class: "why", textContent: why }));
  if (s.cut) out.push(span("attr", ` \u2026 ${s.cut} characters`));
  out.push(shape(s.results.map((r) => r.type)));
  return out;
}

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

// code makes the text and elements of any line, types shortened and dimmed.
export function code(line) {
  const cut = line.length > SHOWN;
  let text = cut ? line.slice(0, SHOWN) : line;
  const indent = text.search(/\S/);
  if (indent > 1) text = pad(indent) + text.slice(indent);
  const out = [];
  let at = 0;
  for (const m of text.matchAll(token)) {
    const k = kinds[m.findIndex((g, i) => i > 0 && g !== undefined)];
    // An argument's name is no declaration.
    if (k === "name" && /[[(,]\s*$/.test(text.slice(Math.max(0, m.index - 8), m.index))) continue;
    if (m.index > at) out.push(text.slice(at, m.index));
    out.push(span(k, k === "type" ? shortType(m[0]) : m[0]));
    at = m.index + m[0].length;
  }
  if (at < text.length) out.push(text.slice(at));
  if (cut) out.push(span("attr", ` \u2026 ${line.length} characters`));
  return out;
}

// program makes the elements of a line of a program after a pass: the types go to the right edge.
export function program(line) {
  const m = /^(\s*)((?:const )?)(%[^:=()]+): ((?:[^=<]|<[^>]*>)*?) = (.*)$/s.exec(line.slice(0, SHOWN));
  if (!m) return code(line);
  const body = code(m[5]);
  if (line.length > SHOWN) body.push(span("attr", ` \u2026 ${line.length} characters`));
  const results = `${m[3]}: ${m[4]}`.split(/, (?=%)/).map((r) => r.split(": "));
  const out = [pad(m[1].length * 2), m[2]];
  results.forEach(([name], i) => out.push(i ? ", " : "", span("name", name)));
  out.push(" = ", ...(m[2] ? [span("attr", m[5].slice(0, 200))] : body));
  out.push(shape(results.map(([, t]) => t)));
  return out;
}

// shownWidth is how many characters are shown of a line, about.
export const shownWidth = (line) => Math.min(line.length, SHOWN + 40);
