// Opens the explorer's pages in headless Chromium and uses them. The one argument is
// a JSON object, see browser_test.go. Exit status 1 when anything is not as it must be.

import { createRequire } from "node:module";
import { mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const config = JSON.parse(process.argv[2]);
const { chromium } = createRequire(join(config.modules, "node_modules", "x.js"))("playwright-core");
mkdirSync(config.pictures, { recursive: true });

// slow bounds a wait for what comes in a second on a quiet machine.
const slow = 120000;

// WIDTHS are the widths at which pages are looked at, from a phone to a large screen, px.
const WIDTHS = [360, 420, 768, 1024, 1440, 2560];

let failures = 0;
function check(what, ok, seen = "") {
  if (ok) { console.log(`  ok    ${what}${seen !== "" ? `: ${seen}` : ""}`); return; }
  failures++;
  console.log(`  FAIL  ${what}${seen !== "" ? `: ${seen}` : ""}`);
}

// The browser's own log of what its network stack did.
const netlog = join(config.pictures, "network.json");
rmSync(netlog, { force: true });
const browser = await chromium.launch({
  executablePath: config.chromium, headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--no-first-run",
    // What the browser would look up for itself is not looked up: whatever goes out is
    // the page's.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    `--log-net-log=${netlog}`, "--net-log-capture-mode=IncludeSensitive"],
});

// patient opens a context whose waits are bounded by slow.
async function patient(options) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(slow);
  await context.addInitScript(() => {
    globalThis.interactions = [];
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) if (e.interactionId) interactions.push([e.duration, `${e.name} on ${e.target?.id || e.target?.getAttribute("class") || e.target?.localName}`]);
    }).observe({ type: "event", durationThreshold: 16, buffered: true });
  });
  return context;
}

// slowest prints the interaction that took longest, from the key or click to the next paint.
async function slowest(page) {
  await page.waitForTimeout(100); // an entry comes after its frame
  const [ms, what] = (await page.evaluate(() => globalThis.interactions)).sort((a, b) => b[0] - a[0])[0] ?? [0, "none took 16 ms"];
  console.log(`        slowest interaction, load ${loadavg()[0].toFixed(1)}: ${ms} ms, ${what}`);
}

// reader counts the pixels of a colour in a picture, on a page that is not the
// explorer's.
const scratch = await browser.newPage();
async function pixels(png, colours) {
  return scratch.evaluate(async ([data, colours]) => {
    const blob = new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], { type: "image/png" });
    const image = await createImageBitmap(blob);
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const d = context.getImageData(0, 0, image.width, image.height).data;
    const counts = {};
    for (const [name, [r, g, b]] of Object.entries(colours)) {
      let n = 0;
      for (let i = 0; i < d.length; i += 4) if (Math.abs(d[i] - r) + Math.abs(d[i + 1] - g) + Math.abs(d[i + 2] - b) <= 6) n++;
      counts[name] = n;
    }
    return counts;
  }, [png.toString("base64"), colours]);
}

const strong = { light: [0xff, 0xe9, 0xb0], dark: [0x57, 0x44, 0x11] };
async function picture(page, name, part) {
  const target = part ? page.locator(part) : page;
  return target.screenshot({ path: join(config.pictures, `${name}.png`), animations: "disabled" });
}

async function lit(page, name, part, scheme) {
  return (await pixels(await picture(page, name, part), { strong: strong[scheme] })).strong;
}


// filled waits until every pane in sight shows the compilation that is chosen.
const filled = (page) => page.waitForFunction(() => document.body.dataset.key && document.body.dataset.panes === document.body.dataset.key, null, { timeout: slow });

// appears reports whether an element is there within slow: panes are drawn again after the marks of a row change.
const appears = (page, selector) => page.waitForSelector(selector, { timeout: slow }).then(() => true, () => false);

// times prints when the page was painted and how long the graph took. No limit is held: they are of this machine.
async function times(page, when) {
  const t = await page.evaluate(() => ({
    paint: performance.getEntriesByType("paint").find((e) => e.name === "first-contentful-paint")?.startTime,
    source: performance.getEntriesByName("zinc-source").at(-1)?.startTime,
    answer: performance.getEntriesByName("zinc-answer").at(-1)?.startTime,
    panes: performance.getEntriesByName("zinc-panes").at(-1)?.startTime,
    layout: performance.getEntriesByName("zinc-layout").at(-1)?.detail,
  }));
  const ms = (x) => (x === undefined ? "?" : Math.round(x));
  console.log(`        ${when}, load ${loadavg()[0].toFixed(1)}, ms: first paint ${ms(t.paint)}, source ${ms(t.source)}, answer ${ms(t.answer)}, all ${ms(t.panes)}; graph of ${t.layout?.nodes} nodes as ${t.layout?.boxes} boxes: layout ${ms(t.layout?.layout)}, painted ${ms(t.layout?.all)}`);
}

