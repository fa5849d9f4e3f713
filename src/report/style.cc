#include "report/looks.h"

namespace sluice {

const std::string_view report_style = R"css(
:root {
  color-scheme: light dark;
  --paper: #fbfbfa; --card: #ffffff; --ink: #1d2329; --faint: #5c6670; --line: #dfe3e6;
  --read: #2f7ebc; --write: #d8742a; --other: #8067b3; --good: #1f8a4c; --bad: #c0392b; --strip: #f0f2f4;
  --focus: #1a66d9;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181c; --card: #1c2126; --ink: #e6e9ec; --faint: #9aa5af; --line: #323a41;
    --read: #62aee8; --write: #f0a05c; --other: #b09ae0; --good: #5cc98a; --bad: #f08578; --strip: #262c32;
    --focus: #8ab8ff;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main, header, footer { max-width: 1120px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 32px; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3em; overflow-wrap: anywhere; }
h1 code { font-size: .92em; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 0 0 .2em; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 1.4em 0 .4em; }
.topic { color: var(--faint); font-size: .8rem; letter-spacing: .06em; text-transform: uppercase; margin: 0; }
.about, .hint, footer { color: var(--faint); font-size: .9rem; }
.hint { margin: 0 0 1em; max-width: 75ch; }
.warning { border-left: 4px solid var(--bad); padding: .5em 1em; background: var(--card); overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .2em 1.2em; margin: 1em 0; font-size: .9rem; }
a { color: var(--read); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 20px 24px; margin: 0 0 20px; }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 12px; margin: 0 0 20px; padding: 0; list-style: none; }
.tiles li { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px 16px; }
.tiles b { display: block; font-size: 1.3rem; font-weight: 600; white-space: nowrap; }
.tiles span { color: var(--faint); font-size: .85rem; }
.remarks { margin: 0 0 1em; padding-left: 1.2em; }
.legend { display: flex; flex-wrap: wrap; gap: .2em 1.2em; font-size: .85rem; color: var(--faint); margin: 0 0 .6em; padding: 0; list-style: none; }
.legend i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; }
.r { fill: var(--read); background: var(--read); } .w { fill: var(--write); background: var(--write); }
.o { fill: var(--other); background: var(--other); }
.split { display: flex; height: 26px; border-radius: 6px; overflow: hidden; background: var(--strip); margin: .2em 0 .5em; }
.split i { display: block; min-width: 1px; }
.lane { display: grid; grid-template-columns: minmax(120px, 260px) 1fr 84px; gap: 0 12px; align-items: center; padding: 2px 0; }
.name { display: flex; min-width: 0; font-size: .88rem; }
.name .dir { color: var(--faint); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; flex: 0 1 auto; min-width: 1.2em; }
.name .base { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; flex: 0 1 auto; max-width: 100%; }
.lane .dir { flex-shrink: 1000; }
.strip { position: relative; height: 26px; background: var(--strip); border-radius: 4px; overflow: hidden; cursor: crosshair; touch-action: pan-y; }
.strip svg { display: block; width: 100%; height: 100%; }
.strip .at { position: absolute; top: 0; bottom: 0; width: 1px; background: var(--ink); opacity: .6; pointer-events: none; }
.lane.whole .strip { height: 44px; }
.amount { text-align: right; font-size: .88rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.axis { position: relative; height: 1.5em; font-size: .78rem; color: var(--faint); }
.axis span { position: absolute; transform: translateX(-50%); white-space: nowrap; }
.axis span:first-child { transform: none; } .axis span.last { transform: translateX(-100%); }
.views { display: flex; gap: 6px; margin: .8em 0 .6em; }
.views button, .find { font: inherit; font-size: .88rem; color: var(--ink); background: var(--strip); border: 1px solid var(--line); border-radius: 6px; padding: 4px 12px; }
.views button { cursor: pointer; } .views button[aria-pressed=true] { background: var(--read); border-color: var(--read); color: var(--card); }
.find { width: 100%; max-width: 320px; margin: 0 0 .6em; }
.scroll { overflow-x: auto; max-height: 640px; overflow-y: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 5px 14px 5px 0; border-bottom: 1px solid var(--line); }
thead th { position: sticky; top: 0; background: var(--card); color: var(--faint); font-weight: 600; white-space: nowrap; z-index: 1; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
th[aria-sort=ascending] button::after { content: " \25b2"; } th[aria-sort=descending] button::after { content: " \25bc"; }
.n { text-align: right; white-space: nowrap; }
td.file { min-width: 180px; overflow-wrap: anywhere; } td .name { display: inline; }
td .name .dir, td .name .base { white-space: normal; overflow-wrap: anywhere; }
td .bar { display: block; height: 4px; border-radius: 2px; margin: 2px 0 0 auto; background: var(--other); }
td .bar.r { background: var(--read); } td .bar.w { background: var(--write); }
.bars td { border: 0; white-space: nowrap; padding-top: 2px; padding-bottom: 2px; vertical-align: middle; }
.bars td.wide { width: 42%; min-width: 110px; } .bars .bar { height: 14px; margin: 0; border-radius: 3px; min-width: 2px; }
td small { color: var(--faint); display: block; }
.bars .count { display: flex; align-items: center; gap: 8px; } .bars .count .bar { flex: none; } .bars .count small { white-space: nowrap; }
.mark { font-size: .75rem; border: 1px solid currentColor; border-radius: 9px; padding: 0 .6em; white-space: nowrap; }
.mark.good { color: var(--good); } .mark.bad { color: var(--bad); }
tr.chosen td { font-weight: 600; }
.range { display: block; width: 100%; min-width: 160px; height: 34px; }
.range line { stroke-width: 2; vector-effect: non-scaling-stroke; } .range .model { stroke: var(--read); } .range .replay { stroke: var(--other); }
.range .real { stroke: var(--good); } .range .tick { stroke-width: 3; }
.runs { display: grid; grid-template-columns: auto 1fr auto; gap: 4px 12px; align-items: center; margin: .6em 0 1em; font-size: .88rem; }
.runs .strip { cursor: default; } .runs .dot { position: absolute; top: 8px; width: 10px; height: 10px; margin-left: -5px; border-radius: 50%; opacity: .75; }
.runs .mean { position: absolute; top: 2px; bottom: 2px; width: 2px; background: var(--ink); }
.dot.before { background: var(--other); } .dot.after { background: var(--good); }
.maps { display: grid; grid-template-columns: repeat(auto-fill, minmax(260px, 1fr)); gap: 16px; }
figure { margin: 0; min-width: 0; break-inside: avoid; } figcaption { font-size: .82rem; color: var(--faint); }
.map { position: relative; height: 120px; background: var(--strip); border-radius: 4px; overflow: hidden; margin: 3px 0; }
.map svg { display: block; width: 100%; height: 100%; } .map path { opacity: .85; }
.map span { position: absolute; top: 2px; left: 4px; font-size: .74rem; padding: 0 4px; border-radius: 3px; background: var(--card); opacity: .85; }
ul.risks { padding-left: 1.2em; } ul.risks li { margin: .3em 0; overflow-wrap: anywhere; }
#tip { position: fixed; z-index: 9; pointer-events: none; background: var(--ink); color: var(--paper); border-radius: 6px; padding: 8px 12px;
  font-size: .82rem; line-height: 1.4; max-width: min(340px, 92vw); white-space: pre-line; overflow-wrap: anywhere; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
footer { padding-bottom: 40px; overflow-wrap: anywhere; }
[hidden] { display: none !important; }
@media (max-width: 700px) {
  main, header, footer { padding-left: 12px; padding-right: 12px; }
  h1 { font-size: 1.3rem; } h2 { font-size: 1.12rem; } section { padding: 14px; }
  .lane { grid-template-columns: 1fr auto; padding: 5px 0; } .lane .strip, .lane .axis { grid-column: 1 / -1; grid-row: 2; }
  .lane.ticks .name, .lane.ticks .amount { display: none; }
  .tiles { grid-template-columns: repeat(2, 1fr); } .tiles li { padding: 8px 12px; }
  td.file { min-width: 120px; max-width: 45vw; } .bars td.file { white-space: normal; } .bars td.wide { width: 30%; min-width: 70px; }
  .bars .count { flex-wrap: wrap; gap: 0 8px; } th, td { padding-right: 10px; }
}
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
@media print {
  :root { --paper: #fff; --card: #fff; --ink: #000; --faint: #444; --line: #ccc; --strip: #f4f4f4;
    --read: #2f7ebc; --write: #d8742a; --other: #8067b3; --good: #1f8a4c; --bad: #c0392b; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  nav, .views, .find, #tip { display: none; }
  section { border: 0; padding: 0; } .lane, tr, .tiles li { break-inside: avoid; } h2, h3 { break-after: avoid; }
  #by-process[hidden] { display: block !important; }
  .scroll { overflow: visible; max-height: none; } body { font-size: 11px; }
}
)css";

}  // namespace sluice
