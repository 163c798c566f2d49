// node netron.mjs NETRON PACKAGE...: opens each package with the parser of a checkout of Netron, and prints its format and
// what it holds.
import * as fs from 'fs/promises';
import * as path from 'path';
import {pathToFileURL} from 'url';

const [root, ...packages] = process.argv.slice(2).map((name) => path.resolve(name));
const from = (name) => import(pathToFileURL(path.join(root, name)).href);
const [mock, node, view, zip, base] = await Promise.all(
  ['test/mock.js', 'source/node.js', 'source/view.js', 'source/zip.js', 'source/base.js'].map(from));
await zip.Archive.import();
const host = await new mock.Host({zoom: 'none'});
let bad = 0;
for (const folder of packages) {
  try {
    const entries = new Map();
    for (const f of await fs.readdir(folder, {recursive: true, withFileTypes: true})) {
      if (!f.isFile()) continue;
      const name = path.join(f.parentPath ?? f.path, f.name);
      const s = await fs.stat(name);
      entries.set(name, new node.FileStream(name, 0, s.size, s.mtimeMs));
    }
    const context = new mock.Context(host, folder, path.basename(folder), null, entries);
    const model = await new view.ModelFactoryService(host).open(context);
    let ops = 0, tensors = 0;
    for (const g of [...model.modules ?? [], ...model.graphs ?? [], ...model.functions ?? []]) {
      for (const n of g.nodes) {
        ops++;
        for (const a of n.inputs ?? []) for (const v of a.value ?? []) {
          if (!v?.initializer) continue;
          tensors++;
          // Netron does not read weight files for arguments that no const operation holds.
          if (v.initializer.values !== null) new base.Tensor(v.initializer).toString();
        }
      }
    }
    console.log(`${folder}: ${model.format}, ${ops} operations, ${tensors} tensors`);
  } catch (e) {
    bad++;
    console.log(`${folder}: ${e.message}`);
  }
}
process.exit(bad ? 1 : 0);
