// The page: what is chosen, what came out of it, and what is linked.

import { Answer } from "./answer.js";
import { follow, get, post, rows } from "./api.js";
import { Bytes } from "./bytes.js";
import { Compare } from "./compare.js";
import { Config } from "./config.js";
import { Costs } from "./costs.js";
import { $, el, later, options, painted } from "./dom.js";
import { GraphView } from "./graph.js";
import { Passes } from "./ir.js";
import { Links } from "./links.js";
import { Source } from "./mil.js";
import { Palette } from "./palette.js";
import { commands, menu, panes, setPanes } from "./panes.js";
import { Chain, Charts, Container, Outputs } from "./panels.js";
import { apply, change, pack, unpack } from "./share.js";
import { setWidths, splitters, widths } from "./split.js";
import { Tasks } from "./tasks.js";
import { time } from "./units.js";

const status = (text, bad = false) => {
  $("status").textContent = text;
  $("status").className = bad ? "bad" : "";
};
const trouble = (e) => {
  if (e?.name !== "AbortError") status(e?.message || String(e), true);
};

// Jobs: requests that take long show how far they are, and can be cancelled.
const running = new Set();
function showJobs() {
  const j = [...running].at(-1);
  $("progress").hidden = $("cancel").hidden = !j;
  if (!j) return;
  if (j.total) {
    $("progress").max = j.total;
    $("progress").value = j.done;
  } else $("progress").removeAttribute("value");
  $("progress").title =
    `${j.label}${j.stage ? `: ${j.stage}` : ""}${j.total ? ` ${j.done} of ${j.total}` : ""}`;
  $("cancel").textContent = `Cancel ${j.label}`;
}
async function job(label, path, body, stop = new AbortController(), quiet = false) {
  const j = { label, stop, stage: "", done: 0, total: 0 };
  const shown = setTimeout(() => {
    running.add(j);
    showJobs();
  }, 250);
  try {
    return await follow(path, body, stop.signal, (p) => {
      Object.assign(j, p);
      if (!quiet) status(`${label}: ${p.stage || "waiting"}${p.total ? ` ${p.done} of ${p.total}` : ""}`);
      showJobs();
    });
  } finally {
    clearTimeout(shown);
    running.delete(j);
    showJobs();
  }
}
$("cancel").addEventListener("click", () => {
  const j = [...running].at(-1);
  j?.stop.abort();
  if (j) status(`cancelled: ${j.label}`);
});

// A row of tabs.
function tablist(host, ids, open) {
  host.addEventListener("keydown", (e) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return;
    const now = ids.findIndex((id) => $(id).getAttribute("aria-selected") === "true");
    const next = ids[(now + by + ids.length) % ids.length];
    open(next);
    $(next).focus();
  });
  return (chosen) => {
    for (const id of ids) {
      $(id).setAttribute("aria-selected", id === chosen);
      $(id).tabIndex = id === chosen ? 0 : -1;
    }
  };
}

