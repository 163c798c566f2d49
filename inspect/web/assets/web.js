// The page: the models that were dropped, what is asked of them, and the answer.

import { chosen, dropped, models, zip } from "./files.js";
import { first, installed, run, serve, whole } from "./job.js";
import { answer } from "./answer.js";

const byId = (id) => document.getElementById(id);
const form = byId("options"), fields = form.elements;

// views are what can be asked: the title, and the words of the command.
const views = {
  check: { title: "Time and places", words: (m) => ["check", m, ...flags("target", "precision", "shape")] },
  coreml: { title: "Core ML's places", words: (m) => ["check", m, "--as", "coreml", ...flags("shape")] },
  explore: { title: "Explorer", words: (m) => ["explore", m] },
  explain: { title: "A statement", words: (m) => statement(m) },
  lint: { title: "Numeric hazards", words: (m) => ["lint", m, ...flags("target", "precision")] },
  diff: { title: "Compare", words: (m) => ["diff", m, fields.other.value, ...flags("target", "precision")] },
  convert: { title: "Convert",
    words: (m) => ["convert", m, m.replace(/^.*\/|\.\w+$/g, "") + "-converted" + fields.form.value],
  },
};
const standard = { target: "", precision: "declared", shape: "" };

// flags are the flags of fields that differ from the default.
function flags(...names) {
  return names.filter((n) => fields[n].value !== standard[n]).flatMap((n) => [`--${n}`, fields[n].value]);
}

function statement(model) {
  const op = fields.op.value.trim(), line = /^\d+$/.test(op);
  return ["explain", line ? `${model}:${op}` : model, ...(line ? [] : ["--op", op]), ...flags("target", "precision")];
}

let files = new Map(); // by path
let job = null; // controller of the running command
let last = null; // {words, json} of what is shown

// ---- Models

function take(list) {
  for (const [path, file] of list) files.set(path, file);
  const all = models([...files.keys()]), new_ = models(list.map((f) => f[0]));
  if (!new_.length) {
    status(`No model among ${list.length} files: want a .mlpackage, .mlmodelc, .mlmodel or .mil`, true);
    byId("work").hidden = false;
    return;
  }
  for (const select of [fields.model, fields.other]) {
    select.replaceChildren(...all.map((m) => new Option(m, m)));
  }
  fields.model.value = new_[0];
  fields.other.value = new_[1] || all.find((m) => m !== new_[0]) || new_[0];
  byId("work").hidden = false;
  ask();
}

addEventListener("dragover", (e) => {
  e.preventDefault();
  byId("drop").classList.add("over");
});
addEventListener("dragleave", () => byId("drop").classList.remove("over"));
addEventListener("drop", async (e) => {
  e.preventDefault();
  byId("drop").classList.remove("over");
  take(await dropped(e.dataTransfer));
});
for (const b of document.querySelectorAll("[data-for]")) {
  b.addEventListener("click", () => byId(b.dataset.for).click());
  byId(b.dataset.for).addEventListener("change", (e) => take(chosen(e.target)));
}

// ---- Commands

function status(text, bad = false) {
  byId("status").textContent = text;
  byId("status").classList.toggle("bad", bad);
}

