// Files that the reader drops or chooses, and the models among them.

// dropped lists [path, file] of everything in a drop, with the files in folders.
export async function dropped(transfer) {
  const entries = [...transfer.items].map((i) => i.webkitGetAsEntry()).filter(Boolean);
  const out = [];
  const walk = async (entry, path) => {
    if (entry.isFile) {
      out.push([path, await new Promise((done, fail) => entry.file(done, fail))]);
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((done, fail) => reader.readEntries(done, fail));
      if (!some.length) return;
      for (const e of some) await walk(e, `${path}/${e.name}`);
    }
  };
  for (const e of entries) await walk(e, e.name);
  return out;
}

// chosen lists [path, file] of an input for files or a folder.
export const chosen = (input) => [...input.files].map((f) => [f.webkitRelativePath || f.name, f]);

// models returns the paths of the models among files: packages and compiled models as a whole, folders with a
// model.mil, other texts and specifications.
export function models(paths) {
  const found = new Set();
  for (const path of paths) {
    const names = path.split("/");
    const at = names.findIndex((n) => /\.ml(package|modelc)$/.test(n));
    if (at >= 0) found.add(names.slice(0, at + 1).join("/"));
    else if (names.length > 1 && names.at(-1) === "model.mil") found.add(names.slice(0, -1).join("/"));
    else if (/\.(mil|mlmodel)$/.test(path)) found.add(path);
  }
  return [...found];
}

const crcs = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

// zip packs [path, blob] into an archive without compression, for weights hardly compress.
export async function zip(files) {
  const parts = [], list = [];
  let at = 0;
  for (const [path, blob] of files) {
    const name = new TextEncoder().encode(path), bytes = new Uint8Array(await blob.arrayBuffer());
    let crc = -1;
    for (let i = 0; i < bytes.length; i++) crc = (crc >>> 8) ^ crcs[(crc ^ bytes[i]) & 255];
    const size = halves(bytes.length);
    const fields = [20, 0, 0, 0, 0x21, ...halves(~crc), ...size, ...size, name.length, 0];
    parts.push(Uint16Array.of(0x4b50, 0x0403, ...fields), name, blob);
    list.push(Uint16Array.of(0x4b50, 0x0201, 20, ...fields, 0, 0, 0, 0, 0, ...halves(at)), name);
    at += 30 + name.length + bytes.length;
  }
  const size = list.reduce((n, p) => n + p.byteLength, 0);
  const end = Uint16Array.of(0x4b50, 0x0605, 0, 0, files.length, files.length, ...halves(size), ...halves(at), 0);
  return new Blob([...parts, ...list, end], { type: "application/zip" });
}

// halves are the two halves of a 32-bit number.
const halves = (n) => [n & 0xffff, n >>> 16];