// unfolded prints what the layout takes with every block open.
async function unfolded(page, name) {
  await page.locator("#view-graph").click();
  await page.locator("#graph-unfold").click();
  await page.waitForFunction(() => { const t = performance.getEntriesByName("zinc-layout").at(-1).detail; return t.boxes >= t.nodes; }, null, { timeout: slow });
  const t = await page.evaluate(() => performance.getEntriesByName("zinc-layout").at(-1).detail);
  console.log(`        every block open, load ${loadavg()[0].toFixed(1)}, ms: layout ${Math.round(t.layout)}, painted ${Math.round(t.all)}, ${t.boxes} boxes`);
  const elements = await page.locator("#graph .box").count();
  check("only boxes near what is in sight have elements", elements > 5 && (t.boxes < 500 || elements < t.boxes / 2), `${elements} of ${t.boxes}`);
  await picture(page, `${name}-unfolded`);
  // Where the reader goes, boxes are drawn.
  const svg = await page.locator("#graph svg").boundingBox();
  const middle = [svg.x + svg.width / 2, svg.y + svg.height / 2];
  const inSight = () => page.evaluate(() => {
    const pane = document.querySelector("#graph svg").getBoundingClientRect();
    return [...document.querySelectorAll("#graph .box:not(.open)")].filter((b) => { const r = b.getBoundingClientRect(); return r.bottom > pane.top && r.top < pane.bottom && r.right > pane.left && r.left < pane.right; }).map((b) => b.dataset.id);
  });
  const before = await inSight();
  await page.mouse.move(...middle);
  await page.mouse.down();
  await page.mouse.move(middle[0], middle[1] - svg.height * 0.45, { steps: 4 });
  await page.mouse.up();
  await page.mouse.move(...middle);
  await page.mouse.down();
  await page.mouse.move(middle[0], middle[1] - svg.height * 0.45, { steps: 4 });
  await page.mouse.up();
  const after = await inSight();
  check("a drag brings other boxes into sight", t.boxes < 40 || after.some((id) => !before.includes(id)), `${before.length}, then ${after.length}`);
  await page.locator("#graph-fit").click();
  const all = await page.locator("#graph .box").count();
  check("at a smaller scale more of them have", all > elements, `${all} of ${t.boxes}`);
  await picture(page, `${name}-fitted`);
  await page.locator("#graph-fold").click();
}

// find brings the line whose text of MIL has some text into sight and returns its row, which shows it in another order.
async function find(page, text) {
  await page.locator("#find").fill(text);
  await page.locator("#find").press("Enter");
  const row = page.locator("#mil .row.cursor");
  await row.waitFor();
  return row;
}

