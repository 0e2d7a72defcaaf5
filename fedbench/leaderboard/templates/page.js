"use strict";
(() => {
  const said = document.getElementById("said");

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
    said.textContent = `Sorted by ${head.querySelector(".label").textContent}, ${order}`;
  }

  async function copy(button) {
    const text = button.dataset.copy, label = button.firstChild, before = label.data;
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
      button.focus();
    }
    label.data = done ? "Copied" : "Cannot copy";
    said.textContent = done ? `Copied: ${text}` : "The browser does not allow copying";
    setTimeout(() => { label.data = before; }, 1500);
  }

  function chart(figure) {
    const svg = figure.querySelector(".chart"), cross = svg.querySelector(".cross"), at = figure.querySelector("output");
    const series = JSON.parse(figure.querySelector(".points").textContent);
    const keys = [...figure.querySelectorAll(".key")], shapes = [...svg.querySelectorAll("[data-name]")];
    const end = Number(svg.dataset.end), grid = [...new Set(series.flatMap((one) => one.at))].sort((a, b) => a - b);
    let place = null;

    function show(index) {
      place = index;
      const time = index === null ? null : grid[index];
      cross.setAttribute("visibility", time === null ? "hidden" : "visible");
      if (time !== null) for (const x of ["x1", "x2"]) cross.setAttribute(x, `${(100 * time) / end}%`);
      at.textContent = time === null ? at.dataset.rest : `at ${Number(time.toPrecision(4)).toLocaleString("en")} ${svg.dataset.unit}`;
      series.forEach((one, i) => {
        const shown = keys[i].querySelector(".value"), last = one.at.length - 1;
        const point = time > one.at[last] ? -1 : one.at.findLastIndex((t) => t <= time); // the newest evaluation
        shown.textContent = time === null ? shown.dataset.rest : point < 0 ? "–" : one.mean[point].toFixed(3);
      });
    }

    function nearest(event) {
      const box = svg.getBoundingClientRect(), time = ((event.clientX - box.left) / box.width) * end;
      let best = 0;
      grid.forEach((t, i) => { if (Math.abs(t - time) < Math.abs(grid[best] - time)) best = i; });
      show(best);
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
      const values = series.map((one, i) => `${one.name} ${keys[i].querySelector(".value").textContent}`);
      said.textContent = `${at.textContent}: ${values.join(", ")}`;
    });
    keys.forEach((key) => {
      const own = (shape) => shape.dataset.name === key.dataset.name;
      const focus = (on) => shapes.forEach((shape) => shape.classList.toggle("faint", on && !own(shape)));
      key.addEventListener("pointerenter", () => focus(key.getAttribute("aria-pressed") === "true"));
      key.addEventListener("pointerleave", () => focus(false));
      key.addEventListener("click", () => {
        const on = key.getAttribute("aria-pressed") !== "true";
        key.setAttribute("aria-pressed", String(on));
        shapes.filter(own).forEach((shape) => shape.classList.toggle("off", !on));
        focus(false);
      });
    });
  }

  document.querySelectorAll(".sorter select").forEach((select) => select.addEventListener("change", () => {
    const heads = select.closest("section").querySelector(".results").tHead.rows[0].cells;
    sort(heads[Number(select.value)].querySelector("button"));
  }));
  document.querySelectorAll(".results thead button").forEach((button) => button.addEventListener("click", () => sort(button)));
  document.querySelectorAll(".copy").forEach((button) => button.addEventListener("click", () => copy(button)));
  document.querySelectorAll("figure").forEach(chart);
})();
