// The file system that zinc sees in a worker, with the functions of node's fs that Go calls. It has the files that the
// reader dropped, and reads only the ranges that zinc requests; what zinc writes is in memory.

const AHEAD = 256 << 10; // bytes read at once around a small range: a record of a weight file is before its data
const FLAGS = { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 };

const fault = (code) => Object.assign(new Error(code), { code });
const words = (path) => path.split("/").filter((w) => w !== "" && w !== ".");

class Disk {
  constructor(files) {
    this.constants = FLAGS;
    this.root = { children: new Map() };
    this.handles = new Map(); // descriptors
    this.next = 3;
    this.inodes = 0;
    this.output = { 1: [], 2: [] };
    for (const [path, blob] of files) {
      const names = words(path), name = names.pop();
      let at = this.root;
      for (const n of names) {
        if (!at.children.has(n)) at.children.set(n, this.folder());
        at = at.children.get(n);
      }
      at.children.set(name, { ino: ++this.inodes, blob, size: blob.size, from: 0, ahead: new Uint8Array(0) });
    }
  }

  folder() {
    return { ino: ++this.inodes, children: new Map() };
  }

  // find returns the folder that a path is in, its name there, and what is there.
  find(path) {
    const names = [];
    for (const w of words(path)) {
      if (w === "..") names.pop();
      else names.push(w);
    }
    if (!names.length) return { at: null, name: "", node: this.root };
    const name = names.pop();
    let at = this.root;
    for (const n of names) {
      at = at.children.get(n);
      if (!at) throw fault("ENOENT");
      if (!at.children) throw fault("ENOTDIR");
    }
    return { at, name, node: at.children.get(name) };
  }

  node(path) {
    const { node } = this.find(path);
    if (!node) throw fault("ENOENT");
    return node;
  }

  // opened returns an open file, and where it is read next.
  opened(fd) {
    const handle = this.handles.get(fd);
    if (!handle) throw fault("EBADF");
    return handle;
  }

  // written lists the files that zinc wrote.
  written() {
    const out = [];
    const walk = (node, path) => {
      if (node.data) out.push([path, new Blob([node.data.subarray(0, node.size)])]);
      for (const [n, child] of node.children || []) walk(child, path ? `${path}/${n}` : n);
    };
    walk(this.root, "");
    return out;
  }

  // bytes returns a range of a node.
  bytes(node, from, length) {
    const end = Math.min(node.size, from + length);
    if (end <= from) return new Uint8Array(0);
    if (node.data) return node.data.subarray(from, end);
    const read = (a, b) => new Uint8Array(new FileReaderSync().readAsArrayBuffer(node.blob.slice(a, b)));
    if (end - from >= AHEAD) return read(from, end);
    if (from < node.from || end > node.from + node.ahead.length) {
      node.from = from;
      node.ahead = read(from, Math.min(node.size, from + AHEAD));
    }
    return node.ahead.subarray(from - node.from, end - node.from);
  }

  // Each of these is a call of node's fs without its callback.
  calls = {
    open: (path, flags) => {
      const { at, name, node } = this.find(path);
      let file = node;
      if (!file) {
        if (!(flags & FLAGS.O_CREAT)) throw fault("ENOENT");
        file = { ino: ++this.inodes, data: new Uint8Array(0), size: 0 };
        at.children.set(name, file);
      } else if (flags & FLAGS.O_EXCL) throw fault("EEXIST");
      else if (flags & FLAGS.O_DIRECTORY && !file.children) throw fault("ENOTDIR");
      if (flags & 3 && file.children) throw fault("EISDIR");
      if (flags & 3 && file.blob) throw fault("EACCES"); // what the reader dropped stays as it is
      if (flags & FLAGS.O_TRUNC) file.size = 0;
      this.handles.set(this.next, { file, pos: 0 });
      return this.next++;
    },
    close: (fd) => {
      this.opened(fd);
      this.handles.delete(fd);
    },
    read: (fd, buffer, offset, length, position) => {
      if (fd === 0) return 0;
      const o = this.opened(fd);
      if (o.file.children) throw fault("EISDIR");
      const part = this.bytes(o.file, position ?? o.pos, length);
      buffer.set(part, offset);
      if (position === null) o.pos += part.length;
      return part.length;
    },
    write: (fd, buffer, offset, length, position) => {
      const part = buffer.subarray(offset, offset + length);
      if (fd in this.output) return this.writeSync(fd, part);
      const o = this.opened(fd), at = position ?? o.pos, end = at + length;
      if (end > o.file.data.length) {
        const larger = new Uint8Array(Math.max(end, 2 * o.file.data.length));
        larger.set(o.file.data.subarray(0, o.file.size));
        o.file.data = larger;
      }
      o.file.data.set(part, at);
      o.file.size = Math.max(o.file.size, end);
      if (position === null) o.pos = end;
      return length;
    },
    fstat: (fd) => (fd < 3 ? this.about({ size: 0 }) : this.about(this.opened(fd).file)),
    stat: (path) => this.about(this.node(path)),
    lstat: (path) => this.about(this.node(path)),
    readdir: (path) => {
      const node = this.node(path);
      if (!node.children) throw fault("ENOTDIR");
      return [...node.children.keys()];
    },
    mkdir: (path) => {
      const { at, name, node } = this.find(path);
      if (node) throw fault("EEXIST");
      at.children.set(name, this.folder());
    },
    rename: (from, to) => {
      const a = this.find(from), b = this.find(to);
      if (!a.node) throw fault("ENOENT");
      a.at.children.delete(a.name);
      b.at.children.set(b.name, a.node);
    },
    link: (from, to) => {
      const b = this.find(to);
      b.at.children.set(b.name, this.node(from));
    },
    unlink: (path) => {
      const { at, name, node } = this.find(path);
      if (!node) throw fault("ENOENT");
      if (node.children) throw fault("EISDIR");
      at.children.delete(name);
    },
    rmdir: (path) => {
      const { at, name, node } = this.find(path);
      if (!node) throw fault("ENOENT");
      if (!node.children) throw fault("ENOTDIR");
      if (node.children.size) throw fault("ENOTEMPTY");
      at.children.delete(name);
    },
    fsync: () => undefined,
    fchmod: () => undefined,
    chmod: () => undefined,
    readlink: () => {
      throw fault("EINVAL"); // there are no links
    },
  };

  about(node) {
    const mode = node.children ? 0o40755 : 0o100644;
    return {
      dev: 1, ino: node.ino || 0, mode, nlink: 1, uid: 0, gid: 0, rdev: 0, size: node.size || 0, blksize: 4096,
      blocks: 0, atimeMs: 0, mtimeMs: 0, ctimeMs: 0, isDirectory: () => Boolean(node.children),
    };
  }

  // writeSync keeps what goes to standard output and standard error.
  writeSync(fd, buffer) {
    this.output[fd].push(buffer.slice());
    if (fd === 2) this.said?.(new TextDecoder().decode(buffer));
    return buffer.length;
  }
}

for (const name of ["open", "close", "read", "write", "fstat", "stat", "lstat", "readdir", "mkdir", "rename", "unlink",
  "rmdir", "fsync", "fchmod", "chmod", "readlink", "link", "symlink", "truncate", "ftruncate", "chown", "fchown",
  "lchown", "utimes"]) {
  Disk.prototype[name] = function (...args) {
    const done = args.pop();
    let result;
    try {
      if (!this.calls[name]) throw fault("ENOSYS");
      result = this.calls[name](...args);
    } catch (e) {
      if (!e.code || typeof e.code !== "string") e = fault("EIO");
      done(e);
      return;
    }
    done(null, result);
  };
}
