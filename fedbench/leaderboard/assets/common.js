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

  const digits3 = (value) => (Math.abs(value) >= 99.95 ? Math.round(value).toLocaleString("en") : value.toPrecision(3));

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

  /** Halves go to the even number, as on the pages that are not made by scripts. */
  function percent(value) {
    if (value === null || value === undefined) return "–";
    const all = 100 * value, whole = Math.floor(all), rest = all - whole;
    return `${rest > 0.5 || (rest === 0.5 && whole % 2) ? whole + 1 : whole} %`;
  }

  /** Seconds with three digits: 0.45 s, 12 s, 1,234 s. */
  const seconds = (value) => (value === null || value === undefined ? "–" : `${digits3(value)} s`);

  /** What a row spends until it holds the targets; ≥ for a lower bound. `write` makes the text of a number. */
  function cost(row, value = row.cost, write = seconds) {
    if (row.solved === 0) return "no target";
    return value === null || value === undefined ? "–" : `${row.is_bound ? "≥ " : ""}${write(value)}`;
  }

  /** A ratio of costs with its interval: ≥ 1.24 [1.01, ∞]. An end that is 0 or null is not known. */
  function ratio(found) {
    if (!found) return "–";
    const [value, low, high] = found, two = (one) => one.toFixed(2);
    if (low === 0 && high === null) return two(value);
    const sign = high === null ? "≥ " : low === 0 ? "≤ " : "";
    return `${sign}${two(value)} [${two(low)}, ${high === null ? "∞" : two(high)}]`;
  }

  /** The regret of a row as a bar on the scale of all bars, logarithmic from 1/2 to 8; nothing without a regret. */
  function bar(row) {
    if (!row.regret) return null;
    const wide = 96, LOW = 0.5, HIGH = 8, [value, low, high] = row.regret, known = low > 0 || high !== null;
    const x = (one) => 4 + (wide - 8) * Math.log(Math.min(HIGH, Math.max(LOW, one)) / LOW) / Math.log(HIGH / LOW);
    return draw("svg", { class: "bar", width: wide, height: 10, "aria-hidden": "true" },
      draw("path", { class: "rule", d: `M4 5H${wide - 4}` }), draw("path", { class: "axis", d: `M${x(1)} 0V10` }),
      draw("path", { class: "range", d: `M${x(known ? low : value)} 5H${x(known ? high ?? HIGH : value)}` }),
      draw("circle", { class: known && high === null ? "dot hollow" : "dot", cx: x(value), cy: 5, r: 3 }));
  }

  /** Round numbers on a logarithmic axis: at least three, if there are so many. */
  function ticks(low, high) {
    const from = Math.floor(Math.log10(low)), powers = Array.from({ length: Math.ceil(Math.log10(high)) - from + 1 }, (_, i) => from + i);
    const round = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]].map((digits) => powers.flatMap((power) => digits.map((digit) => Number(`${digit}e${power}`))).filter((one) => low <= one && one <= high));
    return round.find((one) => one.length >= 4) ?? round.at(-1);
  }

  document.querySelectorAll(".copy[data-copy]").forEach((button) => {
    button.addEventListener("click", () => copyText(button.dataset.copy, button));
  });

  return { say, make, draw, copyText, named, title, rows, state, number, size, percent, seconds, cost, ratio, bar, ticks };
})();
