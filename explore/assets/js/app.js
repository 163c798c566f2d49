// The page: what is chosen, what came out of it, and what is linked.

import { get, post, rows } from "./api.js";
import { Bytes } from "./bytes.js";
import { Compare } from "./compare.js";
import { Config } from "./config.js";
import { $, el, later } from "./dom.js";
import { Passes } from "./ir.js";
import { Links } from "./links.js";
import { Source } from "./mil.js";
import { Chain, Container, Outputs, Placement } from "./panels.js";
import { apply, change, pack, unpack } from "./share.js";
import { setWidths, splitters, widths } from "./split.js";
import { Tasks } from "./tasks.js";

const status = (text, bad = false) => {
  $("status").textContent = text;
  $("status").className = bad ? "bad" : "";
};
const trouble = (e) => {
  if (e?.name !== "AbortError") status(e?.message || String(e), true);
};
const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

// Tabs of the right pane.
const panels = {};
const tabs = [
  ["tasks", "Tasks"],
  ["container", "Container"],
  ["chain", "E5 chain"],
  ["outputs", "Outputs"],
  ["placement", "Placement"],
];
for (const [id, label] of tabs) {
  panels[id] = el("div", { id: `panel-${id}`, hidden: true });
  $("panel").append(panels[id]);
  $("tabs").append(
    el("button", {
      type: "button",
      role: "tab",
      id: `tab-${id}`,
      textContent: label,
      "aria-controls": "panel",
      on: { click: () => openTab(id) },
    }),
  );
}
$("tabs").addEventListener("keydown", (e) => {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
  if (!by) return;
  const next = tabs[(tabs.findIndex(([id]) => id === tab) + by + tabs.length) % tabs.length][0];
  openTab(next);
  $(`tab-${next}`).focus();
});
let tab = "tasks";
function openTab(id) {
  tab = id;
  for (const [t] of tabs) {
    panels[t].hidden = t !== id;
    $(`tab-${t}`).setAttribute("aria-selected", t === id);
    $(`tab-${t}`).tabIndex = t === id ? 0 : -1;
  }
  remember();
}

const hover = (ids, task) => links.hover(ids, task);
const pin = (kind, id) => {
  if (links.key && paired) links.pin(kind, id).catch(trouble);
};
const links = new Links((what) => {
  for (const l of [source.list, passes.list, tasks.list, chain.list]) l.restyle();
  bytes.restyle();
  container.restyle();
  if (what !== "pin") return;
  if (links.pinned) {
    showFirst();
    passes.reveal();
    tasks.reveal();
    chain.reveal();
    bytes.reveal().catch(trouble);
    told();
  }
  remember();
});
const pinStatement = (id) => pin("statement", id);
const source = new Source(links, {
  changed: () => {
    compile();
    remember();
  },
  pin: pinStatement,
  hover,
  unhide: () => hideConstants(false),
});
// showFirst brings the source of what is pinned into sight, where it was not pinned there.
function showFirst() {
  const s = links.found.statements[0];
  if (s !== undefined && links.pinned.kind !== "statement") source.showLine(links.statements[s].line);
}
const passes = new Passes(links, {
  pin: pinStatement,
  hover,
  changed: () => {
    passes.reveal();
    remember();
  },
});
const tasks = new Tasks(panels.tasks, links, { pin, hover, point: (offset) => bytes.point(offset) });
const bytes = new Bytes(links, { pin, hover, wordTip: (at, offset) => tasks.wordTip(at, offset) });
const container = new Container(panels.container, links, { show: (s, o) => bytes.go(s, o).catch(trouble) });
const chain = new Chain(panels.chain, links, { pin, hover });
const outputs = new Outputs(panels.outputs);
const placement = new Placement(panels.placement, {
  line: (n) => {
    source.showLine(n);
    const ids = links.line(n);
    if (ids.length) pinStatement(ids[0]);
  },
});
function hideConstants(on) {
  source.hide(on);
  passes.hide(on);
  passes.reveal();
  remember();
}
$("constants").addEventListener("click", () => hideConstants(!source.hidden));
let config, compare, info;
let model = null; // the one whose text is shown
let paired = false;
let wantedPass = "",
  wantedPin = null,
  notice = "";

