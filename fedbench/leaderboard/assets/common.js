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

  /** The rows of data/rows.js as objects. */
  function rows() {
    const { fields, rows: lists } = window.fedbench;
    return lists.map((list) => Object.fromEntries(fields.map((field, i) => [field, list[i]])));
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

  const three = (value) => (value >= 99.5 ? value.toFixed(0) : value.toFixed(1));

  const digits3 = (value) => (Math.abs(value) >= 99.95 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3))));

  /** Three significant digits; whole numbers and large ones below a million in full; a letter for what is larger. */
  function number(value) {
    if (value === null || value === undefined) return "–";
    for (const [limit, letter] of [[1e12, " T"], [1e9, " G"], [999999.5, " M"]]) {
      if (Math.abs(value) >= limit) return digits3(value / Number(`1e${Math.round(Math.log10(limit))}`)) + letter;
    }
    return Number.isInteger(value) ? value.toLocaleString("en") : digits3(value);
  }

  function size(value) {
    if (value === null || value === undefined) return "–";
    for (const unit of ["B", "kB", "MB", "GB", "TB"]) {
      if (Math.abs(value) < 999.5) return `${Number(value.toPrecision(3))} ${unit}`;
      value /= 1000;
    }
    return `${Number(value.toPrecision(3))} PB`;
  }

  const percent = (value) => (value === null || value === undefined ? "–" : `${Math.round(100 * value)} %`);

  /** How a row stands, in words. */
  function standing(row) {
    if (row.seconds === null) return "no board";
    if (row.place === null) return "reference";
    if (row.solved === 0) return "no target";
    if (row.first && row.first_alike) return "first, also like for like";
    return row.first ? "first" : row.first_alike ? "first, like for like" : `behind, tie class ${row.place + 1}`;
  }

  /** A time with its interval; ≥ where misses count with the budget. */
  function time(row) {
    if (row.seconds === null) return "–";
    if (row.solved === 0) return "no target";
    const half = row.half_width === null ? "" : ` ± ${three(row.half_width)}`;
    return `${row.solved < 1 ? "≥ " : ""}${three(row.seconds)}${half} s`;
  }

  /** Where the scale of the bars of some rows ends. */
  const endOf = (several) => Math.max(1e-9, ...several.filter((row) => row.solved > 0).map((row) => row.seconds + (row.half_width ?? 0)));

  /** The same as a bar from 0 to the end of the scale. */
  function bar(row, end) {
    const wide = 96, x = (value) => 4 + (wide - 8) * Math.min(1, Math.max(0, value / end));
    const half = row.half_width ?? 0;
    return draw("svg", { class: "bar", width: wide, height: 10, "aria-hidden": "true" },
      draw("line", { class: "rule", x1: 4, x2: wide - 4, y1: 5, y2: 5 }),
      draw("line", { class: "range", x1: x(row.seconds - half), x2: x(row.seconds + half), y1: 5, y2: 5 }),
      draw("circle", { class: row.solved < 1 ? "dot hollow" : "dot", cx: x(row.seconds), cy: 5, r: 3 }));
  }

  document.querySelectorAll(".copy[data-copy]").forEach((button) => {
    button.addEventListener("click", () => copyText(button.dataset.copy, button));
  });

  return { say, make, draw, copyText, rows, state, three, number, size, percent, standing, time, endOf, bar };
})();
