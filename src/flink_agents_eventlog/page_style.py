"""How a report looks. Nothing is loaded from anywhere, and nothing runs."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --dim: #777; --bar: #6b8fd6;
  --finished: #2a8a4a; --failed: #c8382f; --started: #b07a00; --reused: #2b8a99;
  --error: var(--failed); --warning: var(--started); --info: var(--reused); }
@media (prefers-color-scheme: dark) { :root { --dim: #999; --finished: #57c07a;
  --failed: #ff7a70; --started: #e0b040; --reused: #5cc4d4; } }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p.from { color: var(--dim); margin: .2rem 0 1.2rem; overflow-wrap: anywhere; }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; }
.tiles div { border: 1px solid var(--line); border-radius: 6px; padding: .5rem .9rem; }
.tiles b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid var(--line); padding: .2rem .6rem .2rem 0;
  text-align: left; vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--dim); font-weight: 500; }
td.name, td.status { white-space: nowrap; } td.name.event { color: var(--dim); }
td.number { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
td.place, code, td.value { font-family: ui-monospace, monospace; font-size: .86em; }
td.value, td.said { white-space: pre-wrap; }
td.time { width: 22%; min-width: 8rem; }
.bar { position: relative; height: .8rem; margin-top: .25rem; background: var(--line);
  border-radius: 2px; }
.bar i { position: absolute; top: 0; bottom: 0; min-width: 2px; border-radius: 2px;
  background: var(--bar); } .bar i.failed { background: var(--failed); }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0;
  padding: .4rem .8rem; }
summary { cursor: pointer; } summary b { margin-right: .6rem; }
summary span { color: var(--dim); margin-right: .8rem; }
.finished, .complete { color: var(--finished) !important; }
.failed { color: var(--failed) !important; }
.started, .incomplete { color: var(--started) !important; }
.reused { color: var(--reused) !important; }
.error { color: var(--error); } .warning { color: var(--warning); }
.info { color: var(--info); } .dim { color: var(--dim); }
"""