// What is deeper: tasks, container, chain, outputs, with the bytes beside them; and charts.
const panels = {};
const tabs = [
  ["tasks", "Tasks"],
  ["container", "Container"],
  ["chain", "E5 chain"],
  ["outputs", "Outputs"],
  ["timeline", "Timeline"],
  ["roofline", "Roofline"],
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
const chooseTab = tablist(
  $("tabs"),
  tabs.map(([id]) => `tab-${id}`),
  (id) => openTab(id.slice(4)),
);
let tab = "tasks";
function openTab(id, deep = true) {
  tab = id;
  for (const [t] of tabs) panels[t].hidden = t !== id;
  chooseTab(`tab-${id}`);
  if (deep) openDeep(true);
  charts.draw();
  remember();
}
let deep = false;
function openDeep(on) {
  deep = on;
  $("deep").classList.toggle("closed", !on);
  $("deep-toggle").setAttribute("aria-expanded", on);
  $("deep-toggle").textContent = `${on ? "\u25be" : "\u25b8"} Deeper`;
  if (on) fillDeep().catch(trouble);
  remember();
}
$("deep-toggle").addEventListener("click", () => openDeep(!deep));

// The middle: the graph or the program after a pass.
const chooseMiddle = tablist(document.querySelector("#middle .tabs"), ["view-graph", "view-ir"], (id) =>
  openMiddle(id.slice(5)),
);
let middle = "graph";
function openMiddle(which) {
  middle = which;
  $("graph").hidden = $("graph-bar").hidden = which !== "graph";
  $("ir").hidden = $("ir-bar").hidden = which !== "ir";
  chooseMiddle(`view-${which}`);
  fillMiddle().catch(trouble);
  remember();
}
for (const which of ["graph", "ir"]) $(`view-${which}`).addEventListener("click", () => openMiddle(which));

const hover = (ids, task) => links.hover(ids, task);
const pin = async (kind, id) => {
  if ((links.key && paired) || (links.statements.length && kind === "statement"))
    await links.pin(kind, id, paired).catch(trouble);
};
const costs = new Costs();
const links = new Links((what) => {
  source.list.restyle();
  if (!estimated) {
    for (const l of [passes.list, tasks.list, chain.list]) l.restyle();
    bytes.restyle();
    container.restyle();
    graph.restyle();
  }
  if (what !== "pin") return;
  const first = links.pinned ? mainStatement() : -1;
  answer.show(first);
  if (estimated) {
    if (links.pinned) showFirst();
  } else if (links.pinned) {
    showFirst();
    passes.reveal();
    if (tasks.key === links.key) tasks.reveal(deep);
    graph.reveal().catch(trouble);
    if (filled.deep === links.key) {
      chain.reveal();
      bytes.reveal().catch(trouble);
    }
    told();
  }
  remember();
});
// mainStatement is the one that the answer is about: the pinned one, or the first of what is pinned that computes.
function mainStatement() {
  if (links.pinned.kind === "statement") return links.pinned.id;
  const all = links.found.statements;
  return all.find((i) => costs.of(i)) ?? all[0] ?? -1;
}
const pinStatement = (id) => pin("statement", id);
const source = new Source(links, costs, {
  changed: () => {
    compile();
    remember();
  },
  pin: pinStatement,
  hover,
  unhide: () => hideConstants(false),
});
// showFirst brings the source of what is pinned into sight.
function showFirst() {
  const s = links.found.statements[0];
  if (s !== undefined && links.statements[s]) source.showLine(links.statements[s].line);
}
const passes = new Passes(links, {
  pin: pinStatement,
  hover,
  changed: () => {
    passes.reveal();
    remember();
  },
});
const graph = new GraphView($("graph"), links, costs, {
  pin: pinStatement,
  hover,
  laid: (x) => {
    performance.measure("zinc-layout", { start: performance.now() - x.all, detail: x });
    $("graph").dataset.boxes = x.boxes;
  },
});
const tasks = new Tasks(panels.tasks, links, { pin, hover, point: (offset) => bytes.point(offset) });
const bytes = new Bytes(links, { pin, hover, wordTip: (at, offset) => tasks.wordTip(at, offset) });
const charts = new Charts(panels.timeline, panels.roofline, {
  choose: (o) => {
    const i = links.statements.findIndex((s) => s.name === o.n && s.op === o.o && (!o.f || s.function === o.f));
    if (i >= 0) pinStatement(i);
  },
});
const container = new Container(panels.container, links, { show: (s, o) => bytes.go(s, o).catch(trouble) });
const chain = new Chain(panels.chain, links, { pin, hover });
const outputs = new Outputs(panels.outputs, {
  job: (label, path, body) => job(label, path, body),
  choose: (name) => {
    const i = links.statements.findIndex((s) => s.name === name && s.op !== "const");
    return i < 0 ? null : () => pinStatement(i);
  },
});
let asking = new AbortController(); // questions about the compilation that is shown
const answer = new Answer($("answer").querySelector(".body"), links, costs, {
  choose: (id) => (id < 0 ? links.unpin() : pinStatement(id)),
  ask: (path, body) => job("looking for rewrites", `view/${links.key}/${path}`, body, asking, true),
  apply: (q) => applyRewrite(q).catch(trouble),
  precision: (word) => {
    config.selects.precision.value = word;
    compile();
    remember();
  },
  undo: () => $("revert").click(),
  compare: () => openCompare(true),
  deeper: (id) => openTab(id),
  task: (i) => {
    openTab("tasks");
    tasks.open(i);
    tasks.list.move(i);
  },
});

// applyRewrite puts a rewrite into the text. The answer for the model then says what it saves.
async function applyRewrite(q) {
  const key = links.key;
  status(`applying ${q.recipe} \u2026`);
  const r = await job("rewriting", `view/${key}/rewrite`, q);
  if (key !== links.key) return;
  links.unpin();
  source.put(r.text.split("\n"));
  remember();
  await compile();
  const line = source.firstEdited();
  if (line) source.showLine(line);
}

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
// What the panes have been filled with, by key: panes that are not in sight are filled when they are opened.
const filled = {};
let shown = null; // the summary of the compilation that is shown
let estimated = false; // the source and the answer show an edit whose compilation is not there yet
let why = ""; // why there is no pair, "" where there is one
let wantedPass = "",
  wantedPin = null,
  notice = "";
const bases = new Map(); // what the own texts cost, by configuration

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
  if (f.tasks.length || f.bytes.length)
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
  asking.abort();
  asking = new AbortController();
  const mine = (stop = new AbortController());
  const request = body(config.value(), "edited");
  let s;
  try {
    if (request.text !== undefined) {
      if (!request.version || request.version === "this") {
        const p = await post("estimate", request, mine.signal);
        await opened;
        if (mine.signal.aborted) return;
        if (!p.ok) return refused(p);
        estimate(p);
      }
      await pause(PAIR, mine.signal);
    }
    status("compiling \u2026");
    s = await job("compiling", "compile", request, mine);
  } catch (e) {
    if (mine === stop && !mine.signal.aborted) {
      stale(true);
      trouble(e);
    }
    return;
  }
  await opened;
  if (mine.signal.aborted) return;
  if (!s.ok) return refused(s);
  source.diagnose(s.places);
  compare.run();
  try {
    await take(s, mine.signal);
    stale(false);
  } catch (e) {
    if (!mine.signal.aborted) trouble(e);
  }
}

