// What the scripts of all pages use.
"use strict";
window.fedbenchPage = (() => {
  const said = document.getElementById("said");

  /** Tells a screen reader. */
  function say(text) {
    said.textContent = text;
  }

  /** An element with properties and children; texts become text, never markup. */
  function make(tag, properties = {}, ...children) {
    const one = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in one && name !== "list") one[name] = value;
      else one.setAttribute(name, value);
    }
    one.append(...children.filter((child) => child !== null && child !== undefined));
    return one;
  }

  /** An element of a picture. */
  function draw(tag, attributes = {}, ...children) {
    const one = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    one.append(...children);
    return one;
  }

  async function copyText(text, button) {
    const label = button.firstChild, before = label.data;
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      (button.closest("dialog") || document.body).append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
      button.focus();
    }
    label.data = done ? "Copied" : "Cannot copy";
    say(done ? `Copied: ${text}` : "The browser does not allow copying");
    setTimeout(() => { label.data = before; }, 1500);
  }

  /** The full name of a row's algorithm beside its code name; the code name alone if it has no other. */
  function named(row) {
    const full = window.fedbench.names[row.algorithm];
    if (!full) return row.algorithm;
    return make("span", {}, make("span", { className: "full-name" }, full), " ", make("code", { className: "code-name" }, row.algorithm));
  }

  /** A row's name as text: the full name, with the code name if that has options; the code name if there is no other. */
  function title(row) {
    const full = window.fedbench.names[row.algorithm];
    return full && row.algorithm.includes("[") ? `${full} ${row.algorithm}` : full ?? row.algorithm;
  }

  /** The rows of data/rows.js as objects; `words` has by field what readers see. */
  function rows() {
    const { fields, rows: lists, words } = window.fedbench, said = Object.entries(words);
    return lists.map((list, i) => ({ ...Object.fromEntries(fields.map((field, j) => [field, list[j]])), words: Object.fromEntries(said.map(([field, texts]) => [field, texts[i]])) }));
  }

  /** What a row says in a column, as text. */
  function told(row, { name, target }) {
    if (target === null) return row.words[name] ?? String(row[name] ?? "–");
    return row.words.targets[row.targets.findIndex(([one]) => one === target)] ?? "–";
  }

  /** The state that the address holds, and how to put it there. */
  const state = {
    read: () => Object.fromEntries(new URLSearchParams(location.hash.slice(1))),
    write(values) {
      const kept = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
      const text = `#${new URLSearchParams(kept)}`;
      if (text !== (location.hash || "#")) history.replaceState(null, "", text);
    },
  };

  /** The regret of a row as a bar, as on the other pages; nothing without a regret. */
  function bar(row) {
    if (!row.bar) return null;
    const [width, height, tick] = window.fedbench.bar, [range, dot, cx] = row.bar;
    return draw("svg", { class: "bar", width, height, "aria-hidden": "true" },
      draw("path", { class: "rule", d: `M4 5H${width - 4}` }), draw("path", { class: "axis", d: `M${tick} 0V${height}` }),
      draw("path", { class: "range", d: range }), draw("circle", { class: dot, cx, cy: 5, r: 3 }));
  }

  document.querySelectorAll(".copy[data-copy]").forEach((button) => {
    button.addEventListener("click", () => copyText(button.dataset.copy, button));
  });

  return { say, make, draw, copyText, named, title, rows, told, state, bar };
})();
