// The state as a link: JSON, deflated, in the fragment, which no request carries.
// What a link says is data of a stranger: it is bounded and every value is checked
// by whoever takes it.

const MOST = 8 << 20; // characters of a state

async function through(stream, bytes, limit) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > limit) {
      await reader.cancel();
      throw new Error(`the link exceeds ${limit} bytes`);
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

export async function pack(state) {
  const packed = await through(
    new CompressionStream("deflate-raw"),
    new TextEncoder().encode(JSON.stringify(state)),
    MOST,
  );
  let s = "";
  for (let i = 0; i < packed.length; i += 4096) s += String.fromCharCode(...packed.subarray(i, i + 4096));
  return "z1." + btoa(s).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export async function unpack(fragment) {
  if (!fragment.startsWith("z1.")) return null;
  const raw = atob(fragment.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
  const text = new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes, MOST));
  const state = JSON.parse(text);
  return state && typeof state === "object" && !Array.isArray(state) ? state : null;
}

// change is what turns one list of lines into another: lines that both begin and
// end with are left out.
export function change(before, after) {
  let a = 0;
  while (a < before.length && a < after.length && before[a] === after[a]) a++;
  let b = 0;
  while (
    b < before.length - a &&
    b < after.length - a &&
    before[before.length - 1 - b] === after[after.length - 1 - b]
  )
    b++;
  if (a + b === before.length && before.length === after.length) return null;
  return { from: a, drop: before.length - a - b, put: after.slice(a, after.length - b) };
}

export function apply(before, c) {
  if (!c || !Number.isInteger(c.from) || !Number.isInteger(c.drop) || !Array.isArray(c.put)) return null;
  if (
    c.from < 0 ||
    c.drop < 0 ||
    c.from + c.drop > before.length ||
    !c.put.every((l) => typeof l === "string")
  )
    return null;
  return [...before.slice(0, c.from), ...c.put, ...before.slice(c.from + c.drop)];
}