// PAIR is how long an edit waits for another one, in ms, before its pair is built.
const PAIR = 300;

// pause waits, or throws when a signal comes.
const pause = (ms, signal) =>
  new Promise((done, fail) => {
    const t = setTimeout(done, ms);
    signal.addEventListener("abort", () => (clearTimeout(t), fail(signal.reason)), { once: true });
  });

// refused shows what is wrong with a text.
function refused(s) {
  source.diagnose(s.places);
  compare.run();
  const any = document.body.dataset.key !== "";
  stale(any);
  if (!any) blank("Nothing has compiled yet.");
  status(any ? `${s.error}; the panes show what compiled last` : s.error, true);
}

// estimate shows what an edit costs, which is known long before it is compiled: in the source and in the answer. The
// other panes show the compilation before.
function estimate(p) {
  const pinned = pinnedStatement();
  source.diagnose(p.places);
  estimated = true;
  paired = false;
  shown = null;
  stale(true, true);
  links.take("", p.statements);
  costs.take(p.cost);
  status(p.line);
  answer.take({
    key: "",
    summary: p,
    why: "",
    edited: source.edited(),
    base: bases.get(JSON.stringify(config.value())),
  });
  source.layout();
  document.body.dataset.estimated = String(p.cost.us);
  const again = statementLike(p.statements, pinned);
  if (again >= 0) pin("statement", again);
  performance.mark("zinc-estimated");
}