// told says in words what is pinned.
function told() {
  const f = links.found;
  const name = (i) => {
    const s = links.statements[i];
    return s ? `${s.op} ${s.name}${s.line ? ` (line ${s.line})` : ""}` : "";
  };
  const list = (ids) =>
    ids.slice(0, 3).map(name).join(", ") + (ids.length > 3 ? ` and ${ids.length - 3} more` : "");
  const parts = [list(f.statements)];
  if (f.rule) parts.push(`rule ${f.rule}`);
  if (f.passes.length) parts.push(`passes ${f.passes.join(", ")}`);
  if (f.gone?.length) parts.push(`removed by ${f.gone.join(", ")}`);
  parts.push(
    `${f.tasks.length} task${f.tasks.length === 1 ? "" : "s"}, ${f.bytes.reduce((n, s) => n + s.size, 0)} bytes`,
  );
  status(parts.filter(Boolean).join("; "));
}

// body makes the body of a request to compile.
function body(value, text) {
  const out = Config.request(value);
  if (text === "edited" && model && value.model === model.name && source.edited()) out.text = source.text();
  return out;
}

let stop = null;
let opened = Promise.resolve(); // the text of the chosen model is there
async function compile() {
  stop?.abort();
  const mine = (stop = new AbortController());
  status("compiling ...");
  let s;
  try {
    s = await post("compile", body(config.value(), "edited"), mine.signal);
  } catch (e) {
    if (!mine.signal.aborted) {
      stale(true);
      trouble(e);
    }
    return;
  }
  await opened;
  if (mine.signal.aborted) return;
  source.diagnose(s.places);
  compare.run();
  if (!s.ok) {
    const shown = document.body.dataset.key !== "";
    stale(shown);
    if (!shown) blank("Nothing has compiled yet.");
    status(shown ? `${s.error}; the panes show what compiled last` : s.error, true);
    return;
  }
  try {
    await take(s, mine.signal);
    stale(false);
  } catch (e) {
    if (!mine.signal.aborted) trouble(e);
  }
}

function stale(on) {
  for (const id of ["ir", "right", "bytes"]) $(id).classList.toggle("stale", on);
}

// blank empties the panes and says why.
function blank(why) {
  paired = false;
  passes.take("", [], "", why);
  tasks.take("", 0, why);
  bytes.take("", false, why);
  container.take("", why);
  chain.take("", why);
  outputs.take("", why);
  placement.say(why);
}

// take shows a compilation.
async function take(s, signal) {
  const statements = await rows(`view/${s.key}/statements`, {}, signal);
  const pinned = links.pinned && links.pinned.kind === "statement" ? links.statements[links.pinned.id] : null;
  links.take(s.key, statements);
  paired = s.container_bytes > 0;
  const names = s.unlinked
    ? "this version writes no readable debug database: tasks and lines are linked only by " +
      "the names in its report"
    : "";
  status([notice, names, s.line].filter(Boolean).join("; "), notice !== "");
  notice = "";
  const key = paired ? s.key : "";
  const why = paired
    ? ""
    : `zinc writes no programs for ${s.target}: its field table is not known. ` +
      "Operations are only placed, not lowered.";
  placement.take(s, why);
  outputs.take(key, why);
  source.list.restyle();
  await Promise.all([
    passes.take(s.key, s.passes, wantedPass || passes.name()),
    tasks.take(s.key, s.tasks, why || (s.tasks ? "" : "No tasks: nothing runs on the engine.")),
    bytes.take(s.key, paired, why),
    container.take(key, why),
    chain.take(key, why),
  ]);
  wantedPass = "";
  await painted();
  performance.mark("zinc-panes");
  document.body.dataset.key = s.key;
  const again =
    wantedPin ||
    (pinned && {
      kind: "statement",
      id: statements.findIndex((x) => x.name === pinned.name && x.op === pinned.op && x.func === pinned.func),
    });
  wantedPin = null;
  if (again && again.id >= 0) pin(again.kind, again.id);
}

