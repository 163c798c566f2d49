// Drops models on the page that make web writes, in headless Chromium. The one argument is a JSON object, see
// web_test.go. Exit status 1 when anything is not as it must be.

import { createRequire } from "node:module";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";

const config = JSON.parse(process.argv[2]);
const need = createRequire(join(config.modules, "node_modules", "x.js"));
const { chromium } = need("playwright-core");
mkdirSync(config.pictures, { recursive: true });

let failures = 0;
function check(what, ok, seen = "") {
  if (!ok) failures++;
  console.log(`  ${ok ? "ok   " : "FAIL "} ${what}${seen !== "" ? `: ${seen}` : ""}`);
}

const browser = await chromium.launch({
  executablePath: config.chromium, headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true });
context.setDefaultTimeout(600000);
const page = await context.newPage();
const strangers = [], errors = [];
context.on("request", (r) => { if (!/^(blob|data):/.test(r.url()) && !r.url().startsWith(config.url)) strangers.push(r.url()); });
page.on("pageerror", (e) => errors.push(String(e)));
page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
const cdp = await context.newCDPSession(page);

const requests = async () => (await fetch(`${config.url}requests`)).json();
const settled = () => page.waitForFunction(() => /works without a network/.test(document.getElementById("ready").textContent));
const done = (n) => page.waitForFunction((n) => Number(document.body.dataset.done || 0) >= n, n);
const times = () => page.evaluate(() => Number(document.body.dataset.done || 0));

// drop drops a file or a folder on the page, as a file manager does.
async function drop(...paths) {
  await page.evaluate(() => performance.clearMarks());
  const from = await page.evaluate(() => performance.now());
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"]) await cdp.send("Input.dispatchDragEvent", { type, x: 300, y: 150, data });
  return from;
}

// document_ is what the button for JSON saves.
async function document_() {
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#json").click()]);
  return readFileSync(await download.path(), "utf8");
}

async function choose(view) {
  const n = await times();
  await page.locator("select[name=view]").selectOption(view);
  await done(n + 1);
}

const axe = existsSync(join(config.modules, "node_modules", "axe-core")) ? readFileSync(need.resolve("axe-core"), "utf8") : "";
async function accessible(where) {
  if (!axe) return console.log("        axe-core is not there");
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await window.axe.run()).violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).slice(0, 3).join(", ")}`));
  check(`axe finds nothing ${where}`, found.length === 0, found.join("; "));
}

await page.goto(config.url);
await settled();
const loaded = (await requests()).length;
console.log(`        ${loaded} requests to load the page`);
await accessible("on the empty page");

for (const m of config.models) {
  console.log(m.name);
  const n = await times(), from = await drop(m.path);
  await page.waitForFunction(() => performance.getEntriesByName("zinc-answer").length > 0);
  const took = Math.round(await page.evaluate((from) => performance.getEntriesByName("zinc-answer")[0].startTime - from, from));
  // A limit is held where the machine has nothing else to do.
  const busy = loadavg()[0] > availableParallelism();
  check(`the first answer${m.most && !busy ? ` in ${m.most} ms` : ""}`, !m.most || busy || took < m.most, `${took} ms, load ${loadavg()[0].toFixed(1)}`);
  await done(n + 1);
  check("the report", (await page.locator("#rows tbody tr").count()) > 0, await page.locator("#status").textContent());
  for (const [view, file] of Object.entries(m.want)) {
    await choose(view);
    const got = await document_(), want = readFileSync(file, "utf8");
    check(`${view}: JSON as the command's`, got === want, `${got.length} bytes`);
  }
  if (m.want.lint) {
    const [saved] = await Promise.all([page.waitForEvent("download"), choose("convert")]);
    check("convert saves an archive", readFileSync(await saved.path(), "latin1").startsWith("PK"), saved.suggestedFilename());
  }
  if (m.explorer) {
    await choose("explore");
    const explorer = page.frameLocator("iframe");
    await explorer.locator("#total").filter({ hasText: /\d/ }).waitFor();
    check("the explorer's answer", true, await explorer.locator("#total").textContent());
    for (const [path, want] of Object.entries(m.explorer)) {
      const got = await page.evaluate(async (path) => (await window.zincFetch(path)).text(), path);
      check(`explore ${path.replace(/\w{24}/, "KEY")}: as the server's`, got === want, `${got.length} bytes`);
    }
    const link = await page.evaluate(() => window.zincLink());
    check("the link has the explorer's state", /state=./.test(link), `${link.length} characters`);
    await page.screenshot({ path: join(config.pictures, "web-explorer.png") });
  }
  await choose("check");
}
// When the explorer's document opens, the browser looks whether the service worker has changed.
const later = (await requests()).slice(loaded).filter((path) => path !== "/sw.js");
check("no request after load", later.length === 0, later.join(" "));

// Without a network the page opens again and answers.
await context.setOffline(true);
await page.reload();
await page.waitForFunction(() => /ready|works/.test(document.getElementById("ready").textContent));
const from = await drop(config.models[0].path);
await page.waitForFunction(() => performance.getEntriesByName("zinc-answer").length > 0);
check("it opens and answers without a network", true, `${Math.round(await page.evaluate((from) => performance.getEntriesByName("zinc-answer")[0].startTime - from, from))} ms`);
await context.setOffline(false);

check("no request to another host", strangers.length === 0, strangers.join(" "));
check("no error in the console", errors.length === 0, errors.join("; "));
await browser.close();
process.exit(failures ? 1 : 0);