// pinnedStatement is the statement that is chosen, and statementLike finds it among others, -1 for none.
const pinnedStatement = () => (links.pinned?.kind === "statement" ? links.statements[links.pinned.id] : null);
const statementLike = (list, s) =>
  s ? list.findIndex((x) => x.name === s.name && x.op === s.op && x.function === s.function) : -1;

// stale marks the panes that do not show the text as it is.
function stale(on, answered = !on) {
  for (const id of ["middle", "deep"]) $(id).classList.toggle("stale", on);
  $("answer").classList.toggle("stale", !answered);
}

// blank empties the panes and says why.
function blank(because) {
  paired = false;
  for (const pane of Object.keys(filled)) filled[pane] = "";
  shown = null;
  costs.take(null);
  answer.wait(because);
  graph.say(because);
  passes.take("", [], "", because);
  tasks.take("", [], because);
  bytes.take("", false, because);
  container.take("", because);
  charts.take("", because).catch(trouble);
  chain.take("", because);
  outputs.take("", because);
}

async function fill(pane, f) {
  if (!shown || filled[pane] === shown.key) return;
  filled[pane] = shown.key;
  try {
    await f(shown.key);
  } catch (e) {
    filled[pane] = "";
    throw e;
  }
}

async function fillMiddle() {
  if (middle === "ir") {
    await fill("ir", (key) => {
      const pass = wantedPass || passes.name();
      wantedPass = "";
      return passes.take(key, shown.passes, pass);
    });
    passes.reveal();
    return;
  }
  await fill("graph", async (key) => {
    const g = await get(`view/${key}/graph`, { function: $("graph-function").value });
    if (key !== links.key) return;
    options($("graph-function"), g.functions, g.function);
    $("graph-function").hidden = g.functions.length < 2;
    answer.more({ graph: g });
    await graph.take(g);
    if (links.pinned) await graph.reveal();
  });
}

async function fillDeep() {
  if (!deep) return;
  await fill("deep", async (key) => {
    const of = paired ? key : "";
    await Promise.all([
      bytes.take(key, paired, why),
      container.take(of, why),
      chain.take(of, why),
      charts.take(key, why),
    ]);
    if (!links.pinned) return;
    tasks.reveal(true);
    chain.reveal();
    await bytes.reveal();
  });
}

async function fillTasks() {
  await fill("tasks", async (key) => {
    const list = shown.tasks ? await rows(`view/${key}/tasks`) : [];
    if (key !== links.key) return;
    tasks.take(key, list, why || (list.length ? "" : "No tasks: nothing runs on the engine."));
    answer.more({ tasks: list });
    if (links.pinned) tasks.reveal(deep);
  });
}

// take shows a compilation: the answer first, then what the reader can look at.
async function take(s, signal) {
  const [statements, cost] = await Promise.all([
    rows(`view/${s.key}/statements`, {}, signal),
    get(`view/${s.key}/cost`, {}, signal),
  ]);
  const pinned = pinnedStatement();
  estimated = false;
  document.body.dataset.estimated = "";
  links.take(s.key, statements);
  costs.take(cost);
  shown = s;
  paired = s.container_bytes > 0;
  const names = s.unlinked
    ? "this version writes no readable debug database: tasks and lines are linked only by " +
      "the names in its report"
    : "";
  why = paired
    ? ""
    : `zinc writes no programs for ${s.target}: its field table is not known. ` +
      "Operations are only placed, not lowered.";
  const assumed = s.assumed_weights ? `Weights are made up: ${s.assumed_weights.join(", ")}.` : "";
  status(notice, notice !== "");
  notice = "";
  const config_ = JSON.stringify(config.value());
  const edited = source.edited();
  if (!edited) bases.set(config_, { us: cost.us, key: s.key });
  const notes = [assumed, names].filter(Boolean);
  answer.take({ key: s.key, summary: s, why, notes, edited, base: bases.get(config_) });
  outputs.take(paired ? s.key : "", why);
  source.layout();
  $("pass").disabled = false;
  await painted();
  if (signal.aborted) return; // another model may be open by now
  performance.mark("zinc-answer");
  const again = wantedPin || { kind: "statement", id: statementLike(statements, pinned) };
  wantedPin = null;
  document.body.dataset.key = s.key;
  if (again.id >= 0) await pin(again.kind, again.id);
  await Promise.all([fillMiddle(), fillTasks(), fillDeep()]);
  if (signal.aborted) return;
  await painted();
  performance.mark("zinc-panes");
  document.body.dataset.panes = s.key;
  if (cost.estimated && cost.causes.length && !s.unlinked) answer.seek();
}