async function visit(p, scheme) {
  console.log(`${p.name}, ${scheme}`);
  const context = await patient({ colorScheme: scheme, viewport: { width: 1600, height: 950 } });
  const page = await context.newPage();
  const origin = new URL(p.url).origin;
  const strangers = [], errors = [];
  page.on("request", (r) => { if (new URL(r.url()).origin !== origin) strangers.push(r.url()); });
  page.on("pageerror", (e) => errors.push(String(e)));
  page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
  const name = `${p.name}-${scheme}`;

  // Cold: the text must be there while the compiler works. Times are printed; what is held is the work.
  const asked = [];
  page.on("request", (r) => { if (/\/api\//.test(r.url())) asked.push(new URL(r.url()).pathname.replace(/.*\//, "")); });
  await page.goto(p.url);
  await page.waitForFunction(() => performance.getEntriesByName("zinc-source").length > 0);
  check("source rows in sight", (await page.locator("#mil .row").count()) > 5);
  await filled(page);
  await times(page, "cold");
  check("what is deeper is not read before it is opened", !asked.some((a) => ["container", "chain", "bytes"].includes(a)), [...new Set(asked)].join(" "));
  await page.reload();
  await filled(page);
  await times(page, "compiled before");
  const drawn = await page.locator(".row").count();
  check("rows in the document are those in sight", drawn > 10 && drawn < 600, drawn);
  const boxes = await page.locator("#graph .box").count();
  check("boxes of the graph, folded", boxes > 4 && boxes < 260, boxes);
  check("the answer is for the model", /\d (ns|\u00b5s|ms|s)$/.test(await page.locator("#total").textContent()), await page.locator("#total").textContent());
  check("nothing is lit before a click", (await lit(page, `${name}-mil`, "#mil", scheme)) === 0);
  await picture(page, `${name}-model`);

  // A click on a source line is answered: what it costs, where it runs, its tasks in a sentence each.
  await (await find(page, p.click)).click({ position: { x: 200, y: 9 } });
  await page.waitForSelector("#answer h2.title");
  await page.waitForSelector("#answer ol.tasks li");
  const sentence = await page.locator("#answer ol.tasks li").first().textContent();
  check("a task in one sentence", /^[a-z ,-]+, fp16 \d+x\d+x\d+ to \d+x\d+x\d+.* (ns|\u00b5s|ms), \w+ bound$/.test(sentence), sentence);
  check("what it costs", /a call/.test(await page.locator("#answer .tiles").innerText()), (await page.locator("#answer .tiles").innerText()).replaceAll("\n", " "));
  check("its box is marked", (await page.locator("#graph .box.strong").count()) === 1);
  check("the line is lit", (await lit(page, `${name}-mil-pinned`, "#mil", scheme)) > 300);
  await picture(page, `${name}-statement`);

  // What is deeper opens with a click, at what is chosen.
  await page.locator("#deep-toggle").click();
  await page.waitForFunction(() => document.querySelector("#panel-tasks .row.strong") && document.querySelector("#bytes .word.strong"));
  await page.waitForTimeout(150);
  check("tasks are lit", (await lit(page, `${name}-tasks-pinned`, "#panel-tasks .split > div:first-child", scheme)) > 300);
  check("bytes are lit", (await lit(page, `${name}-bytes-pinned`, "#bytes .body", scheme)) > 300);
  await page.locator("#view-ir").click();
  await page.waitForSelector("#ir .row.strong");
  check("program lines are lit", (await page.locator("#ir .row.strong").count()) > 0);
  await picture(page, `${name}-deep`);
  const said = await page.locator("#status").textContent();
  check("the status says what is linked", /rule .*task.*bytes/.test(said), said);

  // The other way: a word of another task leads to its line.
  await page.locator("#bytes .word:not(.strong)").first().click().catch(() => {});
  await page.locator("#panel-tasks .row").first().click({ position: { x: 100, y: 9 } });
  await page.waitForFunction(() => document.querySelector("#mil .row.strong"));
  check("a task leads to its source line", await appears(page, "#mil .row.strong"));
  const word = page.locator("#bytes .word").nth(3);
  await word.click();
  await page.waitForFunction(() => document.querySelector("#bytes .word.strong") && document.querySelector("#mil .row.strong"));
  check("a word leads to its task", (await page.locator("#panel-tasks .row.strong").count()) > 0);

  // Field help: name, meaning, source.
  const field = page.locator("#panel-tasks .split > div:last-child .row").first();
  await field.hover({ position: { x: 100, y: 9 } });
  await page.waitForSelector("#tip:not([hidden])");
  const tip = await page.locator("#tip").innerText();
  check("help on a field", /=/.test(tip) && /(named|recorded|modelled):/.test(tip), tip.replaceAll("\n", " | "));

  check("the word of the field is marked", (await page.locator("#bytes .word.pointed").count()) === 1);

  // Keys alone.
  await page.locator("#bytes .body").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  const at = Number(await page.locator("#bytes .word.cursor").getAttribute("data-at"));
  check("keys move from word to word", (await page.locator("#bytes .word.cursor").count()) === 1 && at > 0, at);
  await page.keyboard.press("Enter");
  await page.waitForFunction((n) => document.querySelector(`#bytes .word.strong[data-at="${n}"]`), at, { timeout: slow }).catch(() => {});
  check("Enter pins the word", (await page.locator(`#bytes .word.strong[data-at="${at}"]`).count()) === 1 && (await page.locator("#mil .row.strong").count()) > 0);
  await page.locator("#mil .list").focus();
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector(".row.strong"));
  check("Escape is back at the model", await appears(page, "#total"));
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#mil .row.strong, #mil .row.weak"), null, { timeout: slow }).catch(() => {});
  check("the keyboard pins a line", (await page.locator("#mil .row.strong, #mil .row.weak").count()) > 0);
  const pass = await page.locator("#pass").inputValue();
  await page.keyboard.press("[");
  check("[ goes to the changed pass before", (await page.locator("#pass").inputValue()) !== pass);
  check("changed passes are marked", (await page.locator("#pass option").allTextContents()).some((t) => t.startsWith("\u25cf")));

  // The other tabs.
  await page.locator("#tab-container").click();
  check("container map", (await page.locator("#panel-container tr").count()) > 3 && (await page.locator("#panel-container .map .part").count()) > 3);
  check("the map shows where the bytes lie", (await page.locator("#panel-container .ticks i").count()) > 0);
  await page.locator("#tab-chain").click();
  check("chain", (await page.locator("#panel-chain .row").count()) > 1);
  if (!p.large) {
    await page.locator("#tab-outputs").click();
    await page.locator("#run").click();
    await page.waitForSelector("#outputs .histogram");
    check("outputs", (await page.locator("#outputs .values").count()) > 0);
  }

  // Comparisons, by package compare.
  const note = () => page.locator("#compare-note").textContent();
  const compared = () => page.waitForFunction(() => document.querySelector("#compare-note").textContent !== "comparing ...", null, { timeout: slow });
  // choose chooses on a side, or a level, and waits for the answer to the new question.
  const choose = async (where, what) => {
    const had = page.locator(where);
    if ((await had.inputValue()) !== what) await had.selectOption(what);
    await page.waitForTimeout(60);
    await compared();
  };
  const rows = async (part) => (await page.locator(`#compare .row${part}`).allTextContents()).join("\n");
  if (!p.large) {
    await page.locator("#compare-toggle").click();
    await page.evaluate(() => document.querySelectorAll("details.settings").forEach((d) => (d.open = true)));
    await compared();
    const side = (which, name) => page.locator(`#side-${which} select[name=${name}]`).inputValue();
    check("without an edit it opens on the model in fp16", (await side("a", "precision")) === "declared" && (await side("b", "precision")) === "fp16" && (await side("b", "text")) === "own");
    await choose("#side-b select[name=precision]", "declared");
    await choose("#side-b select[name=text]", "edited");
    check("a model compared with itself", (await note()) === "no difference", await note());
    await choose("#side-b select[name=target]", "h19");
    check("another target is one change", (await note()).startsWith("1 change"), await note());
    check("the change is named", /target changed/.test(await rows(".cause")) && /h13 -> h19/.test(await rows(".detail")));
    check("limits of the targets are compared", /limits of h19/.test(await rows(".effect")));
    check("levels that need a pair say why they are left out", /not compared: .*tasks.*: B: zinc writes no programs for target h19/.test(await rows(".fold")), await rows(".fold"));
    check("the right side says what h19 makes of it", /no programs/.test(await page.locator("#line-b").textContent()) && !/no programs/.test(await page.locator("#line-a").textContent()), await page.locator("#line-b").textContent());
    await picture(page, `${name}-compare-h19`);
    await choose("#level", "tasks");
    check("tasks of h19 are refused by name", /no programs for target h19/.test(await rows(".fold")) && (await note()).startsWith("not compared"), await note());
    await choose("#level", "");
    await choose("#side-b select[name=target]", "h13");
    await choose("#side-b select[name=constants]", "join");
    check("another flag on the right", /split-kernel-section changed/.test(await rows(".cause")), await note());
    await choose("#level", "bytes");
    check("byte ranges have owners", /range/.test(await note()) && (await page.locator("#compare .row").count()) > 1, await note());
    await choose("#side-b select[name=constants]", "split");
    check("no byte differs from itself", (await note()) === "all bytes are equal", await note());
    await choose("#level", "");

    // Another version of zinc on the right, then on the left.
    const names = await page.locator("#side-b select[name=version] option").allTextContents();
    check("versions to choose, this one first", names.length === 2 && /this one/.test(names[0]) && names[1].startsWith("full"), names.join(", "));
    await choose("#side-b select[name=version]", "full");
    check("another version is one change", /^1 change, \d+ effects of them/.test(await note()), await note());
    check("the version is named", /compiler version changed/.test(await rows(".cause")) && /this -> full/.test(await rows(".detail")));
    check("tasks are aligned, their fields named", /tasks of \w+ .* changed/.test(await rows(".effect")) && /[A-Z]\w+\.\w+.*: .* -> /.test(await rows(".detail")));
    await picture(page, `${name}-compare-version`);
    const more = page.locator("#compare .row.more").first();
    if (await more.count()) {
      const before = await page.locator("#compare .row.detail").count();
      await more.click();
      check("the rest of a change opens", (await page.locator("#compare .row.detail").count()) > before);
    }
    await choose("#side-a select[name=version]", "full");
    check("one version on both sides", /^no difference/.test(await note()), await note());
    if (!p.large) {
      await choose("#level", "outputs");
      check("outputs of both are the same", /^no difference/.test(await note()), await note());
      await choose("#level", "");
    }
    await choose("#side-a select[name=version]", "this");
    await choose("#side-b select[name=version]", "this");

    // An edited operation is one change, with its line.
    if (!p.large) {
      const whole = await page.locator("#whole");
      await page.locator("#edit-all").click();
      const text = await whole.inputValue();
      await whole.fill(text.replace(p.break, p.break.replace("relu(", "sigmoid(")));
      await page.waitForTimeout(400);
      await page.waitForFunction(() => /^1 change,/.test(document.querySelector("#compare-note").textContent), null, { timeout: slow }).catch(() => {});
      const named = await rows(".cause");
      const number = text.slice(0, text.indexOf(p.break)).split("\n").length;
      check("an edited operation is one change, with its line", new RegExp(`^${number}.*relu.*line ${number}`, "m").test(named), `${await note()}: ${named}`);
      await picture(page, `${name}-compare-edit`);
      check("the text that is edited as a whole covers the list", (await page.locator("#mil .list").isVisible()) === false && (await page.locator("#whole").isVisible()));
      await whole.fill(text.replace(p.break, p.with));
      await page.waitForSelector("#whole-diag:not([hidden])", { timeout: slow });
      const told = await page.locator("#whole-diag").textContent();
      check("and what is wrong stands beneath it, with a caret", told.includes(p.message) && told.includes("^"), told.split("\n")[0]);
      await picture(page, `${name}-whole`);
      await page.locator("#edit-all").click();
      await page.locator("#revert").click();
      await page.waitForFunction(() => /^no difference/.test(document.querySelector("#compare-note").textContent), null, { timeout: slow });
    }
    await page.locator("#compare-toggle").click();
  }

  // The other version in the page's own panes.
  if (!p.large) {
    const key = await page.evaluate(() => document.body.dataset.key);
    await page.locator("#config select[name=version]").selectOption("full");
    await page.waitForFunction((k) => document.body.dataset.key && document.body.dataset.key !== k, key, { timeout: slow });
    await filled(page);
    await page.locator("#tab-tasks").click();
    await (await find(page, p.click)).click({ position: { x: 200, y: 9 } });
    await page.waitForFunction(() => document.querySelector("#panel-tasks .row.strong") && document.querySelector("#bytes .word.strong") && document.querySelector("#ir .row.strong"), null, { timeout: slow });
    check("a line lights up tasks, bytes and program lines of another version", true, await page.locator("#status").textContent());
    await picture(page, `${name}-version`);
    await page.locator("#config select[name=version]").selectOption("this");
    await page.waitForFunction((k) => document.body.dataset.key === k, key, { timeout: slow });
  }

  if (p.large) await unfolded(page, name);

  // A target without programs says so in every pane that needs one.
  await page.locator("#config select[name=target]").selectOption("h19");
  await page.waitForFunction(() => /no programs for h19/.test(document.querySelector("#bytes").textContent), null, { timeout: slow });
  for (const [tab] of [["tasks"], ["container"], ["chain"], ["outputs"]]) {
    await page.locator(`#tab-${tab}`).click();
    check(`${tab} of h19 say why there are none`, /no programs for h19: its field table is not known/.test(await page.locator(`#panel-${tab}`).innerText()));
  }
  await page.keyboard.press("Escape");
  check("the answer for h19 says so", /no programs/.test(await page.locator("#answer").innerText()));
  await page.locator("#config select[name=target]").selectOption("h13");
  await page.waitForFunction(() => document.querySelector("#bytes .word"), null, { timeout: slow });

  // A link restores the whole state: versions, flags, tab, pass, what is hidden, what
  // is compared and how.
  if (!p.large) {
    await page.locator("#config select[name=version]").selectOption("full");
    await page.locator("#config select[name=constants]").selectOption("join");
    await page.locator("#tab-container").click();
    await page.locator("#constants").click();
    await page.locator("#section").selectOption("constants");
    await page.locator("#compare-toggle").click();
    await compared();
    await choose("#side-b select[name=precision]", "fp16");
    await choose("#level", "passes");
    const was = await note();
    const chosen = () => [...document.querySelectorAll("#config select, #config input, #side-a select, #side-b select, #level, #section, #pass")].map((n) => `${n.name || n.id}=${n.value}`).join(" ");
    const before = await page.evaluate(chosen);
    await page.waitForTimeout(600);
    const again = await context.newPage();
    again.on("request", (r) => { if (new URL(r.url()).origin !== origin) strangers.push(r.url()); });
    await again.goto(page.url());
    await again.waitForFunction(() => document.body.dataset.key, null, { timeout: slow });
    await again.waitForFunction((w) => document.querySelector("#compare-note").textContent === w, was, { timeout: slow }).catch(() => {});
    const restored = await again.evaluate(chosen);
    check("a link restores every choice", restored === before, restored === before ? "" : `${before} became ${restored}`);
    check("and the comparison", (await again.locator("#compare-note").textContent()) === was, was);
    check("and the tab, and what is hidden", (await again.locator("#tab-container").getAttribute("aria-selected")) === "true" && (await again.locator("#constants").getAttribute("aria-pressed")) === "true");
    await again.close();
    await choose("#side-b select[name=precision]", "declared");
    await choose("#side-b select[name=text]", "edited");
    await choose("#level", "");
    await page.locator("#compare-toggle").click();
    await page.locator("#constants").click();
    await page.locator("#section").selectOption("text");
    await page.locator("#config select[name=constants]").selectOption("split");
    await page.locator("#config select[name=version]").selectOption("this");
    await filled(page);
  }

  // Another model, with an error from the beginning on: nothing of the one before stays.
  if (p.name === "digits") {
    await page.locator("#config select[name=model]").selectOption("wrong");
    await page.waitForSelector("#mil .row.diag", { timeout: slow });
    check("a model that never compiled shows its error alone", (await page.locator("#status").textContent()) === "1 error" && (await page.locator("#ir .row, #graph .box, #panel-tasks .row, #bytes .word, #answer .tile").count()) === 0);
    check("and the panes say that nothing has compiled", (await page.locator("#middle").innerText()).includes("Nothing has compiled yet") && (await page.locator("#answer").innerText()).includes("Nothing has compiled yet"));
    await picture(page, `${name}-wrong`);
    await page.locator("#config select[name=model]").selectOption("digits");
    await page.waitForFunction(() => document.querySelector("#bytes .word"), null, { timeout: slow });
  }

  // Constants out of the way.
  const all = await page.locator("#mil .space").evaluate((n) => n.clientHeight);
  await page.locator("#mil .list").focus();
  await page.keyboard.press("k");
  check("k shows constants", (await page.locator("#mil .space").evaluate((n) => n.clientHeight)) > all && (await page.locator("#mil .row").allTextContents()).some((t) => /const \w/.test(t)));
  await page.keyboard.press("k");
  check("and leaves them out", (await page.locator("#mil .space").evaluate((n) => n.clientHeight)) === all);

  // The panes' widths.
  const wide = await page.locator("#mil").evaluate((n) => n.clientWidth);
  await page.locator("#split-left").focus();
  await page.keyboard.press("ArrowRight");
  check("the keyboard moves the line between panes", (await page.locator("#mil").evaluate((n) => n.clientWidth)) > wide);

  // A statement made wrong: the message stands beneath it, with a caret.
  const line = await find(page, p.break);
  await line.dblclick({ position: { x: 200, y: 9 } });
  const editor = page.locator(".line-edit");
  await editor.waitFor();
  const text = await editor.inputValue(), [from, to] = [p.break, p.with].map((t) => t.match(/\(.*\)/)[0]);
  check("the editor holds the line as it is shown: operation first, the type in short", /^relu \w+ \(/.test(text) && text.includes(from) && /: fp16 [\d\u00d7]+$/.test(text), text);
  const forms = await page.evaluate(async () => {
    const { readable, written } = await import("./js/code.js");
    const line = '    tensor<fp16, [1, 2]> y_cast_fp16 = relu(x = x)[name = string("y_cast_fp16")];';
    return [readable(line), written("tanh z (x = x): fp16 4\u00d71", line), written("not a form", line)];
  });
  check("and what is written is MIL", forms[0] === "relu y_cast_fp16 (x = x): fp16 1\u00d72" && forms[1] === '    tensor<fp16, [4, 1]> z = tanh(x = x)[name = string("z")];' && forms[2] === "not a form", forms.join(" | "));
  await editor.fill(text.replace(from, to));
  await page.waitForSelector("#mil .row.diag", { timeout: slow });
  check("the error appears while the line is edited", (await editor.count()) === 1 && (await page.locator("#mil .row.diag").first().isVisible()));
  const apart = await page.evaluate(() => document.querySelector(".line-edit").getBoundingClientRect().bottom - document.querySelector("#mil .row.diag").getBoundingClientRect().top);
  check("the box does not cover it", apart <= 1, Math.round(apart));
  await editor.press("Enter");
  await page.waitForFunction(() => !document.querySelector(".line-edit"));
  await page.waitForTimeout(200);
  const diag = await page.locator("#mil .row.diag").allInnerTexts();
  check("the message", diag.some((d) => d.includes(p.message) && d.includes("error")), diag[0]);
  check("the caret", diag.some((d) => /\^/.test(d)), diag.find((d) => /\^/.test(d))?.trim());
  const inSight = await page.evaluate(() => {
    const row = [...document.querySelectorAll("#mil .row.diag")].find((r) => r.textContent.includes("^"));
    const range = document.createRange(), text = row.lastChild;
    range.setStart(text, text.data.indexOf("^"));
    range.setEnd(text, text.data.lastIndexOf("~") + 1 || text.data.indexOf("^") + 1);
    const caret = range.getBoundingClientRect(), pane = document.querySelector("#mil .body").getBoundingClientRect();
    return caret.left >= pane.left && caret.right <= pane.right && caret.top >= pane.top && caret.bottom <= pane.bottom;
  });
  check("the caret is in sight", inSight);
  const under = diag.findIndex((d) => /^\s*\^/.test(d));
  check("the caret stands under the wrong name", diag[under - 1].slice(diag[under].indexOf("^")).startsWith(p.message), diag[under - 1].trim());
  const place = await page.evaluate((w) => {
    const rows = [...document.querySelectorAll("#mil .row")].sort((a, b) => a.dataset.i - b.dataset.i);
    const i = rows.findIndex((r) => r.classList.contains("diag"));
    return i > 0 && rows[i - 1].textContent.includes(w);
  }, to);
  check("beneath its line", place);
  check("the panes say that they are old", await page.locator("#answer.stale").count() === 1);
  check("the edited line is marked", (await page.locator("#mil .row.edited").count()) === 1);
  await picture(page, `${name}-error`);

  // The state travels as a link, edits included.
  await page.waitForTimeout(600);
  const link = page.url();
  check("the link holds the state", link.includes("#z1."), `${link.length} characters`);
  const other = await context.newPage();
  other.on("request", (r) => { if (new URL(r.url()).origin !== origin) strangers.push(r.url()); });
  await other.goto(link);
  await other.waitForFunction(() => /error/.test(document.querySelector("#status").textContent), null, { timeout: slow });
  await find(other, p.with);
  await other.waitForSelector("#mil .row.diag");
  check("the link restores the widths of panes", (await other.locator("#mil").evaluate((n) => n.clientWidth)) > wide);
  check("the link opens with the same error", (await other.locator("#mil .row.diag").allInnerTexts()).some((d) => d.includes(p.message)));
  await other.close();

  // Links that nobody made.
  for (const bad of ["z1.", "z1.!!!!", "z1.AAAA", "x", "%3Cscript%3E"]) {
    const odd = await context.newPage();
    odd.on("pageerror", (e) => errors.push(String(e)));
    await odd.goto(`${p.url}#${bad}`);
    await odd.waitForFunction(() => performance.getEntriesByName("zinc-source").length > 0);
    check(`the page opens with the link #${bad}`, (await odd.locator("#mil .row").count()) > 5);
    await odd.close();
    if (p.large) break;
  }

  // Back to what compiles.
  await page.locator("#revert").click();
  await page.waitForFunction(() => !document.querySelector("#mil .row.diag") && !document.querySelector("#answer.stale"), null, { timeout: slow });
  check("reverted", true);

  // Nothing but the server was asked, and the policy forbids it.
  check("requests to other hosts", strangers.length === 0, strangers.length);
  const blocked = await page.evaluate(() => fetch("http://127.0.0.1:9/").then(() => "answered", (e) => "refused"));
  check("the policy refuses other origins", blocked === "refused");
  const real = errors.filter((e) => !/127\.0\.0\.1:9\/|Content Security Policy|status of 409|status of 422/.test(e));
  check("errors in the console", real.length === 0, real.join("; "));
  await slowest(page);
  await context.close();
}

// look opens a page in another theme, pins a line, and compares: what is lit is lit in
// the theme's own colours, and text stands out from its ground.
async function look(p, scheme) {
  console.log(`${p.name}, ${scheme}`);
  const context = await patient({ colorScheme: scheme, viewport: { width: 1600, height: 950 } });
  const page = await context.newPage();
  const name = `${p.name}-${scheme}`;
  await page.goto(p.url);
  await filled(page);
  await times(page, "compiled before");
  await page.locator("#deep-toggle").click();
  await (await find(page, p.click)).click({ position: { x: 200, y: 9 } });
  await page.waitForFunction(() => document.querySelector("#panel-tasks .row.strong") && document.querySelector("#bytes .word.strong"));
  await page.waitForSelector("#answer ol.tasks li");
  check("the line is lit", (await lit(page, `${name}-mil-pinned`, "#mil", scheme)) > 300);
  await picture(page, `${name}-pinned`);
  const weakest = await page.evaluate(() => {
    const parse = (c) => c.match(/[\d.]+/g).slice(0, 3).map(Number);
    const lum = (c) => { const [r, g, b] = parse(c).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const ground = (n) => { for (; n; n = n.parentElement) { const c = getComputedStyle(n).backgroundColor; if (!/, 0\)$|transparent/.test(c)) return c; } return "rgb(255,255,255)"; };
    let worst = { ratio: 99, what: "" };
    for (const n of document.querySelectorAll(".row, .row span, #status, h1, h2, h3, #answer p, #answer b, #answer span, label span, button, .word, .at, .ascii")) {
      if (!n.textContent.trim() || n.disabled || n.offsetParent === null) continue;
      const a = lum(getComputedStyle(n).color), b = lum(ground(n));
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < worst.ratio) worst = { ratio, what: `${n.className || n.tagName} ${n.textContent.slice(0, 30)}` };
    }
    return worst;
  });
  check("contrast of text and ground is 4.5 or more", weakest.ratio >= 4.5, `${weakest.ratio.toFixed(1)} (${weakest.what.trim()})`);
  await context.close();
}

// answers is what a reader comes for, on the sample at 1200 px: each in at most three clicks, which are counted.
async function answers(url) {
  console.log("tasks of a reader, 1200 px");
  const context = await patient({ viewport: { width: 1200, height: 800 } });
  let page, clicks;
  const errors = [];
  const open = async () => {
    await page?.close();
    page = await context.newPage();
    page.on("pageerror", (e) => errors.push(String(e)));
    await page.goto(url);
    await page.waitForFunction(() => document.body.dataset.panes);
    await page.locator("#config select[name=model]").selectOption("sample");
    await page.waitForFunction(() => document.body.dataset.model === "sample" && document.body.dataset.panes && document.body.dataset.panes === document.body.dataset.key);
    clicks = 0;
  };
  const click = async (what, o) => { clicks++; await what.click(o); };
  const done = (what, ok, seen) => check(`${what}, clicks: ${clicks}`, ok && clicks <= 3, seen);
  const view = () => page.evaluate(async () => (await fetch(`api/view/${document.body.dataset.key}/cost`)).json());

  await open();
  const cost = await view();
  const slowest = Math.max(...cost.statements.map((s) => s.us));
  await click(page.locator("#slowest .go").first());
  await page.waitForSelector("#answer h2.title");
  const title = await page.locator("#answer h2.title").innerText(), tile = await page.locator("#answer .tile b").first().innerText();
  done("find the slowest statement", Number.parseFloat(tile) === Number((slowest >= 999.5 ? slowest / 1000 : slowest).toPrecision(3)) && (await page.locator("#mil .row.strong").count()) === 1, `${title}: ${tile}`);
  const shape = await page.locator("#mil .row.strong .shape").innerText();
  const seen = await page.evaluate(() => {
    const call = document.querySelector("#mil .row.strong .t-call").getBoundingClientRect(), pane = document.querySelector("#mil .body").getBoundingClientRect();
    return call.left > pane.left && call.right < pane.right;
  });
  check("the operation of the line is in sight, its type at the edge", seen && /^fp\d+ [\d\u00d7]+$/.test(shape), shape);
  await picture(page, "tasks-slowest");

  await open();
  check("a statement on the CPU says why in its line", /computes in fp16/.test((await page.locator("#mil .row .why").allTextContents()).join("; ")));
  await click(page.locator("#mil .row", { hasText: "matmul scores (" }), { position: { x: 200, y: 9 } });
  await page.waitForSelector("#why");
  done("why is this on the CPU", /computes in fp16/.test(await page.locator("#why").innerText()), (await page.locator("#why").innerText()).split("\n")[0]);
  await page.waitForSelector("#rewrites .card .primary", { timeout: slow });
  check("the rewrite says what it saves", /^Save /.test(await page.locator("#rewrites .card b").first().innerText()), await page.locator("#rewrites .card b").first().innerText());
  await picture(page, "tasks-why");

  await open();
  await click(page.locator("#generations button"));
  await page.waitForSelector("#generations .card", { timeout: slow });
  const chips = (await page.locator("#generations .card b").allInnerTexts()).join(" "), first = await page.locator("#generations .card .num").first().innerText();
  check("the generations have an estimate each", chips === "M1 M2 M3 M4 M5 M6" && first === (await page.locator("#total").innerText()), `${chips}: ${first}`);
  await picture(page, "tasks-generations");

  await open();
  await page.waitForSelector("#advice .primary", { timeout: slow });
  const promised = await page.locator("#advice .card b").first().innerText();
  const own = await page.evaluate(() => document.body.dataset.key);
  await click(page.locator("#advice .primary").first());
  await page.waitForSelector("#saving", { timeout: slow });
  const early = await page.locator("#saving").innerText();
  check("what it saves is known before its pair is built", (await page.evaluate(() => document.body.dataset.key)) === own, early.split("\n")[0]);
  await page.waitForFunction((k) => document.body.dataset.key !== k, own, { timeout: slow });
  await filled(page);
  const kept = await page.locator("#saving").innerText();
  check("and is what the compilation says", early === kept);
  const after = await view();
  const part = (text) => text.match(/[\d.]+ (?:ns|\u00b5s|ms|s) \([\d.]+ %\)/)?.[0];
  done("apply the rewrite and see what it saves", part(promised) === part(kept) && after.us < cost.us, kept.split("\n")[0]);
  check("the edited lines are marked", (await page.locator("#mil .row.edited").count()) > 1);
  await picture(page, "tasks-applied");

  clicks = 0;
  await click(page.locator("#compare-toggle"));
  await page.waitForSelector("#figures tbody tr", { timeout: slow });
  const figure = (await page.locator("#figures tbody tr").first().innerText()).replaceAll(/\s+/g, " ");
  done("what changed between two versions", /time of a call/.test(figure) && /matmul scores changed/.test((await page.locator("#compare .row.cause").allTextContents()).join()), figure);
  await picture(page, "tasks-compare");

  // The palette, by keys alone.
  await open();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("slowest");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#answer h2.title");
  check("the palette finds the slowest statement without a click", (await page.locator("#answer h2.title").innerText()) === title && clicks === 0);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("softmax weights");
  await picture(page, "palette");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /softmax/.test(document.querySelector("#answer h2.title")?.textContent));
  check("and a statement", true);

  // The graph, by keys alone.
  await page.keyboard.press("Escape");
  await page.locator("#graph svg").focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#graph .box.strong");
  check("keys choose a box of the graph", (await page.locator("#answer h2.title").count()) === 1, await page.locator("#answer h2.title").innerText());

  // Panes exchange their places, and close; the link has both.
  const box = (id) => page.locator(id).boundingBox();
  const before = await box("#answer");
  await page.locator("#panes-menu summary").click();
  await page.locator("#pane-answer button").first().click();
  await page.locator("#pane-mil input").click();
  const moved = await box("#answer"), graph = await box("#middle");
  check("a pane moves, and one closes", moved.x < before.x && graph.x > moved.x && !(await page.locator("#mil").isVisible()), `answer at ${before.x}, then ${moved.x}; graph at ${graph.x}`);
  const line = await box("#split-right");
  await page.mouse.move(line.x + 2, line.y + 100);
  await page.mouse.down();
  await page.mouse.move(line.x - 150, line.y + 100, { steps: 3 });
  await page.mouse.up();
  check("the line between two panes moves", (await box("#middle")).width > graph.width + 100, `${graph.width}, then ${(await box("#middle")).width}`);
  await picture(page, "panes");
  await page.waitForFunction(() => location.hash.length > 1);
  await page.waitForTimeout(400);
  const link = await context.newPage();
  await link.goto(page.url());
  await link.waitForFunction(() => document.body.dataset.panes);
  check("the link opens with the panes as they are", !(await link.locator("#mil").isVisible()) && (await link.locator("#answer").boundingBox()).x < before.x);
  await link.close();
  await page.locator("#pane-mil input").click();
  await page.locator("#pane-answer button").nth(1).click();
  await page.locator("#panes-menu summary").click();
  check("and back", (await page.locator("#mil").isVisible()) && (await box("#answer")).x > moved.x);

  // A run that takes long is cancelled, and says so.
  await page.keyboard.press("4");
  await page.route("**/run", async (r) => { await new Promise((f) => setTimeout(f, 3000)); await r.continue().catch(() => {}); });
  await page.locator("#run").click();
  await page.waitForFunction(() => !document.querySelector("#cancel").hidden && /Cancel running/.test(document.querySelector("#cancel").textContent));
  check("a run has progress and can be cancelled", (await page.locator("#progress").isVisible()) && /Cancel running/.test(await page.locator("#cancel").textContent()));
  await page.locator("#cancel").click();
  await page.waitForFunction(() => /cancelled/.test(document.querySelector("#outputs").textContent));
  check("and says that it was cancelled", true);
  for (const [w, scheme] of WIDTHS.flatMap((w) => [[w, "light"], [w, "dark"]])) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width: w, height: 950 });
    await page.keyboard.press("d");
    await page.waitForTimeout(150);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(`nothing is wider than the page at ${w} px, ${scheme}`, wide <= 0, wide);
    const cut = await page.evaluate(() => [...document.querySelectorAll("#answer .num, #answer b, #answer .figure")].filter((e) => e.offsetParent && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline").map((e) => e.textContent));
    check("and no number is cut", cut.length === 0, cut.join(", "));
    await picture(page, `sample-${w}-${scheme}`);
    await page.keyboard.press("d");
  }
  check("errors on the page", errors.length === 0, errors.join("; "));
  await context.close();
}

