"""How a page looks: light and dark, on a phone, on a screen and on paper."""

STYLE = """
:root {
  --paper: #ffffff; --ink: #22303c; --soft: #5b6b79; --line: #d7dee4; --card: #f5f7f9; --link: #0072b2;
  --better: #00694d; --equivalent: #005a8c; --worse: #a34700; --undecided: #5b6b79;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14191e; --ink: #e4eaef; --soft: #9fb0bf; --line: #33404b; --card: #1d242b; --link: #56b4e9;
    --better: #3ecf9e; --equivalent: #6cc0f0; --worse: #f2a15f; --undecided: #9fb0bf;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main, footer { max-width: 70rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding: 2.5rem 0 0.5rem; }
h1 { font-size: clamp(1.5rem, 5vw, 2.1rem); line-height: 1.2; margin: 0 0 0.75rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 0.75rem; }
h3 { font-size: 1.02rem; margin: 1.75rem 0 0.35rem; }
p { margin: 0.35rem 0; max-width: 46rem; overflow-wrap: anywhere; }
.lede { font-size: 1.15rem; }
.facts, figcaption, small, footer, .verdicts small { color: var(--soft); font-size: 0.9rem; }
ul { margin: 0; padding: 0; }
.verdicts { list-style: none; display: grid; gap: 0.75rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
.verdicts li {
  background: var(--card); border-left: 0.3rem solid var(--undecided); border-radius: 0.3rem; padding: 0.7rem 1rem;
}
.verdicts li p { margin: 0.25rem 0; }
.badge {
  font-size: 0.78rem; font-weight: 700; letter-spacing: 0.04em; text-transform: uppercase; color: var(--undecided);
}
li.better { border-color: var(--better); } li.better .badge { color: var(--better); }
li.equivalent { border-color: var(--equivalent); } li.equivalent .badge { color: var(--equivalent); }
li.worse { border-color: var(--worse); } li.worse .badge { color: var(--worse); }
.notes { padding-left: 1.2rem; max-width: 46rem; }
.notes li { margin: 0.3rem 0; overflow-wrap: anywhere; }
figure { margin: 1.25rem 0 2rem; }
.picture { background: #ffffff; border-radius: 0.4rem; padding: 0.6rem; max-width: 54rem; overflow-x: auto; }
.picture img { display: block; width: 100%; min-width: 34rem; height: auto; }
figcaption { margin-top: 0.5rem; max-width: 46rem; }
.scroll { overflow-x: auto; margin: 0.5rem 0 1rem; border: 1px solid var(--line); border-radius: 0.4rem; }
.scroll:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; width: 100%; font-size: 0.82rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.4rem 0.45rem; text-align: left; vertical-align: top; }
th { font-weight: 600; color: var(--soft); vertical-align: bottom; border-bottom: 1px solid var(--line); }
.number { text-align: right; white-space: nowrap; }
th.number { white-space: normal; }
tbody tr + tr td { border-top: 1px solid var(--line); }
td:first-child { font-weight: 600; white-space: nowrap; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: 0.35rem 1.25rem; margin: 0.5rem 0; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--link); }
footer { padding-top: 2rem; padding-bottom: 3rem; }
@media (max-width: 36rem) {
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 0.6rem; }
}
@media print {
  :root {
    --paper: #ffffff; --ink: #000000; --soft: #444444; --line: #bbbbbb; --card: #f5f5f5; --link: #000000;
    --better: #00694d; --equivalent: #005a8c; --worse: #a34700; --undecided: #444444;
  }
  body { font-size: 10pt; }
  main, footer { max-width: none; padding: 0; }
  figure, .verdicts li, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .scroll { overflow: visible; border: 0; }
  table { font-size: 6.5pt; }
  th, td { padding: 0.15rem 0.3rem; }
  .picture { max-width: 16cm; padding: 0; overflow: visible; }
  .picture img { min-width: 0; }
}
"""