// openModel shows a model's text at once and compiles it meanwhile.
async function openModel(edits) {
  const name = config.value().model;
  links.clear();
  document.body.dataset.key = document.body.dataset.panes = "";
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
  document.title = `${name} \u2013 zinc explore`;
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
    deep: deep || undefined,
    middle,
    pass: passes.name() || wantedPass,
    section: $("section").value,
    widths: widths(),
    panes: panes(),
    hidden: source.hidden,
    colour: graph.colour,
    pin: links.pinned || undefined,
    compare: compare.shown() ? compare.state() : undefined,
  };
  try {
    history.replaceState(null, "", `#${await pack(state)}`);
  } catch (e) {
    trouble(e);
  }
});

// restore takes the state of the link and returns its edits.
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
  if (tabs.some(([id]) => id === state.tab)) openTab(state.tab, false);
  if (state.deep === true) openDeep(true);
  if (state.middle === "ir") openMiddle("ir");
  if (state.colour === "cost") colour("cost");
  if (typeof state.pass === "string") wantedPass = state.pass;
  const p = state.pin;
  if (p && ["statement", "task", "operation", "text", "constants"].includes(p.kind) && Number.isInteger(p.id))
    wantedPin = { kind: p.kind, id: p.id };
  setWidths(state.widths);
  setPanes(state.panes);
  if (typeof state.hidden === "boolean") hideConstants(state.hidden);
  if (state.compare) {
    lost.push(...compare.take(state.compare));
    compare.open(true);
  }
  if (typeof state.section === "string" && [...$("section").options].some((o) => o.value === state.section))
    $("section").value = state.section;
  if (lost.length) notice = `the link refers to ${lost.join(", ")}, which is not served here`;
  return state.edits ? { sha256: state.sha256, change: state.edits } : null;
}

// openCompare compares the model's own text with the text as edited, or with itself in fp16 where nothing is edited.
function openCompare(on) {
  if (on) {
    const now = config.value();
    const b = source.edited() ? { ...now, text: "edited" } : { ...now, text: "own", precision: "fp16" };
    compare.take({ a: { ...now, text: "own" }, b });
  }
  compare.open(on);
  remember();
}

async function share() {
  const edits = change(source.own, source.lines);
  await new Promise((r) => setTimeout(r, 250)); // the link is behind by that at most
  try {
    await navigator.clipboard.writeText(parent.zincLink?.() ?? location.href);
    status(`link copied${edits ? ", with the edits" : ""}; it opens where the same model is served`);
  } catch {
    status("the link is in the address bar; the browser did not let it be copied");
  }
}

function colour(by) {
  graph.colour = $("graph-colour").value = by;
  graph.restyle();
  remember();
}

// slowest chooses the statement that takes most.
const slowest = () => {
  const c = costs.slowest(1)[0];
  if (c) pinStatement(c.statement);
};