// The HTML report is a file of its own: it opens, draws, links its views, and asks for nothing else.
async function report(path, scheme) {
  console.log(`report.html, ${scheme}`);
  const context = await patient({ colorScheme: scheme, viewport: { width: 1200, height: 900 } });
  const page = await context.newPage();
  const url = pathToFileURL(path).href;
  const others = [], errors = [];
  page.on("request", (r) => { if (r.url() !== url) others.push(r.url()); });
  page.on("pageerror", (e) => errors.push(String(e)));
  page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
  await page.goto(url);
  check("the title names the model", (await page.title()) === "digits: zinc report", await page.title());
  for (const view of ["#map", "#line", "#roof"]) {
    const marks = await page.locator(`${view} svg .hit`).count();
    check(`${view} is drawn`, marks > 2, marks);
  }
  const rows = page.locator("#rows tbody tr");
  const all = await rows.count();
  check("a row for each operation", all === 8, all);

  // Sort by time: the largest first. A filter leaves the rows that have all its words.
  check("sorted by time", (await rows.first().textContent()).includes("conv3"), await rows.first().textContent());
  await page.locator("#find").fill("conv line 15");
  check("filtered", (await rows.count()) === 1, await rows.count());
  await page.locator("#find").fill("");

  // A dot of the roofline chooses a row, a row chooses a dot.
  await page.locator("#roof [data-op='3']").click();
  check("the roofline marks its row", await page.locator("#op-3.on").count() === 1);
  await page.locator("#torow").click();
  check("the link leads to the row", await page.locator("#op-3").evaluate((e) => {
    const b = e.getBoundingClientRect();
    return b.top >= 0 && b.bottom <= innerHeight;
  }));
  await page.locator("#op-6").click();
  check("a row marks the roofline", await page.locator("#roof [data-op='6'].on").count() === 1);
  check("a row marks the map", await page.locator("#map .on").count() === 1);
  await page.locator("#map .hit").first().click();
  check("the map marks a row", await page.locator("#rows tr.on").count() === 1);

  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await page.waitForTimeout(200);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(`no sideways scrolling at ${width} px`, over <= 0, over);
    await picture(page, `report-${scheme}-${width}`);
  }
  await page.setViewportSize({ width: 1200, height: 220 });
  await page.locator("#rows").evaluate((e) => scrollTo(0, e.getBoundingClientRect().top + scrollY + 60));
  const top = await page.locator("#rows th").first().evaluate((e) => e.getBoundingClientRect().top);
  check("the table's head stays in view", Math.abs(top) < 2, top);
  check("it asks for nothing else", others.length === 0, others.join(", "));
  check("no errors", errors.length === 0, errors.join("; "));
  await context.close();
}

