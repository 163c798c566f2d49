// The lines between panes, which move: with the pointer, or with the arrow keys.

import { $ } from "./dom.js";
import { paneIn } from "./panes.js";

const LEAST = 160; // px of a pane
const STEP = 40;

// splitters makes the two lines move. moved is called when one did.
export function splitters(moved) {
  const main = $("main");
  for (const [id, name, pane] of [
    ["split-left", "--left", () => paneIn("left")],
    ["split-right", "--right", () => paneIn("right")],
  ]) {
    const line = $(id);
    const set = (width) => {
      const most = main.clientWidth - 2 * LEAST;
      main.style.setProperty(name, `${Math.round(Math.max(LEAST, Math.min(width, most)))}px`);
      moved();
    };
    const by = id === "split-left" ? 1 : -1;
    line.addEventListener("pointerdown", (e) => {
      e.preventDefault();
      line.setPointerCapture(e.pointerId);
      const from = e.clientX,
        width = pane().clientWidth;
      const move = (m) => set(width + by * (m.clientX - from));
      line.addEventListener("pointermove", move);
      line.addEventListener("lostpointercapture", () => line.removeEventListener("pointermove", move), {
        once: true,
      });
    });
    line.addEventListener("keydown", (e) => {
      const d = { ArrowLeft: -STEP, ArrowRight: STEP }[e.key];
      if (!d) return;
      e.preventDefault();
      set(pane().clientWidth + by * d);
    });
    line.addEventListener("dblclick", () => {
      main.style.removeProperty(name);
      moved();
    });
  }
}

// widths is the state of the lines, and setWidths takes one.
export function widths() {
  const main = $("main");
  const of = (name) => parseInt(main.style.getPropertyValue(name), 10) || undefined;
  return { left: of("--left"), right: of("--right") };
}

export function setWidths(w) {
  if (!w || typeof w !== "object") return;
  for (const side of ["left", "right"]) {
    if (Number.isInteger(w[side]) && w[side] >= LEAST && w[side] <= 10000)
      $("main").style.setProperty(`--${side}`, `${w[side]}px`);
  }
}
