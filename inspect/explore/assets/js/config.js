// The form that says what is compiled and how: one in the header, one on each side
// of a comparison.

import { el, options } from "./dom.js";

const FIELDS = ["model", "version", "target", "precision", "place", "td_form", "constants", "function", "shapes"];

export class Config {
  // info is the answer to GET models; texts adds the choice between the text as
  // edited and the model's own.
  constructor(form, info, { texts = false, changed }) {
    this.info = info;
    this.selects = {};
    form.replaceChildren();
    form.addEventListener("submit", (e) => e.preventDefault());
    const add = (name, label) => {
      const select = el("select", {
        name,
        "aria-label": label,
        on: {
          change: () => {
            if (name === "model") this.functions();
            changed(name);
          },
        },
      });
      this.selects[name] = select;
      into.append(el("label", {}, el("span", { class: "dim", textContent: label }), select));
    };
    // What few change is folded.
    const more = el("div", { class: "more" });
    let into = form;
    add("model", "model");
    add("version", "zinc");
    add("target", "target");
    add("precision", "precision");
    if (texts) add("text", "text");
    form.append(el("details", { class: "settings" }, el("summary", { textContent: "More settings" }), more));
    into = more;
    add("place", "place");
    add("td_form", "tasks");
    add("constants", "constants");
    add("function", "function");
    options(
      this.selects.model,
      info.models.map((m) => m.name),
    );
    options(
      this.selects.version,
      info.versions.map((v) => ({
        value: v.name,
        label: v.running ? `${v.version} (this one)` : `${v.name} (${v.version.split(" ")[0]})`,
        title: `${v.name}: ${v.version}, writes programs for ${v.targets.join(", ")}`,
      })),
    );
    this.selects.version.parentElement.hidden = info.versions.length < 2;
    options(
      this.selects.target,
      info.targets.map((t) => ({ value: t.name, label: t.compiled ? t.name : `${t.name} (placement only)` })),
    );
    options(this.selects.precision, info.choices.precision);
    options(this.selects.place, info.choices.place);
    options(this.selects.td_form, info.choices.td_form);
    options(this.selects.constants, [
      { value: "split", label: "segments of their own" },
      { value: "join", label: "behind the tasks" },
    ]);
    // Shapes of flexible inputs are typed as NAME=DIMENSIONS.
    this.selects.shapes = el("input", {
      name: "shapes",
      spellcheck: false,
      autocomplete: "off",
      size: 18,
      "aria-label": "shapes of inputs",
      on: { change: () => changed("shapes") },
    });
    more.append(el("label", {}, el("span", { class: "dim", textContent: "shape" }), this.selects.shapes));
    if (texts) {
      options(this.selects.text, [
        { value: "own", label: "the model's own" },
        { value: "edited", label: "as edited" },
      ]);
    }
    this.functions();
  }

  model() {
    return this.info.models.find((m) => m.name === this.selects.model.value);
  }

  functions() {
    const fs = this.model()?.functions || [];
    options(this.selects.function, [{ value: "", label: "all" }, ...fs]);
    this.selects.function.parentElement.hidden = fs.length < 2;
    const shapes = Object.entries(this.model()?.shapes || {});
    const s = this.selects.shapes;
    s.parentElement.hidden = shapes.length === 0;
    s.placeholder = shapes.map(([n, d]) => `${n}=${d.join("x")}`).join(" ");
    s.title = `shapes instead of the defaults, such as ${s.placeholder}`;
    s.value = "";
  }

  // value is the choice by the names of the fields; request makes a body of it.
  value() {
    const out = {};
    for (const f of FIELDS) out[f] = this.selects[f].value;
    return out;
  }

  static request({ constants, text, shapes, ...rest }) {
    const out = { ...rest, join_constants: constants === "join" };
    for (const word of (shapes || "").split(/[\s,]+/).filter(Boolean)) {
      const m = word.match(/^(.+)=(\d{1,15}(?:x\d{1,15})*)$/);
      if (!m) throw new Error(`shape "${word}": want NAME=DIMENSIONS, such as x=1x3x224x224`);
      out.shapes = { ...out.shapes, [m[1]]: m[2].split("x").map(Number) };
    }
    return out;
  }

  // take sets the fields that a state names, as far as they are choices, and returns
  // those that are none.
  take(v) {
    const lost = [];
    if (!v || typeof v !== "object") return lost;
    for (const f of [...FIELDS, "text"]) {
      const s = this.selects[f];
      if (!s || typeof v[f] !== "string") continue;
      if (f === "shapes") {
        s.value = v[f].slice(0, 500);
        continue;
      }
      if (![...s.options].some((o) => o.value === v[f])) {
        lost.push(`${f === "version" ? "zinc" : f} ${v[f].slice(0, 60)}`);
      } else {
        s.value = v[f];
        if (f === "model") this.functions();
      }
    }
    return lost;
  }
}
