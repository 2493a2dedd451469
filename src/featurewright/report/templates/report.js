"use strict";
(function () {
  const root = document.documentElement;
  root.classList.add("js");

  // Theme: the reader's system decides until the button is pressed.
  const button = document.getElementById("theme");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const stored = (function () {
    try { return window.localStorage.getItem("featurewright-theme"); } catch (error) { return null; }
  })();
  if (stored === "light" || stored === "dark") root.dataset.theme = stored;
  function current() { return root.dataset.theme || (dark.matches ? "dark" : "light"); }
  function label() {
    const next = current() === "dark" ? "light" : "dark";
    button.textContent = next === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", "Switch to the " + next + " theme");
  }
  button.addEventListener("click", function () {
    root.dataset.theme = current() === "dark" ? "light" : "dark";
    try { window.localStorage.setItem("featurewright-theme", root.dataset.theme); } catch (error) { /* private window */ }
    label();
  });
  dark.addEventListener("change", label);
  label();

  // Tables: a header sorts, a field above filters.
  function key(row, column) {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent.trim() : cell.dataset.v;
  }
  function compare(a, b) {
    const x = Number(a), y = Number(b);
    if (a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a.localeCompare(b, undefined, { numeric: true });
  }
  function sort(table, column, header) {
    const up = header.getAttribute("aria-sort") === "descending";
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    rows.sort(function (first, second) {
      const a = key(first, column), b = key(second, column);
      // Rows without a value stay last, whichever way the others go.
      if ((a === "") !== (b === "")) return a === "" ? 1 : -1;
      return up ? compare(a, b) : compare(b, a);
    });
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.append(...rows);
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    Array.from(table.tHead.rows[0].cells).forEach(function (header, column) {
      if (header.hasAttribute("data-plain")) return;
      const press = document.createElement("button");
      press.type = "button";
      press.textContent = header.textContent.trim();
      press.addEventListener("click", function () { sort(table, column, header); });
      header.replaceChildren(press);
    });
  }
  for (const field of document.querySelectorAll("input[data-filter]")) {
    const table = document.getElementById(field.dataset.filter);
    const count = document.getElementById(field.dataset.filter + "-count");
    const rows = Array.from(table.tBodies[0].rows);
    const texts = rows.map(function (row) {
      return (row.dataset.text || row.textContent).toLowerCase();
    });
    function filter() {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach(function (row, index) {
        row.hidden = !words.every(function (word) { return texts[index].includes(word); });
        if (!row.hidden) shown += 1;
      });
      count.textContent = shown === rows.length ? "" : shown + " of " + rows.length + " shown";
    }
    field.addEventListener("input", filter);
    filter();
  }

  // Formulas that are wider than their place are shown as text, which wraps.
  function fit() {
    for (const formula of document.querySelectorAll(".formula")) {
      const drawn = formula.querySelector("div");
      if (!drawn || !formula.querySelector(".text")) continue;
      formula.classList.remove("too-wide");
      formula.classList.toggle("too-wide", drawn.scrollWidth > drawn.clientWidth + 1);
    }
  }
  window.addEventListener("resize", fit);
  fit();

  // The front: a number, or its point, shows as many formulas.
  const numbers = Array.from(document.querySelectorAll(".front button"));
  const listed = Array.from(document.querySelectorAll("#front-formulas > li"));
  function show(chosen) {
    for (const number of numbers) number.setAttribute("aria-pressed", String(number === chosen));
    document.getElementById("front-told").textContent = chosen.dataset.told;
    listed.forEach(function (item, index) { item.hidden = index >= Number(chosen.dataset.count); });
    fit();
  }
  numbers.forEach(function (number, index) {
    number.addEventListener("click", function () { show(number); });
    number.addEventListener("keydown", function (event) {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const next = step && numbers[index + step];
      if (!next) return;
      event.preventDefault();
      next.focus();
      show(next);
    });
  });
  for (const point of document.querySelectorAll(".front g[data-point]")) {
    point.addEventListener("click", function () { show(numbers[Number(point.dataset.point)]); });
  }

  for (const snippet of document.querySelectorAll("pre")) {
    if (!navigator.clipboard) break;
    const copy = document.createElement("button");
    copy.type = "button";
    copy.className = "copy";
    copy.textContent = "Copy";
    copy.addEventListener("click", function () {
      navigator.clipboard.writeText(snippet.querySelector("code").textContent).then(
        function () { copy.textContent = "Copied"; },
        function () { copy.textContent = "Press Ctrl+C"; }
      );
    });
    snippet.append(copy);
  }
})();
