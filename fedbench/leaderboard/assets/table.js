// The table of all rows: filters, order, columns, pins and downloads, all of which the address holds.
"use strict";
(() => {
  const { say, make, copyText, state, bar, named, title, told } = window.fedbenchPage;
  const all = window.fedbenchPage.rows(), { kinds, documents } = window.fedbench;
  const PAGE = 100, MOST_PINS = 4, ALL = "*", NO_SYSTEM = "not compared";
  const byId = new Map(all.map((row) => [row.id, row]));
  const find = (id) => document.getElementById(id);
  const form = find("filters"), table = document.querySelector(".browse"), drawer = find("drawer");
  const unique = (values) => [...new Set(values)];
  const targets = unique(all.flatMap((row) => row.targets.map(([target]) => target))).sort((a, b) => a - b);
  const at = (row, target) => row.targets.find(([one]) => one === target);

  const spent = (row, value) => (row.solved === 0 ? null : value);
  /** By column: the value by which rows are sorted, where it is not the field of its name. */
  const VALUES = {
    algorithm: title, cost: (row) => spent(row, row.cost), regret: (row) => row.regret?.[0], in_set: (row) => (row.standing === "reference" || row.standing === "no board" ? null : row.in_set),
    gradients_to_targets: (row) => spent(row, row.gradients_to_targets), bytes_to_targets: (row) => spent(row, row.bytes_to_targets),
  };
  /** By column: what is shown, where it is more than a text. */
  const CELLS = {
    algorithm: (row) => make("a", { href: row.page }, named(row)), point: (row) => make("a", { href: row.point_page }, row.point),
    regret: (row) => make("span", {}, row.words.regret, bar(row)),
  };
  const COLUMNS = window.fedbench.columns.map((column) => ({
    ...column, value: (row) => (column.target === null ? (VALUES[column.name] ?? ((one) => one[column.name]))(row) : at(row, column.target)?.[2]) ?? null, cell: CELLS[column.name] ?? ((row) => told(row, column)),
  }));

  const WHERE = ["suite", "point", "options_kind", "system"]; // shown by themselves as soon as the rows differ in them

  // ---- the state ----

  const first = all[0];
  const DEFAULTS = {
    q: "", suite: first?.suite ?? "", point: first?.point ?? "", kind: first?.options_kind ?? "", system: all.find((row) => row.system !== NO_SYSTEM)?.system ?? "", family: "", memory: "",
    rules: "", validity: "", sort: "regret", order: "ascending", columns: COLUMNS.filter((one) => one.is_shown).map((one) => one.name).join(" "), pins: "",
  };
  let view = { ...DEFAULTS }, shown = [], limit = PAGE;

  /** What the address says, or the default: a star stands for no filter where the default is one. */
  function load() {
    view = { ...DEFAULTS };
    for (const [name, value] of Object.entries(state.read())) if (name in DEFAULTS) view[name] = value === ALL && DEFAULTS[name] !== "" ? "" : value;
    if (!COLUMNS.some((one) => one.name === view.sort)) view.sort = DEFAULTS.sort;
    if (view.order !== "descending") view.order = "ascending";
    view.pins = pins().join(" ");
  }

  function save() {
    const changed = Object.entries(view).filter(([name, value]) => value !== DEFAULTS[name]);
    state.write(Object.fromEntries(changed.map(([name, value]) => [name, value === "" ? ALL : value])));
  }

  const encode = (id) => encodeURIComponent(id).replaceAll("%20", "+"), decode = (text) => decodeURIComponent(text.replaceAll("+", "%20"));
  const pins = () => view.pins.split(" ").filter((text) => text && byId.has(safe(text))).slice(0, MOST_PINS);

  function safe(text) {
    try {
      return decode(text);
    } catch {
      return "";
    }
  }

  function matches(row) {
    const words = view.q.toLowerCase().split(/\s+/).filter(Boolean), text = `${title(row)} ${row.algorithm} ${row.options}`.toLowerCase();
    return words.every((word) => text.includes(word))
      && (!view.suite || row.suite === view.suite) && (!view.point || row.point === view.point)
      && (!view.kind || row.options_kind === view.kind) && (!view.family || row.family === view.family)
      && (!view.system || row.system === view.system)
      && (!view.memory || row.clients_remember === (view.memory === "yes"))
      && (!view.rules || String(row.rules) === view.rules)
      && (!view.validity || row.validity === "checked" || row.validity === "re-run-identical");
  }

  function ordered(rows) {
    const column = COLUMNS.find((one) => one.name === view.sort), sign = view.order === "ascending" ? 1 : -1;
    const keyed = rows.map((row, i) => [column.value(row), i, row]);
    keyed.sort(([a, i], [b, j]) => {
      if (a === null || b === null) return (a === null) - (b === null) || i - j; // what has no value stays last
      const difference = typeof a === "string" ? a.localeCompare(b) : a - b;
      return sign * difference || i - j;
    });
    return keyed.map(([, , row]) => row);
  }

  // ---- what is seen ----

  function fill() {
    shown = ordered(all.filter(matches));
    const chosen = ["algorithm", ...view.columns.split(" "), ...WHERE.filter((name) => unique(shown.map((row) => row[name])).length > 1)];
    const columns = COLUMNS.filter((one) => chosen.includes(one.name));
    head(columns);
    table.tBodies[0].replaceChildren(...shown.slice(0, limit).map((row) => line(row, columns)));
    const more = find("more");
    more.hidden = shown.length <= limit;
    more.textContent = `Show ${Math.min(PAGE, shown.length - limit)} more rows`;
    const mixed = new Set(shown.map((row) => `${row.scenario_hash} ${row.options_kind} ${row.suite} ${row.system}`)).size > 1;
    find("count").textContent = `${shown.length.toLocaleString("en")} of ${all.length.toLocaleString("en")} rows${mixed ? "; they are of several systems or points, between which nothing is compared" : ""}`;
    pinned();
    save();
  }

  function head(columns) {
    const cells = columns.map((column) => {
      const button = make("button", { type: "button" }, make("span", { className: "label" }, column.title, make("span", { className: "arrow", "aria-hidden": "true" })));
      button.dataset.column = column.name;
      const cell = make("th", { scope: "col", className: column.is_number ? "number" : "" }, button);
      if (column.name === view.sort) cell.setAttribute("aria-sort", view.order);
      return cell;
    });
    const focused = document.activeElement?.dataset?.column;
    table.tHead.rows[0].replaceChildren(make("th", { scope: "col" }, "Pin"), ...cells, make("th", { scope: "col" }, "More"));
    if (focused) table.tHead.querySelector(`[data-column="${CSS.escape(focused)}"]`)?.focus();
  }

  function line(row, columns) {
    const pin = make("input", { type: "checkbox", checked: pins().map(safe).includes(row.id) });
    pin.setAttribute("aria-label", `Pin ${row.algorithm} at ${row.point}, ${row.options_kind}`);
    pin.dataset.pin = row.id;
    const more = make("button", { type: "button" }, "Details");
    more.setAttribute("aria-label", `Details of ${row.algorithm} at ${row.point}, ${row.options_kind}`);
    more.dataset.row = row.id;
    const cells = columns.map((column) => {
      const cell = make(column.name === "algorithm" ? "th" : "td", { className: column.is_number ? "number" : "" }, column.cell(row));
      if (column.name === "algorithm") cell.scope = "row";
      if (column.name === "in_set" && row.in_set) cell.className = "is-best";
      cell.dataset.label = column.title;
      return cell;
    });
    return make("tr", {}, make("td", { className: "pin" }, pin), ...cells, make("td", {}, more));
  }

  function pinned() {
    const box = find("pinned"), ids = pins();
    box.hidden = !ids.length;
    const rows = ids.map((id) => byId.get(safe(id)));
    const chips = rows.map((row) => {
      const off = make("button", { type: "button" }, "×");
      off.setAttribute("aria-label", `Unpin ${row.algorithm} at ${row.point}, ${row.options_kind}`);
      off.dataset.unpin = row.id;
      return make("span", { className: "chip" }, `${row.algorithm} · ${row.point} · ${row.options_kind} `, off);
    });
    const link = make("a", { href: `compare.html#rows=${encodeURIComponent(ids.join(" "))}`, className: "go" }, `Compare ${ids.length}`);
    box.replaceChildren(...chips, ids.length > 1 ? link : make("span", { className: "soft" }, "Pin another one to compare"));
  }

  function pin(id, on) {
    const ids = pins().filter((one) => safe(one) !== id);
    if (on && ids.length >= MOST_PINS) {
      say(`At most ${MOST_PINS} rows can be pinned`);
      return false;
    }
    view.pins = (on ? [...ids, encode(id)] : ids).join(" ");
    pinned();
    save();
    say(on ? "Pinned" : "Unpinned");
    return true;
  }

  function open(row) {
    const fact = (name, value) => [make("dt", {}, name), make("dd", {}, value)];
    const code = (text) => make("code", {}, text);
    const copy = make("button", { type: "button", className: "copy" }, "Copy");
    copy.addEventListener("click", () => copyText(row.command, copy));
    const close = make("button", { type: "button", className: "close" }, "Close");
    close.addEventListener("click", () => drawer.close());
    const parts = [
      make("h2", { id: "drawer-title" }, `${title(row)} at ${row.point}, ${(kinds[row.options_kind] ?? row.options_kind).toLowerCase()}`),
      make("p", {}, `Time to the targets ${row.words.cost}; ratio to the best ${row.words.regret}; ${row.standing}; ${row.outcomes}.`),
      row.command ? make("p", { className: "command" }, code(row.command), copy) : null,
      row.command_needs ? make("p", { className: "soft" }, `${row.command ? "Needs " : ""}${row.command_needs}.`) : null,
      make("dl", { className: "drawer-facts" },
        ...fact("System", row.system), ...fact("Choice of options", row.marks.join("; ") || "nothing to remark"),
        ...fact("Validity", row.validity), ...fact("Scenario hash", code(row.scenario_hash)),
        ...fact("Commits", code(row.commits.join(", "))), ...fact("Trainer", row.trainers.join(", ")),
        ...fact("Seeds", row.seeds.join(", ")), ...fact("Options", code(row.options || "none")),
        ...fact("Digests of the results, one for each seed", code(row.digests.join(" ")))),
      make("p", {}, make("a", { href: row.page }, "All records of this row")), close,
    ];
    drawer.replaceChildren(...parts.filter((part) => part !== null));
    drawer.showModal();
  }

  // ---- what is taken away ----

  const PLAIN = ["id", "suite", "point", "factor", "algorithm", "options_kind", "system", "family", "public_data", "clients_remember", "rules", "budget_seconds", "cost", "is_bound", "solved", "in_set", "standing", "gradients_to_targets", "bytes_to_targets", "at_work", "accuracy", "accuracy_half_width", "final_accuracy", "worst_clients", "updates", "gradients", "steps", "bytes", "staleness", "busy", "wall_seconds", "outcomes", "validity", "scenario_hash", "options", "command"];

  function flat(row) {
    const found = Object.fromEntries(PLAIN.map((name) => [name, row[name]]));
    [found.regret, found.regret_low, found.regret_high] = row.regret ?? [null, null, null];
    for (const target of targets) {
      const one = at(row, target);
      found[`hits_${target}`] = one ? one[1] : null;
      found[`median_seconds_${target}`] = one ? one[2] : null;
    }
    return { ...found, marks: row.marks.join("; "), seeds: row.seeds.join(" "), commits: row.commits.join(" "), digests: row.digests.join(" ") };
  }

  const quoted = (value) => (value === null || value === undefined ? "" : /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));

  /** Of a column of Parquet: what all its values are; numbers are doubles, so a view never changes a type. */
  function kindOf(values) {
    const known = values.find((value) => value !== null && value !== undefined);
    return typeof known === "number" ? "DOUBLE" : typeof known === "boolean" ? "BOOLEAN" : "STRING";
  }

  const WRITE = {
    csv(rows) {
      const names = Object.keys(rows[0] ?? flat(all[0]));
      return [[names.join(","), ...rows.map((row) => names.map((name) => quoted(row[name])).join(","))].join("\n") + "\n", "text/csv"];
    },
    json: (rows) => [`${JSON.stringify(rows, null, 1)}\n`, "application/json"],
    parquet(rows) {
      const every = all.map(flat);
      const columnData = Object.keys(every[0]).map((name) => ({
        name, type: kindOf(every.map((row) => row[name])), nullable: true, data: rows.map((row) => row[name] ?? undefined),
      }));
      return [window.fedbenchParquet.parquetWriteBuffer({ columnData }), "application/vnd.apache.parquet"];
    },
  };

  function download(format) {
    const [content, type] = WRITE[format](shown.map(flat));
    const address = URL.createObjectURL(new Blob([content], { type }));
    const link = make("a", { href: address, download: `fedbench-rows.${format}` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    say(`${shown.length} rows as ${format}`);
  }

  // ---- how it begins ----

  function choices(name, values, everything = true) {
    const options = values.map(([value, title]) => make("option", { value }, title));
    form.elements[name].replaceChildren(...(everything ? [make("option", { value: "" }, "all")] : []), ...options);
  }

  function prepare() {
    const plain = (name) => unique(all.map((row) => row[name]).filter((value) => value !== null && value !== "")).map((value) => [String(value), String(value)]);
    choices("suite", Object.entries(documents));
    choices("kind", Object.entries(kinds));
    choices("family", plain("family"));
    choices("rules", plain("rules"));
    find("columns").append(...COLUMNS.slice(1).map((column) => {
      const box = make("input", { type: "checkbox", name: column.name });
      return make("label", {}, box, ` ${column.title}`);
    }));
  }

  /** The points and the systems of the chosen suite. */
  function ofSuite() {
    const rows = all.filter((row) => !view.suite || row.suite === view.suite);
    for (const name of ["point", "system"]) choices(name, unique(rows.map((row) => row[name])).map((value) => [value, value]));
  }

  /** Puts the state into the controls. */
  function show() {
    ofSuite();
    for (const name of ["q", "suite", "point", "kind", "system", "family", "memory", "rules", "validity"]) {
      form.elements[name].value = view[name];
      if (form.elements[name].value !== view[name]) form.elements[name].value = view[name] = "";
    }
    const names = view.columns.split(" ");
    find("columns").querySelectorAll("input").forEach((box) => { box.checked = names.includes(box.name); });
    fill();
  }

  form.addEventListener("input", (event) => {
    view[event.target.name] = event.target.value;
    limit = PAGE;
    if (event.target.name === "suite") show(); else fill();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    view = { ...DEFAULTS, pins: view.pins };
    show();
  });
  find("columns").addEventListener("change", () => {
    view.columns = [...find("columns").querySelectorAll("input:checked")].map((box) => box.name).join(" ");
    if (COLUMNS[0].is_shown) view.columns = `algorithm ${view.columns}`.trim();
    fill();
  });
  table.tHead.addEventListener("click", (event) => {
    const name = event.target.closest("button")?.dataset.column;
    if (!name) return;
    const column = COLUMNS.find((one) => one.name === name);
    view.order = view.sort !== name ? column.first : view.order === "ascending" ? "descending" : "ascending";
    view.sort = name;
    fill();
    say(`Sorted by ${column.title}, ${view.order}`);
  });
  table.tBodies[0].addEventListener("click", (event) => {
    const id = event.target.closest("button")?.dataset.row;
    if (id) open(byId.get(id));
  });
  table.tBodies[0].addEventListener("change", (event) => {
    if ("pin" in event.target.dataset && !pin(event.target.dataset.pin, event.target.checked)) event.target.checked = false;
  });
  find("pinned").addEventListener("click", (event) => {
    const id = event.target.closest("button")?.dataset.unpin;
    if (!id) return;
    pin(id, false);
    (find("pinned").querySelector("button") ?? find("rows")).focus();
    table.tBodies[0].querySelectorAll("input[data-pin]").forEach((box) => { if (box.dataset.pin === id) box.checked = false; });
  });
  find("more").addEventListener("click", () => { limit += PAGE; fill(); });
  document.querySelectorAll("[data-format]").forEach((button) => button.addEventListener("click", () => download(button.dataset.format)));
  find("link").addEventListener("click", (event) => copyText(location.href, event.currentTarget));
  window.addEventListener("hashchange", () => { load(); show(); });

  document.querySelector(".without-script").remove();
  for (const id of ["filters", "tools", "rows"]) find(id).hidden = false;
  prepare();
  load();
  show();
})();