// quoted is a word for a shell.
const quoted = (w) => (/^[\w@%+=:,./-]+$/.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`);

// command runs a command. What it prints beside its result is the status, and its error where there is no result.
async function command(program, words, after = "") {
  const from = performance.now(), signal = job.signal;
  const r = await run(program, words, [...files], { said: (s) => status(s.trim()), signal });
  const err = (await r.err.text()).trim();
  if (r.status !== 0 && !r.out.size) throw new Error(err || `exit status ${r.status}`);
  signal.throwIfAborted();
  status([`${((performance.now() - from) / 1000).toFixed(1)} s`, after, err].filter(Boolean).join("; "));
  return r;
}

// ask answers what the form asks.
async function ask() {
  job?.abort(new Error("stopped"));
  const own = (job = new AbortController());
  const view = views[fields.view.value], model = fields.model.value, words = view.words(model);
  const check = fields.view.value === "check", explorer = fields.view.value === "explore";
  byId("json").hidden = explorer;
  for (const l of form.querySelectorAll("[data-view]")) {
    l.hidden = !l.dataset.view.split(" ").includes(fields.view.value);
  }
  remember();
  last = { words, json: null };
  byId("command").textContent = ["zinc", ...words].map(quoted).join(" ");
  byId("result").replaceChildren();
  if (fields.view.value === "explain" && !fields.op.value) {
    byId("stop").hidden = true;
    status("Name a statement: its line, or the name of its result.");
    return;
  }
  byId("stop").hidden = false;
  status("working");
  try {
    if (check) await report(own, words, model);
    else if (explorer) await explore(words);
    else if (fields.view.value === "convert") await convert(words);
    else {
      const r = await command(whole, words);
      const pre = Object.assign(document.createElement("pre"), { textContent: await r.out.text(), tabIndex: 0 });
      const section = document.createElement("section");
      section.append(pre);
      byId("result").replaceChildren(section);
    }
  } catch (e) {
    if (own === job) status(e.message, true);
  } finally {
    if (own === job) byId("stop").hidden = true;
    document.body.dataset.done = Number(document.body.dataset.done || 0) + 1;
  }
}

// report shows the first answer, then the whole report in its place. The first program has no shapes, and says less of
// what is wrong with a model.
async function report(own, words, model) {
  const options = [model, fields.target.value || "h13", fields.precision.value];
  const r1 = fields.shape.value ? null : await command(first, options, "the report follows").catch(() => null);
  if (own !== job) return;
  if (r1) {
    byId("result").replaceChildren(answer(JSON.parse(await r1.out.text())));
    performance.mark("zinc-answer");
  }
  const r = await command(whole, [...words, "--report", "html"]);
  const page = new DOMParser().parseFromString(await r.out.text(), "text/html");
  if (own !== job) return;
  byId("result").replaceChildren(...page.querySelectorAll("main > *, #chosen, #tip, #data"));
  await import(`./report.js?${performance.now()}`);
}

// explore shows the page of zinc explore, whose requests (assets/js/api.js there) the command in the worker answers.
async function explore(words) {
  window.zincFetch = await serve(whole, words, [...files], { said: (s) => status(s.trim()), signal: job.signal });
  status("");
  const hash = state && `#${state}`;
  byId("result").replaceChildren(
    Object.assign(document.createElement("iframe"), { src: `explore/${hash}`, title: "zinc explore" }),
  );
}

// convert offers what was written.
async function convert(words) {
  const r = await command(whole, words);
  const folder = r.files.length > 1 || r.files[0][0].includes("/");
  save(folder ? await zip(r.files) : r.files[0][1], words[2] + (folder ? ".zip" : ""));
}

function save(blob, name) {
  const a = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60000);
}

// ---- The form, and links to it

let state = ""; // of the explorer, from the address
const kept = ["view", "target", "precision", "shape", "op", "form"];

// remember puts the view and the options into the address.
function remember() {
  const now = new URLSearchParams(kept.filter((n) => fields[n].value).map((n) => [n, fields[n].value]));
  history.replaceState(null, "", `#${now}`);
}

// The address of what is shown, with the explorer's state and edits.
window.zincLink = () => {
  const shown = document.querySelector("iframe")?.contentWindow.location.hash.slice(1);
  return location.href + (shown ? `&state=${encodeURIComponent(shown)}` : "");
};

function recall() {
  const was = new URLSearchParams(location.hash.slice(1));
  state = was.get("state") || "";
  for (const n of kept) {
    const value = was.get(n);
    if (value === null) continue;
    fields[n].value = value;
    if (fields[n].selectedIndex === -1) fields[n].selectedIndex = 0;
  }
}

fields.view.replaceChildren(...Object.entries(views).map(([name, v]) => new Option(v.title, name)));
recall();
form.addEventListener("submit", (e) => {
  e.preventDefault();
  ask();
});
form.addEventListener("change", (e) => {
  if (e.target.tagName === "SELECT") ask();
});
byId("stop").addEventListener("click", () => job.abort(new Error("stopped")));
byId("link").addEventListener("click", () => navigator.clipboard.writeText(zincLink()));
byId("json").addEventListener("click", async () => {
  job = new AbortController();
  try {
    last.json ||= (await command(whole, [...last.words, "--json"])).out;
    save(last.json, `${last.words[0]}.json`);
  } catch (e) {
    status(e.message, true);
  }
});

// ---- What is loaded

const ready = (text) => (byId("ready").textContent = text);
try {
  await first;
  ready("ready, loading the rest");
  const worker = await installed;
  await whole;
  ready(worker ? "works without a network" : "loaded");
} catch (e) {
  ready(`cannot load zinc: ${e.message}`);
}
