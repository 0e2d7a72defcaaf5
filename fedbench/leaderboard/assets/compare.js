// Two to four rows side by side, and the ratios of their costs.
"use strict";
(() => {
  const { make, draw, state, bar, say, named, title, told } = window.fedbenchPage;
  const all = window.fedbenchPage.rows(), byId = new Map(all.map((row) => [row.id, row]));
  const { kinds, columns, ticks } = window.fedbench;
  const box = document.getElementById("comparison"), form = document.getElementById("choose"), MOST = 4;
  let ids = [];
  box.tabIndex = -1; // it takes the focus when a button in it goes

  const decode = (text) => {
    try {
      return decodeURIComponent(text.replaceAll("+", "%20"));
    } catch {
      return "";
    }
  };
  const encode = (id) => encodeURIComponent(id).replaceAll("%20", "+");
  const known = (texts) => [...new Set(texts.map(decode))].filter((id) => byId.has(id)).slice(0, MOST);

  const options = (row) => Object.fromEntries(row.options.split(" ").filter(Boolean).map((one) => [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)]));

  const HEAD = ["algorithm", "suite", "point", "options_kind", "options"]; // columns that the heads and the options have

  function facts(rows) {
    const names = [...new Set(rows.flatMap((row) => Object.keys(options(row))))].sort();
    const shown = columns.filter(({ name, target }) => !HEAD.includes(name) && (target === null || rows.some((row) => row.targets.some(([one]) => one === target))));
    return [
      ...shown.map((column) => [column.title, (row) => (column.name === "regret" ? make("span", {}, row.words.regret, bar(row)) : told(row, column))]),
      ["Choice of options", (row) => row.marks.join("; ") || "–"], ["Seeds", (row) => `${row.seeds.length}`],
      ["Scenario", (row) => make("code", {}, row.scenario_hash)], ["Command", (row) => make("code", {}, row.command ?? "none")],
      ...names.map((name) => [name, (row) => options(row)[name] ?? "–", true]),
    ];
  }

  function sideBySide(rows) {
    const head = rows.map((row) => {
      const off = make("button", { type: "button" }, "×");
      off.setAttribute("aria-label", `Take ${row.id} away`);
      off.addEventListener("click", () => { ids = ids.filter((id) => id !== row.id); show(); box.focus(); });
      return make("th", { scope: "col" }, make("a", { href: row.page }, named(row)), " ", off, make("small", {}, `${row.point}, ${(kinds[row.options_kind] ?? row.options_kind).toLowerCase()}, ${row.suite}`));
    });
    const lines = facts(rows).map(([name, cell, isOption]) => {
      const texts = rows.map((row) => cell(row));
      const differs = isOption && new Set(texts).size > 1;
      return make("tr", { className: differs ? "differs" : "" }, make("th", { scope: "row" }, isOption ? make("code", {}, name) : name), ...texts.map((text) => make("td", {}, text)));
    });
    return make("div", { className: "scroll", role: "region", tabIndex: 0, ariaLabel: "Side by side" },
      make("table", { className: "rows side" }, make("caption", { className: "hidden" }, "Side by side"), make("thead", {}, make("tr", {}, make("td"), ...head)), make("tbody", {}, ...lines)));
  }

  /** One pair in words. The interval is that of the pair on its board, as if no other had been looked at. */
  function difference(a, b) {
    const who = (row) => `${title(row)} (${row.options_kind})`, sides = `${who(a)} ${a.words.cost}, ${who(b)} ${b.words.cost}`;
    if (a.scenario_hash !== b.scenario_hash) return `${who(a)} at ${a.point} and ${who(b)} at ${b.point}: of different scenarios. Seconds are never compared between them.`;
    if (a.standing === "no board" || b.standing === "no board") return `${sides}: no table has both.`;
    if (a.system !== b.system || a.standing === "reference") {
      const why = [a, b].some((row) => row.system.includes("unknown number")) ? "Whether they differ in what they are given is not known."
        : "They differ in what they are given, so the cheaper one need not be the better algorithm.";
      return `${sides}: they are not compared, since ${who(a)} has ${a.system === "not compared" ? "no system" : a.system}, ${who(b)} ${b.system === "not compared" ? "none" : b.system}. ${why}`;
    }
    if (a.suite !== b.suite || a.options_kind !== b.options_kind) return `${sides}: they are in different tables, so there is no interval here. The command fedbench compare computes one.`;
    if (a.solved === 0 && b.solved === 0) return `${who(a)} and ${who(b)}: neither reaches a target.`;
    const [verdicts, ratios] = a.against, i = all.indexOf(b) - all.indexOf(a) - 1, ratio = `${who(a)} / ${who(b)} ${ratios[i]}`;
    if (!ratios[i]) return `${sides}: no verdict, every target is reached within ten steps of the evaluation grid.`;
    if (verdicts[i] === "o") return `${sides}; ${ratio}. The seeds, or what was missed, leave open which one costs less.`;
    return `${sides}: ${{ f: `${who(a)} costs less`, s: `${who(b)} costs less`, t: "cannot be told apart" }[verdicts[i]]}; ${ratio}.`;
  }

  function differences(rows) {
    const ordered = [...rows].sort((a, b) => all.indexOf(a) - all.indexOf(b)); // a row has its ratios to those that follow it
    const pairs = ordered.flatMap((a, i) => ordered.slice(i + 1).map((b) => [a, b]));
    return [
      make("h2", {}, "Which one costs less"),
      make("p", { className: "caption" }, "Times are virtual seconds until the targets are reached. Ratios are paired over seeds; brackets are 95 % intervals of one pair alone. You chose the rows, so a difference that looks the largest among many is overstated."),
      make("ul", { className: "sentences" }, ...pairs.map(([a, b]) => make("li", {}, difference(a, b)))),
    ];
  }

  // ---- curves, which come in a script for each point ----

  const waiting = new Map();
  window.fedbenchCurves = (key, curves) => waiting.get(key)?.resolve(curves);

  function curvesOf(row) {
    const key = `${row.suite}/${row.point}`;
    if (!waiting.has(key)) {
      const one = {};
      one.promise = new Promise((resolve, reject) => Object.assign(one, { resolve, reject }));
      waiting.set(key, one);
      const script = make("script", { src: row.point_page.replace(/^(.*)\.html$/, "data/curves/$1.js") });
      script.addEventListener("error", () => one.reject(new Error(`${script.src} is missing`)));
      document.head.append(script);
    }
    return waiting.get(key).promise;
  }

  const HIGH = 320, LEFT = 48, RIGHT = 18, TOP = 10, BOTTOM = 40, DASHES = ["none", "7 3", "2 3", "9 3 2 3"];

  /** The last place at which a curve has its first value, from which something happens; half of the next one if that is 0. */
  function begins({ at, mean }) {
    const moved = mean.findIndex((value) => Math.abs(value - mean[0]) > 0.02), before = at[Math.max(0, (moved < 0 ? mean.length : moved) - 1)];
    return before > 0 ? before : (at.find((place) => place > 0) ?? 1) / 2;
  }

  async function picture(rows) {
    const WIDE = Math.max(320, Math.min(1080, box.clientWidth));
    const found = await Promise.all(rows.map(async (row) => (await curvesOf(row))[`${row.algorithm}/${row.options_kind}`]));
    const lines = found.map((curve, i) => ({ curve, row: rows[i] })).filter(({ curve }) => curve?.at.length);
    if (!lines.length) return null;
    const end = Math.max(...lines.map(({ curve }) => curve.at.at(-1))) || 1, start = Math.min(end / 10, ...lines.map(({ curve }) => begins(curve)));
    const values = lines.flatMap(({ curve }) => curve.mean.filter((_, i) => curve.at[i] >= start));
    const low = Math.max(0, Math.floor(Math.min(...values) * 20) / 20), high = Math.min(1, Math.ceil(Math.max(...values) * 20) / 20);
    const x = (value) => LEFT + (WIDE - LEFT - RIGHT) * Math.log(Math.max(value, start) / start) / Math.log(end / start);
    const y = (value) => TOP + (HIGH - TOP - BOTTOM) * (1 - (Math.min(high, Math.max(low, value)) - low) / (high - low || 1));
    const path = (at, there) => at.map((one, i) => `${x(one).toFixed(1)},${y(there[i]).toFixed(1)}`).join("L");
    const svg = draw("svg", { class: "side-chart", width: WIDE, height: HIGH, viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `Mean test accuracy against virtual time: ${lines.map(({ row, curve }) => `${title(row)} ends at ${curve.mean.at(-1).toFixed(3)}`).join(", ")}` });
    const step = high - low > 0.5 ? 0.2 : 0.1;
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9; i += 1) {
      const tick = draw("text", { x: LEFT - 6, y: y(i * step), dy: ".32em", "text-anchor": "end" });
      tick.textContent = (i * step).toFixed(1);
      svg.append(draw("line", { class: "rule", x1: LEFT, x2: WIDE - RIGHT, y1: y(i * step), y2: y(i * step) }), tick);
    }
    const inside = ticks.map((round) => round.filter(([place]) => start <= place && place <= end));
    for (const [place, text] of inside.find((round) => round.length >= 4) ?? inside.at(-1)) {
      const tick = draw("text", { x: x(place), y: HIGH - BOTTOM + 16, "text-anchor": "middle" });
      tick.textContent = text;
      svg.append(draw("line", { class: "rule", x1: x(place), x2: x(place), y1: TOP, y2: HIGH - BOTTOM }), tick);
    }
    const name = draw("text", { x: WIDE / 2, y: HIGH - 6, "text-anchor": "middle" });
    name.textContent = "virtual time (s), logarithmic";
    svg.append(name);
    lines.forEach(({ curve }, i) => {
      const side = (sign, ends) => curve.mean.map((value, i) => ends?.[i] ?? value + sign * (curve.half?.[i] ?? 0));
      svg.append(draw("path", { class: `band s${i}`, d: `M${path(curve.at, side(1, curve.high))}L${path([...curve.at].reverse(), side(-1, curve.low).reverse())}Z` }));
      svg.append(draw("path", { class: `line s${i}`, "stroke-dasharray": DASHES[i], d: `M${path(curve.at, curve.mean)}` }));
    });
    const keys = lines.map(({ row }, i) => {
      const swatch = draw("svg", { class: "swatch", width: 34, height: 10, "aria-hidden": "true" }, draw("line", { class: `line s${i}`, x1: 1, x2: 33, y1: 5, y2: 5, "stroke-dasharray": DASHES[i] }));
      return make("li", {}, swatch, ` ${title(row)}, ${row.point}, ${row.options_kind}`);
    });
    return make("figure", {}, svg, make("ul", { className: "keys" }, ...keys), make("figcaption", {}, "Mean test accuracy over seeds, with its 95 % interval from five seeds on."));
  }

  async function show() {
    state.write({ rows: ids.map(encode).join(" ") });
    const rows = ids.map((id) => byId.get(id));
    form.querySelector("input").disabled = form.querySelector("button").disabled = rows.length >= MOST;
    if (!rows.length) {
      box.replaceChildren(make("p", { className: "soft" }, "Pin rows in the ", make("a", { href: "table.html" }, "table"), ", or choose them here."));
      return;
    }
    const place = make("div");
    box.replaceChildren(...(rows.length > 1 ? differences(rows) : [make("p", { className: "soft" }, "Add another row to compare.")]), place, make("h2", {}, "Side by side"), sideBySide(rows));
    say(`${rows.length} rows`);
    try {
      const drawn = await picture(rows);
      if (drawn) place.replaceChildren(drawn);
    } catch (error) {
      place.replaceChildren(make("p", { className: "soft" }, `No curves: ${error.message}.`));
    }
  }

  function load() {
    ids = known((state.read().rows ?? "").split(" "));
    show();
  }

  form.querySelector("datalist").append(...all.map((row) => make("option", { value: row.id })));
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const id = form.elements.row.value;
    if (!byId.has(id)) {
      say(`There is no row ${id}`);
      form.elements.row.setCustomValidity("There is no such row");
      form.elements.row.reportValidity();
      return;
    }
    if (!ids.includes(id)) ids = [...ids, id].slice(0, MOST);
    form.reset();
    show();
  });
  form.elements.row.addEventListener("input", () => form.elements.row.setCustomValidity(""));
  window.addEventListener("hashchange", load);
  load();
})();
