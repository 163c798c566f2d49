// Runs one zinc command on files. The message is {module, args, files}; the answer {status, out, err, files}, with
// {said} before it for each text on standard error. A command that serves says {serves}, and then answers messages
// {id, method, path, body, job} with {id, status, body}.

let serve;
globalThis.zincServe = (f) => {
  serve = f;
  postMessage({ serves: true });
};

onmessage = ({ data }) => {
  if (data.id === undefined) run(data);
  else serve(data.method, data.path, data.body, data.job, (status, body) => postMessage({ id: data.id, status, body }));
};

async function run({ module, args, files }) {
  const disk = new Disk(files);
  disk.said = (text) => postMessage({ said: text });
  globalThis.fs = disk;
  globalThis.process = { ...process, cwd: () => "/" };
  const go = new Go();
  let status = 0;
  go.exit = (code) => (status = code);
  go.argv = ["zinc", ...args];
  go.env = { HOME: "/", TMPDIR: "/", ZINC_CACHE: "off" };
  const text = (fd) => new Blob(disk.output[fd]);
  try {
    await go.run(await WebAssembly.instantiate(module, go.importObject));
  } catch (e) {
    postMessage({ status: 3, out: text(1), err: new Blob([...disk.output[2], String(e)]), files: [] });
    return;
  }
  postMessage({ status, out: text(1), err: text(2), files: disk.written() });
}