// long opens the report of a large model, and prints when it is painted and what its views take.
async function long(path) {
  console.log(`report of ${statSync(path).size} bytes`);
  const context = await patient({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.goto(pathToFileURL(path).href);
  const paint = await page.evaluate(() => performance.getEntriesByType("paint").find((e) => e.name === "first-contentful-paint")?.startTime);
  console.log(`        first paint, load ${loadavg()[0].toFixed(1)}: ${Math.round(paint)} ms`);
  const rows = page.locator("#rows tbody tr"), first = await rows.count();
  await page.locator("#roof .hit").last().click(); // the smallest dot, which nothing is over
  const chosen = await rows.count();
  await page.locator("#close").click();
  await page.locator("#find").pressSequentially("conv");
  await page.locator("#find").fill("");
  await page.locator("#in").click();
  await page.locator("#fit").click();
  await page.locator("#rest").click();
  const all = await rows.count();
  check("the first rows, the one that was chosen, and more when asked for", first === 60 && chosen === 61 && all > chosen, `${first}, ${chosen}, ${all}`);
  for (const title of ["operation", "DMA"]) await page.locator("#rows th button", { hasText: title }).first().click();
  await rows.nth(5).click();
  await slowest(page);
  await context.close();
}

try {
  for (const scheme of ["light", "dark"]) await report(config.reports[0], scheme);
  for (const path of config.reports.slice(1)) await long(path);
  await answers(config.pages[0].url);
  for (const p of config.pages) {
    if (p.whole) await visit(p, p.themes[0]);
    for (const t of p.themes.slice(p.whole ? 1 : 0)) await look(p, t);
  }
} catch (e) {
  failures++;
  console.log(`  FAIL  ${e.stack}`);
}
await browser.close();

// What the browser's sockets did.
// The log is a JSON object written line by line: the constants, then an event a
// line. What stands behind the last event depends on how the browser ended.
const lines = readFileSync(netlog, "utf8").split("\n");
const constants = JSON.parse(lines[0].replace(/,\s*$/, "}")).constants;
const types = Object.fromEntries(Object.entries(constants.logEventTypes).map(([k, v]) => [v, k]));
const events = lines.slice(1).filter((l) => /^\{"(params|phase)/.test(l)).map((l) => JSON.parse(l.replace(/(,|\]\}|\],)?\s*$/, "")));
const of = (type) => events.filter((e) => types[e.type] === type && e.params);
const addresses = [...new Set(of("TCP_CONNECT_ATTEMPT").map((e) => e.params.address.replace(/:\d+$/, "")))];
const sent = of("UDP_BYTES_SENT").length;
check("the browser's connections stay on the machine", addresses.length > 0 && addresses.every((a) => /^127\.|^\[::1\]$/.test(a)), addresses.join(", "));
check("datagrams sent", sent === 0, sent);
console.log(failures === 0 ? "browser test passed" : `browser test: ${failures} failures`);
process.exit(failures === 0 ? 0 : 1);
