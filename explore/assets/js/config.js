// The form that says what is compiled and how: one in the header, one on each side
// of a comparison.

import { el, options } from "./dom.js";

const FIELDS = ["model", "target", "precision", "td_form", "constants", "function"];

export class Config {
  // info is the answer to GET models; texts adds the choice between the text as
  // edited and the model's own.
  constructor(form, info, { texts = false, changed }) {
    this.info = info;
    this.form = form;
    this.selects = {};
    form.replaceChildren();
    form.addEventListener("submit", (e) => e.preventDefault());
    const add = (name, label) => {
      const select = el("select", { name, "aria-label": label, on: { change: () => { if (name === "model") this.functions(); changed(name); } } });
      this.selects[name] = select;
      form.append(el("label", {}, el("span", { class: "dim", textContent: label }), select));
    };
    add("model", "model");
    add("target", "target");
    add("precision", "precision");
    add("td_form", "tasks");
    add("constants", "constants");
    add("function", "function");
    options(this.selects.model, info.models.map((m) => m.name));
    options(this.selects.target, info.targets.map((t) => ({ value: t.name, label: t.compiled ? t.name : `${t.name} (placement only)` })));
    options(this.selects.precision, info.choices.precision);
    options(this.selects.td_form, info.choices.td_form);
    options(this.selects.constants, [{ value: "split", label: "segments of their own" }, { value: "join", label: "behind the tasks" }]);
    if (texts) {
      add("text", "text");
      options(this.selects.text, [{ value: "edited", label: "as edited" }, { value: "own", label: "model's own" }]);
    }
    this.functions();
  }

  model() { return this.info.models.find((m) => m.name === this.selects.model.value); }

  functions() {
    const fs = this.model()?.functions || [];
    options(this.selects.function, [{ value: "", label: "all" }, ...fs]);
    this.selects.function.parentElement.hidden = fs.length < 2;
  }

  // value is the choice by the names of the fields; request makes a body of it.
  value() {
    const out = {};
    for (const f of FIELDS) out[f] = this.selects[f].value;
    return out;
  }

  static request({ constants, text, ...rest }) {
    return { ...rest, join_constants: constants === "join" };
  }

  // take sets the fields that a state names, as far as they are choices.
  take(v) {
    if (!v || typeof v !== "object") return;
    for (const f of [...FIELDS, "text"]) {
      const s = this.selects[f];
      if (s && typeof v[f] === "string" && [...s.options].some((o) => o.value === v[f])) {
        s.value = v[f];
        if (f === "model") this.functions();
      }
    }
  }
}