// openModel shows a model's text at once and compiles it meanwhile.
async function openModel(edits) {
  const name = config.value().model;
  links.clear();
  document.body.dataset.key = "";
  blank("compiling \u2026");
  opened = get("source", { model: name }).then((t) => {
    if (config.value().model !== name) return;
    model = info.models.find((m) => m.name === name);
    source.open(t.text, model.fixed);
    if (!edits) return;
    const lines = edits.sha256 === t.sha256 ? apply(source.own, edits.change) : null;
    if (lines) source.put(lines);
    else status("the link's edits belong to another text than this model's; they are ignored", true);
  });
  const compiled = edits ? null : compile();
  await opened;
  await painted();
  performance.mark("zinc-source");
  document.body.dataset.model = name;
  await (compiled || compile());
}

// remember puts the state into the link.
const remember = later(200, async () => {
  if (!config || !model) return;
  const edits = change(source.own, source.lines);
  const state = {
    config: config.value(),
    sha256: model.sha256,
    edits: edits || undefined,
    tab,
    pass: passes.name(),
    section: $("section").value,
    widths: widths(),
    hidden: source.hidden || undefined,
    pin: links.pinned || undefined,
    compare: compare.shown() ? compare.state() : undefined,
  };
  try {
    history.replaceState(null, "", `#${await pack(state)}`);
  } catch (e) {
    trouble(e);
  }
});

async function restore() {
  let state = null;
  if (location.hash.length > 1) {
    try {
      state = await unpack(location.hash.slice(1));
    } catch {
      status("the link's state cannot be read; it is ignored", true);
    }
  }
  if (!state) return null;
  const lost = config.take(state.config);
  if (tabs.some(([id]) => id === state.tab)) openTab(state.tab);
  if (typeof state.pass === "string") wantedPass = state.pass;
  const p = state.pin;
  if (p && ["statement", "task", "operation", "text", "constants"].includes(p.kind) && Number.isInteger(p.id))
    wantedPin = { kind: p.kind, id: p.id };
  setWidths(state.widths);
  if (state.hidden === true) hideConstants(true);
  if (state.compare) {
    lost.push(...compare.take(state.compare));
    compare.open(true);
  }
  if (typeof state.section === "string" && [...$("section").options].some((o) => o.value === state.section))
    $("section").value = state.section;
  if (lost.length) notice = `the link refers to ${lost.join(", ")}, which is not served here`;
  return state.edits ? { sha256: state.sha256, change: state.edits } : null;
}

function toggleCompare() {
  const on = !compare.shown();
  if (on) {
    const now = config.value();
    compare.take({
      a: { ...now, text: "edited" },
      b: { ...compare.b.value(), model: now.model, function: now.function },
    });
  }
  compare.open(on);
  remember();
}

async function share() {
  const edits = change(source.own, source.lines);
  await new Promise((r) => setTimeout(r, 250)); // the link is behind by that at most
  try {
    await navigator.clipboard.writeText(location.href);
    status(`link copied${edits ? ", with the edits" : ""}; it opens where the same model is served`);
  } catch {
    status("the link is in the address bar; the browser did not let it be copied");
  }
}

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.altKey || e.metaKey || e.target.matches("input, textarea, select") || $("help").open)
    return;
  const keys = {
    "[": () => passes.step(-1),
    "]": () => passes.step(1),
    "/": () => $("find").focus(),
    c: toggleCompare,
    k: () => hideConstants(!source.hidden),
    s: share,
    "?": () => $("help").showModal(),
    Escape: () => links.unpin(),
    e: () => source.edit(source.list.cursor),
  };
  const n = Number(e.key);
  const f =
    keys[e.key] || (n >= 1 && n <= tabs.length && e.key.length === 1 ? () => openTab(tabs[n - 1][0]) : null);
  if (f) {
    e.preventDefault();
    f();
  }
});

async function start() {
  info = await get("models");
  config = new Config($("config"), info, {
    changed: (name) => (name === "model" ? openModel(null).catch(trouble) : compile(), remember()),
  });
  compare = new Compare(info, { body, changed: remember, line: (n) => source.showLine(n) });
  openTab(tab);
  splitters(remember);
  $("compare-toggle").addEventListener("click", toggleCompare);
  $("share").addEventListener("click", share);
  $("help-button").addEventListener("click", () => $("help").showModal());
  const edits = await restore();
  await openModel(edits);
}

window.addEventListener("hashchange", () => location.reload());
window.addEventListener("unhandledrejection", (e) => trouble(e.reason)); // as of a pane whose compilation was let go
start().catch(trouble);
