#include "report/looks.h"

namespace sluice {

// Text goes into the page as textContent only, never as HTML. An error is left in the document's data-error,
// and data-ready says that all of it ran.
const std::string_view report_script = R"js(
"use strict";
const root = document.documentElement;
window.addEventListener("error", event => { root.dataset.error = String(event.message); });

const data = JSON.parse(document.getElementById("cells").textContent);
const three = value => value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
function humanSize(bytes) {
  const names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let step = 0;
  while (bytes >= 999.5 && step + 1 < names.length) { bytes /= 1024; step++; }
  return (step ? three(bytes) : bytes) + " " + names[step];
}
function humanDuration(seconds) {
  for (const [scale, name] of [[31536000, "y"], [86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "us"]]) {
    if (seconds >= scale) return three(seconds / scale) + " " + name;
  }
  return three(Math.max(seconds, 0) * 1e9) + " ns";
}

// Tables: a button in every title; numbers first with the largest.
for (const table of document.querySelectorAll("table.sorts")) {
  const titles = [...table.tHead.rows[0].cells];
  titles.forEach((title, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = title.textContent;
    title.textContent = "";
    title.append(button);
    button.addEventListener("click", () => {
      const numeric = title.classList.contains("n");
      const before = title.getAttribute("aria-sort");
      const down = before ? before === "ascending" : numeric;
      titles.forEach(each => each.removeAttribute("aria-sort"));
      title.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = row => row.cells[column].dataset.v ?? row.cells[column].textContent;
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => (numeric ? value(a) - value(b) : value(a).localeCompare(value(b), undefined, {numeric: true})) * (down ? -1 : 1));
      table.tBodies[0].append(...rows);
    });
  });
  if (table.tBodies[0].rows.length > 12) {
    const find = document.createElement("input");
    find.type = "search";
    find.className = "find";
    find.placeholder = "find a name";
    find.setAttribute("aria-label", "show only rows with this in their name");
    find.addEventListener("input", () => {
      const wanted = find.value.toLowerCase();
      for (const row of table.tBodies[0].rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
    });
    table.closest(".scroll").before(find);
  }
}

// The timeline: what happened in the bin below the pointer, or where the arrow keys are.
const tip = document.getElementById("tip");
const says = document.getElementById("says");
const mark = document.createElement("div");
mark.className = "at";
function describe(strip, bin) {
  const lane = data.lanes[strip.dataset.lane];
  const from = bin * data.width, to = Math.min(from + data.width, data.seconds);
  const cell = lane.find(each => each[0] === bin);
  const lines = [strip.parentElement.querySelector(".name").textContent, humanDuration(from) + " to " + humanDuration(to)];
  if (!cell) return lines.concat("nothing").join("\n");
  const [, calls, read, written, reading, writing, other] = cell;
  lines.push(calls + (calls === 1 ? " call" : " calls") + " began");
  if (read || reading) lines.push("read " + humanSize(read) + ", " + humanDuration(reading / 1e6));
  if (written || writing) lines.push("wrote " + humanSize(written) + ", " + humanDuration(writing / 1e6));
  if (other) lines.push("open, sync and other calls " + humanDuration(other / 1e6));
  return lines.join("\n");
}
function show(strip, bin) {
  const box = strip.getBoundingClientRect();
  const x = (bin + .5) / data.bins * box.width;
  mark.style.left = x + "px";
  strip.append(mark);
  strip.dataset.bin = bin;
  tip.textContent = describe(strip, bin);
  tip.hidden = false;
  const size = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(box.left + x + 14, innerWidth - size.width - 4)) + "px";
  tip.style.top = (box.bottom + 8 + size.height < innerHeight ? box.bottom + 8 : Math.max(4, box.top - 8 - size.height)) + "px";
}
function hide() { tip.hidden = true; mark.remove(); }
for (const strip of document.querySelectorAll(".strip[data-lane]")) {
  strip.tabIndex = 0;
  const last = data.bins - 1;
  const clamp = bin => Math.max(0, Math.min(last, bin));
  strip.addEventListener("pointermove", event => {
    const box = strip.getBoundingClientRect();
    show(strip, clamp(Math.floor((event.clientX - box.left) / box.width * data.bins)));
  });
  strip.addEventListener("pointerleave", hide);
  strip.addEventListener("blur", hide);
  strip.addEventListener("keydown", event => {
    const cells = data.lanes[strip.dataset.lane].map(cell => cell[0]);
    const now = "bin" in strip.dataset ? +strip.dataset.bin : -1;
    let bin;
    if (event.key === "ArrowRight") bin = cells.find(each => each > now) ?? now;
    else if (event.key === "ArrowLeft") bin = cells.filter(each => each < now).pop() ?? now;
    else if (event.key === "Home") bin = cells[0] ?? 0;
    else if (event.key === "End") bin = cells[cells.length - 1] ?? last;
    else if (event.key === "Escape") return hide();
    else return;
    event.preventDefault();
    show(strip, clamp(bin));
    says.textContent = tip.textContent;
  });
}
addEventListener("scroll", hide, {passive: true});

// By file, or by process.
const views = document.querySelector(".views");
if (views) {
  views.hidden = false;
  const buttons = [...views.querySelectorAll("button")];
  const choose = wanted => buttons.forEach(button => {
    button.setAttribute("aria-pressed", String(button === wanted));
    document.getElementById(button.dataset.shows).hidden = button !== wanted;
  });
  buttons.forEach(button => button.addEventListener("click", () => choose(button)));
  choose(buttons[0]);
}
root.dataset.ready = "yes";
)js";

}  // namespace sluice
