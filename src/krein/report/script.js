"use strict";
document.documentElement.classList.add("scripted");

// Texts of marks: shown under the mouse, and by arrow keys on a focused picture.
const tip = document.getElementById("tip");

function showTip(mark, x, y) {
  hideTip();
  tip.textContent = mark.dataset.tip;
  tip.hidden = false;
  mark.classList.add("active");
  const left = Math.min(x + 12, innerWidth - tip.offsetWidth - 8);
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = Math.max(4, y - tip.offsetHeight - 10) + "px";
}

function hideTip() {
  tip.hidden = true;
  document.querySelectorAll(".active").forEach((m) => m.classList.remove("active"));
}

document.addEventListener("pointerover", (event) => {
  const mark = event.target.closest("[data-tip]");
  if (mark) showTip(mark, event.clientX, event.clientY); else hideTip();
});

document.querySelectorAll("svg.chart").forEach((chart) => {
  const marks = [...chart.querySelectorAll("[data-tip]")];
  let at = -1;
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") hideTip();
    if (!step || !marks.length) return;
    event.preventDefault();
    at = (at + step + marks.length) % marks.length;
    const box = marks[at].getBoundingClientRect();
    showTip(marks[at], box.left + box.width / 2, box.top);
  });
  chart.addEventListener("blur", hideTip);
});

// Tables sort by the column whose heading is pressed.
document.querySelectorAll("table.sortable").forEach((table) => {
  const body = table.tBodies[0];
  table.querySelectorAll("thead th").forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending";
      table.querySelectorAll("th").forEach((th) => th.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const rows = [...body.rows].sort((a, b) =>
        key(a).localeCompare(key(b), undefined, { numeric: false }));
      const numbers = rows.every((row) => row.cells[column].dataset.value !== undefined);
      if (numbers) rows.sort((a, b) => Number(key(a)) - Number(key(b)));
      body.append(...(up ? rows : rows.reverse()));
    });
  });
});

// Tables that are wider than the page say so.
function markWide() {
  document.querySelectorAll(".wide").forEach((wide) => {
    wide.classList.toggle("scrolls", wide.scrollWidth > wide.clientWidth + 1);
  });
}
addEventListener("resize", markWide);

// One method at a time.
document.querySelectorAll("select.methods").forEach((select) => {
  const parts = [...select.closest("section").querySelectorAll(".pick")];
  const pick = () => {
    parts.forEach((part) => { part.hidden = part.dataset.method !== select.value; });
    markWide();
  };
  select.addEventListener("change", pick);
  pick();
});
markWide();
