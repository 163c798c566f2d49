// zinc's programs, and commands that run in workers.

// installed resolves when the service worker has kept every file of the page, or there can be none.
export const installed = navigator.serviceWorker
  ? navigator.serviceWorker.register("sw.js").then(() => navigator.serviceWorker.ready).catch(() => null)
  : Promise.resolve(null);

// load compiles a program, kept or fetched. A server may have decompressed it, so its first bytes decide.
async function load(name) {
  const response = (await globalThis.caches?.match(name)) ?? (await fetch(name));
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  const bytes = await response.arrayBuffer();
  const packed = new Uint8Array(bytes, 0, 1)[0] === 0x1f;
  const body = packed ? new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")) : bytes;
  return WebAssembly.compileStreaming(new Response(body, { headers: { "Content-Type": "application/wasm" } }));
}

// The first program says what a call takes and where operations run; it is a fraction of the whole command.
export const first = load("first.wasm.gz");

// A browser compiles a function of a program when it is first called, and keeps it for every worker. So the first
// program answers for a small model before anybody asks.
const warmed = fetch("explore/sample.mil").then((r) => r.blob()).then((model) =>
  run(first, ["sample.mil", "h13", "declared"], [["sample.mil", model]])).catch(() => null);

export const whole = warmed.then(() => installed).then(() => load("zinc.wasm.gz"));

// A worker from a blob is bound by the page's own policy, which one from a file is not.
const source = fetch("worker.js").then((r) => r.blob()).then((b) => URL.createObjectURL(b));

// serve runs a command that serves, until the signal ends it, and returns a function like fetch that it answers.
export async function serve(program, args, files, { said, signal }) {
  const worker = new Worker(await source), waiting = new Map(); // by number of the request
  const start = Promise.withResolvers(), end = Promise.withResolvers();
  signal.addEventListener("abort", () => {
    worker.terminate();
    end.reject(signal.reason);
  });
  worker.onerror = (e) => end.reject(new Error(e.message));
  worker.onmessage = async ({ data }) => {
    if (data.said !== undefined) said(data.said);
    else if (data.serves) start.resolve();
    else if (data.id === undefined) end.reject(new Error((await data.err.text()).trim() || "zinc has ended"));
    else {
      waiting.get(data.id)(new Response(data.body, { status: data.status }));
      waiting.delete(data.id);
    }
  };
  worker.postMessage({ module: await program, args, files });
  await Promise.race([start.promise, end.promise]);
  let last = 0;
  return (path, { method = "GET", body = "", headers = {}, signal: own } = {}) => {
    const id = ++last, stopped = Promise.withResolvers(), answer = new Promise((f) => waiting.set(id, f));
    own?.addEventListener("abort", () => stopped.reject(own.reason)); // the answer comes all the same, and is dropped
    worker.postMessage({ id, method, path: `/${path}`, body, job: headers["X-Zinc-Job"] || "" });
    return Promise.race([answer, end.promise, stopped.promise]);
  };
}

// run runs a command on files and returns {status, out, err, files}; said gets what it says meanwhile. Aborting the
// signal ends it.
export async function run(program, args, files, { said, signal } = {}) {
  const worker = new Worker(await source);
  try {
    return await new Promise(async (done, fail) => {
      signal?.addEventListener("abort", () => fail(signal.reason));
      worker.onerror = (e) => fail(new Error(e.message));
      worker.onmessage = ({ data }) => (data.said === undefined ? done(data) : said?.(data.said));
      worker.postMessage({ module: await program, args, files });
    });
  } finally {
    worker.terminate();
  }
}
