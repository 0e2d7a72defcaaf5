// A scenario's page: sorting its table, reading its curves, and which of them stand out.
"use strict";
(() => {
  const { say } = window.fedbenchPage;
  const MOST_BOLD = 8;

  const value = (row, column) => {
    const text = row.cells[column].dataset.sort;
    return text === "" ? null : text;
  };

  function sort(button) {
    const head = button.closest("th"), table = button.closest("table"), body = table.tBodies[0];
    const column = head.cellIndex, numeric = head.classList.contains("number");
    const now = head.getAttribute("aria-sort");
    const order = now ? (now === "ascending" ? "descending" : "ascending") : button.dataset.first;
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...body.rows].sort((a, b) => {
      const x = value(a, column), y = value(b, column);
      if (x === null || y === null) return (x === null) - (y === null); // what has no value stays last
      return sign * (numeric ? Number(x) - Number(y) : x.localeCompare(y));
    });
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    body.append(...rows);
    say(`Sorted by ${head.querySelector(".label").textContent}, ${order}`);
  }

  const WIDE = 10000, UNIT = 1e-4; // as in pictures/chart.py

  /** The points of a drawn line: what is in the picture is all that there is to read. The path is a place and steps from there. */
  function points(path, high) {
    const numbers = path.getAttribute("d").match(/-?\d+/g).map(Number), found = [];
    for (let i = 0, x = 0, y = 0; i + 1 < numbers.length; i += 2) {
      [x, y] = [x + numbers[i], y + numbers[i + 1]];
      found.push({ x, mean: high - UNIT * y });
    }
    return found;
  }

  function chart(figure) {
    const svg = figure.querySelector(".chart"), cross = svg.querySelector(".cross"), at = figure.querySelector("output");
    const lines = new Map([...svg.querySelectorAll(".line")].map((path) => [path.dataset.name, path]));
    const keys = [...figure.querySelectorAll(".key")];
    const { from, end, high, unit } = svg.dataset;
    const series = keys.map((key) => points(lines.get(key.dataset.name), Number(high)));
    const grid = [...new Set(series.flat().map((point) => point.x))].sort((a, b) => a - b);
    let place = null;

    /** A place of the logarithmic axis in words. */
    function told(x) {
      const value = Number((from * (end / from) ** (x / WIDE)).toPrecision(3)), power = unit === "B" ? Math.floor(Math.log10(Math.max(1, value)) / 3) : 0;
      return `${Number((value / 1000 ** power).toPrecision(3)).toLocaleString("en")} ${unit === "B" ? ["B", "kB", "MB", "GB", "TB", "PB"][power] : unit}`;
    }

    function show(index) {
      place = index;
      const here = index === null ? null : grid[index];
      cross.setAttribute("visibility", here === null ? "hidden" : "visible");
      if (here !== null) for (const x of ["x1", "x2"]) cross.setAttribute(x, `${(100 * here) / WIDE}%`);
      at.textContent = here === null ? at.dataset.rest : `at ${told(here)}`;
      keys.forEach((key, i) => {
        const shown = key.querySelector(".value"), one = series[i];
        const newest = here > one.at(-1).x ? -1 : one.findLastIndex((point) => point.x <= here); // the newest evaluation
        shown.textContent = here === null ? shown.dataset.rest : newest < 0 ? "–" : one[newest].mean.toFixed(3);
      });
    }

    function nearest(event) {
      const box = svg.getBoundingClientRect(), here = ((event.clientX - box.left) / box.width) * WIDE;
      let best = 0;
      grid.forEach((place, i) => { if (Math.abs(place - here) < Math.abs(grid[best] - here)) best = i; });
      show(best);
    }

    function bring(key, on) {
      const path = lines.get(key.dataset.name);
      key.setAttribute("aria-pressed", String(on));
      path.classList.toggle("context", !on);
      svg.querySelectorAll(".band").forEach((band) => { if (band.dataset.name === key.dataset.name) band.classList.toggle("off", !on); });
      if (on) path.parentNode.append(path); // in front of the others
    }

    svg.addEventListener("pointermove", nearest);
    svg.addEventListener("pointerdown", nearest);
    svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") show(null); });
    svg.addEventListener("blur", () => show(null));
    svg.addEventListener("keydown", (event) => {
      const last = grid.length - 1, from = place === null ? last : place;
      const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last }[event.key];
      if (event.key === "Escape") show(null);
      if (to === undefined) return;
      event.preventDefault();
      show(Math.max(0, Math.min(last, to)));
      say(`${at.textContent}: ${keys.map((key) => `${key.dataset.name} ${key.querySelector(".value").textContent}`).join(", ")}`);
    });
    keys.forEach((key) => {
      const focus = (on) => lines.forEach((path, name) => path.classList.toggle("faint", on && name !== key.dataset.name));
      key.addEventListener("pointerenter", () => focus(true));
      key.addEventListener("pointerleave", () => focus(false));
      key.addEventListener("click", () => {
        const on = key.getAttribute("aria-pressed") !== "true";
        if (on && keys.filter((one) => one.getAttribute("aria-pressed") === "true").length >= MOST_BOLD) {
          say(`At most ${MOST_BOLD} lines stand out; put one back first`);
          return;
        }
        bring(key, on);
        say(`${key.dataset.name} ${on ? "stands out" : "is in the background"}`);
      });
    });
  }

  document.querySelectorAll(".sorter select").forEach((select) => select.addEventListener("change", () => {
    const heads = select.closest("section").querySelector(".results").tHead.rows[0].cells;
    sort(heads[Number(select.value)].querySelector("button"));
  }));
  document.querySelectorAll(".results thead button").forEach((button) => button.addEventListener("click", () => sort(button)));
  document.querySelectorAll("figure").forEach((figure) => { if (figure.querySelector(".legend")) chart(figure); });
})();