// entries are what the palette finds.
function entries() {
  const out = [
    ["Find the slowest statement", "", slowest],
    ["Answer for the whole model", "Esc", () => links.unpin()],
    ["What makes it faster", "", () => (links.unpin(), answer.seek())],
    ["Compare with the model's own text", "c", () => openCompare(!compare.shown())],
    ["Show the graph", "g", () => openMiddle("graph")],
    ["Show the program after a pass", "i", () => openMiddle("ir")],
    ["Colour the graph by place", "", () => colour("place")],
    ["Colour the graph by cost", "", () => colour("cost")],
    ["Fold every block of the graph", "", () => graph.fold(false)],
    ["Unfold every block of the graph", "", () => graph.fold(true)],
    ["Show all of the graph", "0", () => graph.fit(true)],
    ["Hide or show constants", "k", () => hideConstants(!source.hidden)],
    ["Edit the line at the cursor", "e", () => source.edit(source.list.cursor)],
    ["Edit the whole text", "", () => source.whole(!source.editing())],
    ["Revert the edits", "", () => $("revert").click()],
    ["Open or close what is deeper", "d", () => openDeep(!deep)],
    ...tabs.map(([id, label], i) => [`Show ${label.toLowerCase()}`, String(i + 1), () => openTab(id)]),
    ["Run on seeded inputs", "", () => (openTab("outputs"), outputs.run())],
    ["Copy a link to this state", "s", share],
    ...commands(),
    ["Keys", "?", () => $("help").showModal()],
    ...info.models.map((m) => [
      `Open model ${m.name}`,
      "model",
      () => {
        config.selects.model.value = m.name;
        config.selects.model.dispatchEvent(new Event("change"));
      },
    ]),
    ...info.targets.map((t) => [
      `Compile for ${t.name}`,
      "target",
      () => {
        config.selects.target.value = t.name;
        compile();
        remember();
      },
    ]),
  ].map(([label, hint, run]) => ({ label, hint, run }));
  links.statements.forEach((s, i) => {
    if (s.op === "const" || s.op === "func") return;
    const c = costs.of(i);
    out.push({
      label: `${s.op} ${s.name}`,
      hint: [s.line && `line ${s.line}`, c?.us && time(c.us), costs.place(i) === "cpu" && "CPU"]
        .filter(Boolean)
        .join(", "),
      run: () => pinStatement(i),
    });
  });
  return out;
}
const palette = new Palette(entries);

document.addEventListener("keydown", (e) => {
  if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === "k") {
    e.preventDefault();
    palette.open();
    return;
  }
  if (
    e.ctrlKey ||
    e.altKey ||
    e.metaKey ||
    e.target.matches("input, textarea, select") ||
    $("help").open ||
    $("palette").open
  )
    return;
  const keys = {
    "[": () => (openMiddle("ir"), passes.step(-1)),
    "]": () => (openMiddle("ir"), passes.step(1)),
    "/": () => $("find").focus(),
    c: () => openCompare(!compare.shown()),
    k: () => hideConstants(!source.hidden),
    s: share,
    g: () => openMiddle("graph"),
    i: () => openMiddle("ir"),
    d: () => openDeep(!deep),
    "?": () => $("help").showModal(),
    Escape: () => (compare.shown() ? openCompare(false) : links.unpin()),
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
  compare = new Compare(info, { body, changed: remember, line: (n) => source.showLine(n), job });
  openTab(tab, false);
  splitters(remember);
  menu($("panes"), remember);
  $("compare-toggle").addEventListener("click", () => openCompare(!compare.shown()));
  $("compare-close").addEventListener("click", () => openCompare(false));
  $("share").addEventListener("click", share);
  $("palette-button").addEventListener("click", () => palette.open());
  $("help-button").addEventListener("click", () => $("help").showModal());
  $("graph-colour").addEventListener("change", () => colour($("graph-colour").value));
  $("graph-fold").addEventListener("click", () => graph.fold(false));
  $("graph-unfold").addEventListener("click", () => graph.fold(true));
  $("graph-in").addEventListener("click", () => graph.zoom(1.25));
  $("graph-out").addEventListener("click", () => graph.zoom(0.8));
  $("graph-fit").addEventListener("click", () => graph.fit(true));
  $("graph-function").addEventListener("change", () => {
    filled.graph = "";
    fillMiddle().catch(trouble);
  });
  const edits = await restore();
  await openModel(edits);
}

window.addEventListener("hashchange", () => location.reload());
window.addEventListener("unhandledrejection", (e) => trouble(e.reason)); // as of a pane whose compilation was let go
start().catch(trouble);
