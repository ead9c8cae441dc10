// Draws one document: the report of a job that has ended (it lies in the page), or the state of one that runs (asked for
// each second, at state.json, until it is the report of its end).
"use strict";

const REPORT_FORMAT = 1;
const REASONS = ["io", "memory", "input", "output"];
const COLOURS = ["#3b82c4", "#c2703d", "#5a9e6f", "#9a6bb8", "#b39a2e", "#5aa5a5", "#b85c7f", "#7d8894"];

const byId = (id) => document.getElementById(id);

function make(name, attributes = {}, ...children) {
  const out = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== false && value !== undefined) out.setAttribute(key, value);
  out.append(...children);
  return out;
}

// --- numbers as texts ---

// Numbers of 64 bits are texts in JSON of Protocol Buffers.
const num = (value) => Number(value ?? 0);
const count = (value) => num(value).toLocaleString("en-US", { maximumFractionDigits: 0 });

function scaled(value, step, units) {
  let unit = 0;
  while (value >= step * 0.9995 && unit + 1 < units.length) value /= step, ++unit;
  const digits = unit === 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return `${value.toFixed(digits)}${units[unit]}`;
}

const short = (value) => scaled(num(value), 1000, ["", " k", " M", " G", " T"]);
const bytes = (value) => scaled(num(value), 1024, [" B", " KiB", " MiB", " GiB", " TiB", " PiB"]);
const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;

// Rounded up, since nothing finer is known.
function wholeSeconds(seconds) {
  const whole = Math.ceil(seconds);
  return whole < 60 ? `${whole} s` : duration(whole);
}

function duration(seconds) {
  if (!(seconds > 0)) return "0 s";
  if (seconds < 0.001) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 1) return `${(seconds * 1000).toFixed(seconds < 0.01 ? 2 : 0)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds), minutes = Math.floor(whole / 60);
  const two = (n) => String(n).padStart(2, "0");
  return minutes < 60 ? `${minutes} min ${two(whole % 60)} s` : `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}

const moment = (text) => (text ? new Date(text).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" }) : "");

// --- what changes from one state to the next ---

// The states of the last seconds, from which speeds come. Of a job that has ended: its whole time.
class Window {
  constructor() {
    this.states = [];
  }
  add(report) {
    if (!report.live) return (this.states = []);
    if (this.states.at(-1)?.live.elapsed_seconds === report.live.elapsed_seconds) return undefined;
    this.states.push(report);
    while (this.states.length > 2 && report.live.elapsed_seconds - this.states[1].live.elapsed_seconds >= 3) this.states.shift();
    return undefined;
  }
  // How much `value` of a report grows in a second.
  speed(value) {
    const { before, now, seconds } = this.span();
    return seconds > 0 ? Math.max(0, value(now) - (before ? value(before) : 0)) / seconds : 0;
  }
  span() {
    const now = this.now;
    if (!now.live) return { before: null, now, seconds: now.wall_seconds };
    const before = this.states.length > 1 ? this.states[0] : null;
    return { before, now, seconds: now.live.elapsed_seconds - (before ? before.live.elapsed_seconds : 0) };
  }
}

const speeds = new Window();
const history = new Map();  // of values that are drawn as lines

function note(name, value) {
  if (!history.has(name)) history.set(name, []);
  const values = history.get(name);
  values.push(value);
  if (values.length > 120) values.shift();
  return values;
}

function spark(values) {
  const most = Math.max(...values, 1e-9);
  const points = values.map((v, i) => `${((i / Math.max(1, values.length - 1)) * 100).toFixed(1)} ${(27 - (v / most) * 25).toFixed(1)}`);
  return svg("svg", { class: "spark", viewBox: "0 0 100 28", preserveAspectRatio: "none", "aria-hidden": "true" }, [
    svg("path", { d: `M${points.join("L")}` }),
  ]);
}

// --- parts of the page ---

let report, graph, chosen = null, shape = "";

const nodeOf = (state, id) => state.nodes.find((node) => node.id === id);

// A job on a cluster has stages of tasks where another one has phases.
const isOnCluster = () => (report.stages ?? []).length > 0;
const phaseWord = () => (isOnCluster() ? "stage" : "phase");

// Parts of the time by what a node did: busy, and blocked by reason. Several threads may be in one node.
function shares(id) {
  const { before, now, seconds } = speeds.span();
  const node = nodeOf(now, id), old = before && nodeOf(before, id);
  const grown = (value) => Math.max(0, value(node) - (old ? value(old) : 0));
  const parts = [["busy", grown((n) => n.busy_seconds)]];
  for (const reason of REASONS) parts.push([reason, grown((n) => n.blocked_seconds?.[reason] ?? 0)]);
  const all = Math.max(seconds, parts.reduce((sum, [, part]) => sum + part, 0));
  return all > 0 ? parts.map(([name, part]) => [name, part / all]) : parts.map(([name]) => [name, 0]);
}

const phaseStates = ["waiting", "running", "finished", "finished_before", "stopped"];
const stateOf = (phase) => (typeof phase.state === "number" ? phaseStates[phase.state] : phase.state ?? "waiting");

function stateOfNode(node) {
  let own = node;
  while (own.inside) {
    const outer = nodeOf(report, own.inside);
    if (!outer || outer === own) break;
    own = outer;
  }
  const states = report.phases.filter((phase) => (phase.nodes ?? []).includes(own.id)).map(stateOf);
  if (states.length === 0) return "finished";
  if (states.includes("running")) return "running";
  return states.every((state) => state === "waiting") ? "waiting" : "finished";
}

function showHeader() {
  byId("job").textContent = report.job || "job";
  document.title = `${report.job || "job"} · ${report.status} · Flowrun`;
  const status = byId("status");
  status.textContent = report.status;
  status.className = `pill ${report.status}`;
  const about = [];
  if (report.host) about.push(`on ${report.host}`);
  if (report.start) about.push(`from ${moment(report.start)}${report.end ? ` to ${moment(report.end)}` : ""}`);
  const threads = report.threads === undefined ? "" : `${report.threads} thread${report.threads === 1 ? "" : "s"}, `;
  about.push(`${threads}${report.io_backend}`);
  if (report.version) about.push(`Flowrun ${report.version}`);
  byId("about").textContent = about.join(" · ");
  const bad = report.error ?? "";
  if (bad) tell(bad, true);
  byId("verdict").hidden = Boolean(report.live) || !report.verdict;
  byId("verdict").textContent = `Bound by ${report.verdict}.`;
}

function tell(text, bad = false) {
  const notice = byId("notice");
  notice.hidden = !text;
  notice.textContent = text;
  notice.classList.toggle("error", bad);
}

function showProgress() {
  const live = report.live;
  byId("progress").hidden = !live;
  if (!live) return;
  const known = live.ratio !== undefined;  // else nothing is known of what is still to come
  const share = Math.min(1, live.ratio ?? 0);
  const track = byId("progress").querySelector(".track");
  track.setAttribute("aria-valuenow", Math.floor(100 * share));
  const fill = track.firstElementChild;
  fill.style.width = `${100 * share}%`;
  fill.classList.toggle("guess", !live.ratio_known);
  const parts = [`${phaseWord()} ${live.phase} of ${report.phases.length}`];
  if (known) parts.unshift(`${live.ratio_known ? "" : "about "}${Math.floor(100 * share)} %`);
  if (live.activity) parts.push(live.activity);
  if (!known && num(live.bytes_read) > 0) parts.push(`${bytes(live.bytes_read)} read, ${bytes(live.bytes_read_per_second ?? 0)}/s`);
  if (live.seconds_left !== undefined) parts.push(`${wholeSeconds(live.seconds_left)} left`);
  byId("progress-text").textContent = parts.join(" · ");
}

function showTiles() {
  const live = report.live;
  const elapsed = live ? live.elapsed_seconds : report.wall_seconds;
  const actual = report.actual ?? {};
  const rows = speeds.speed((r) => r.nodes.filter((n) => n.role === "source").reduce((sum, n) => sum + num(n.rows), 0));
  const cores = speeds.speed((r) => r.cpu_seconds);
  const resident = live ? live.resident_bytes : report.peak_memory_bytes;
  const budget = report.memory_budget_bytes === undefined ? [] : [`budget ${bytes(report.memory_budget_bytes)}`];
  const most = isOnCluster() ? (live ? ["of tasks at work"] : ["a task at most"]) : live ? [] : ["at most"];
  const tiles = [
    [live ? "elapsed" : "time", duration(elapsed)],
    ["rows read a second", short(rows), live ? "" : "on average"],
    ["processor", cores.toFixed(1) + (report.threads === undefined ? "" : ` of ${report.threads}`), `${duration(report.cpu_seconds)} in all`],
    ["memory", resident === undefined ? "–" : bytes(resident), [...most, ...budget].join(", ")],
    ["files read", bytes(actual.input_bytes), `${bytes(speeds.speed((r) => num(r.actual?.input_bytes)))}/s`],
    ["files written", bytes(actual.output_bytes), `${bytes(speeds.speed((r) => num(r.actual?.output_bytes)))}/s`],
    ["scratch written", bytes(actual.scratch_written_bytes), `${bytes(actual.scratch_read_bytes)} read`],
  ];
  byId("tiles").replaceChildren(...tiles.map(([name, value, more]) => {
    const dd = make("dd", {}, value);
    if (more) dd.append(make("small", {}, more));
    const tile = make("div", {}, make("dt", {}, name), dd);
    if (live && name.startsWith("rows")) tile.append(spark(note("rows", rows)));
    return tile;
  }));
}

function showGraph() {
  const now = JSON.stringify([report.nodes.map((n) => [n.id, n.op, n.role]), report.edges.map((e) => [e.from, e.to, e.kind]), report.pipelines, phaseWord()]);
  if (now !== shape) {
    shape = now;
    graph = new JobGraph(report, phaseWord(), choose);
    byId("graph").replaceChildren(graph.element);
    if (chosen) graph.choose(chosen);
  }
  for (const node of report.nodes) {
    const parts = shares(node.id);
    let text = `${short(node.rows)} rows`;
    if (num(node.iterations) > 0) text = `${count(node.iterations)} iterations`;
    else if (node.fused_with) text = `in ${node.fused_with.slice(node.inside ? node.inside.length + 1 : 0)}`;
    else if (node.role === "control") text = node.op === "loop" ? "0 iterations" : "";
    const spoken = `${node.id}, ${node.op}, ${text}, busy ${percent(parts[0][1])}`;
    graph.updateNode(node.id, text, parts, stateOfNode(node), spoken);
  }
  report.edges.forEach((edge, index) => {
    if (edge.rows === undefined) return graph.updateEdge(index, "", `${edge.from} → ${edge.to} (${edge.kind})`, false);
    const rowSpeed = speeds.speed((r) => num(r.edges[index]?.rows)), byteSpeed = speeds.speed((r) => num(r.edges[index]?.bytes));
    const hasBytes = edge.bytes !== undefined;
    const rates = `${short(rowSpeed)} rows/s${hasBytes ? ` · ${bytes(byteSpeed)}/s` : ""}`;
    const totals = `${count(edge.rows)} rows${hasBytes ? `, ${bytes(edge.bytes)}` : ""}`;
    const moving = Boolean(report.live) && rowSpeed > 0;
    return graph.updateEdge(index, report.live && !moving ? "" : rates, `${edge.from} → ${edge.to} (${edge.kind}): ${totals}`, moving);
  });
}

function choose(id) {
  if (!nodeOf(report, id)) return;
  chosen = id;
  graph.choose(id);
  for (const row of byId("nodes").querySelectorAll("tbody tr")) row.classList.toggle("chosen", row.dataset.node === id);
  showDetails();
}

const pairs = (list) => make("dl", { class: "rows" }, ...list.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));

function showDetails() {
  const node = chosen && nodeOf(report, chosen);
  if (!node) return;
  const sort = (report.sorts ?? []).find((s) => s.id === node.id);
  const list = [["rows in", count(node.rows_in)], [node.role === "sink" ? "rows taken" : "rows given on", count(node.rows)],
    ["bytes", bytes(node.bytes)], ["busy", duration(node.busy_seconds)]];
  for (const reason of REASONS) list.push([`blocked on ${reason}`, duration(node.blocked_seconds?.[reason] ?? 0)]);
  if (num(node.iterations) > 0) list.push(["iterations", count(node.iterations)]);
  if (num(node.rejected_rows) > 0) list.push(["rejected rows", count(node.rejected_rows)]);
  if (num(node.file_read_bytes) > 0) list.push(["read from files", bytes(node.file_read_bytes)]);
  if (num(node.file_written_bytes) > 0) list.push(["written to files", bytes(node.file_written_bytes)]);
  if (node.fused_with) list.push(["its work is done by", node.fused_with]);
  if (sort) {
    list.push(["runs", num(sort.runs) ? count(sort.runs) : "none: it stayed in memory"]);
    if (num(sort.runs)) list.push(["merge passes", count(sort.merge_passes)], ["fan-in", count(sort.fan_in)]);
    if (sort.verified) list.push(["verified", sort.verified.compared]);
  }
  for (const share of (report.memory ?? []).filter((m) => m.node === node.id && num(m.given_bytes) > 0))
    list.push([`memory, phase ${share.phase}${share.part === "whole" ? "" : `, ${share.part}`}`, bytes(share.given_bytes)]);
  for (const [name, value] of Object.entries(node.counts ?? {})) list.push([name, count(value)]);
  const box = byId("details");
  box.replaceChildren(make("h3", {}, node.id, " ", make("small", {}, node.op)), pairs(list));
}

function bar(parts) {
  const track = make("div", { class: "track" });
  for (const [name, share] of parts) if (share > 0) {
    const part = make("div", { class: `part ${name}` });
    part.style.width = `${100 * share}%`;
    track.append(part);
  }
  return track;
}

function showNodes() {
  const columns = [["node", "text"], ["op", "text"], ["rows"], ["rows/s"], ["bytes"], ["busy"], ...REASONS.map((r) => [`on ${r}`]), ["time", "text"]];
  const table = byId("nodes");
  if (!table.tHead) {
    table.append(make("thead", {}, make("tr", {}, ...columns.map(([name, kind]) => make("th", { scope: "col", class: kind ?? "" }, name)))), make("tbody"));
  }
  const rows = report.nodes.map((node) => {
    const cell = (field, text, value) => make("td", { "data-field": field, "data-value": value ?? text, class: field === "op" ? "text" : "" }, text);
    const speed = speeds.speed((r) => num(nodeOf(r, node.id)?.rows));
    const row = make("tr", { "data-node": node.id, class: node.id === chosen ? "chosen" : "" },
      make("th", { scope: "row" }, node.id), cell("op", node.op),
      cell("rows", node.fused_with ? "" : count(node.rows), num(node.rows)), cell("rows_per_second", node.fused_with ? "" : short(speed), speed),
      cell("bytes", node.fused_with ? "" : bytes(node.bytes), num(node.bytes)), cell("busy", duration(node.busy_seconds), node.busy_seconds),
      ...REASONS.map((reason) => cell(reason, duration(node.blocked_seconds?.[reason] ?? 0), node.blocked_seconds?.[reason] ?? 0)),
      make("td", { class: "text" }, bar(shares(node.id))));
    row.addEventListener("click", () => choose(node.id));
    return row;
  });
  table.tBodies[0].replaceChildren(...rows);
}

function panel(title, ...content) {
  return make("section", { "aria-label": title }, make("h2", {}, title), ...content);
}

// Of the stages that are the phase, or run in it: how their tasks go, a line each.
function tasksOf(phase) {
  return (report.stages ?? []).filter((stage) => stage.phase === phase).map((stage) => {
    const parts = [];
    if (stage.tasks_done === undefined) {
      parts.push(`${count(stage.tasks)} task${stage.tasks === 1 ? "" : "s"}`);
    } else {
      const atWork = stage.tasks_at_work ?? 0, waiting = stage.tasks - stage.tasks_done - atWork;
      const more = report.live ? [[atWork, "at work"], [waiting, "waiting"]].filter(([n]) => n > 0).map(([n, what]) => `, ${count(n)} ${what}`) : [];
      parts.push(`${count(stage.tasks_done)} of ${count(stage.tasks)} task${stage.tasks === 1 ? "" : "s"} done${more.join("")}`);
    }
    const done = stage.tasks_done ?? stage.tasks;
    if (stage.attempts > done + (stage.tasks_at_work ?? 0)) parts.push(`${count(stage.attempts)} attempts`);
    if (done > 0 && stage.tasks > 1) parts.push(`median ${duration(stage.median_seconds)}`);
    if (stage.slowest_seconds > 0 && stage.tasks > 1)
      parts.push(`slowest ${duration(stage.slowest_seconds)}${stage.slowest_task ? ` (task ${stage.slowest_task}${stage.slowest_because ? `: ${stage.slowest_because}` : ""})` : ""}`);
    const names = (stage.nodes ?? []).map((id) => id.slice(stage.inside ? stage.inside.length + 1 : 0)).join(", ");
    return make("span", { class: "tasks" }, `${stage.inside ? `${names}: ` : ""}${parts.join(" · ")}`);
  });
}

function phasesPanel() {
  const marks = { waiting: "·", running: "▸", finished: "✓", finished_before: "✓", stopped: "✕" };
  const most = Math.max(1e-9, ...report.phases.map((phase) => phase.seconds ?? 0));
  const items = report.phases.map((phase, index) => {
    const state = stateOf(phase);
    const names = (phase.nodes ?? []).join(", ");
    const time = state === "waiting" ? "" : state === "finished_before" ? "before" : duration(phase.seconds);
    const item = make("li", { class: state, title: `${names}; the bar: its time beside that of the longest ${phaseWord()}` }, make("span", { "aria-label": state.replace("_", " ") }, marks[state]),
      make("span", { class: "names" }, `${index + 1}  ${names}`), make("span", {}, time));
    const track = make("div", { class: "track" });
    const fill = make("div", { class: "fill" });
    fill.style.width = `${(100 * (phase.seconds ?? 0)) / most}%`;
    track.append(fill);
    item.append(track, ...tasksOf(index + 1));
    return item;
  });
  return panel(isOnCluster() ? "Stages" : "Phases", make("ol", { class: "phases" }, ...items));
}

// Of the phase that runs, or of the one that had most.
function memoryPanel() {
  const budget = num(report.memory_budget_bytes);
  const given = (phase) => num(phase.memory_bytes) + num(phase.batches_bytes) + num(phase.held_bytes);
  let index = (report.live?.phase ?? 0) - 1;
  if (index < 0 || index >= report.phases.length) {
    index = report.phases.reduce((best, phase, i) => (given(phase) > given(report.phases[best]) ? i : best), 0);
  }
  const phase = report.phases[index];
  if (!phase || phase.memory_bytes === undefined) return null;
  const owners = (report.memory ?? []).filter((m) => m.phase === index + 1 && num(m.given_bytes) > 0)
    .map((m) => [m.node + (m.part === "whole" ? "" : ` (${m.part})`), num(m.given_bytes)]).sort((a, b) => b[1] - a[1]);
  const queues = num(phase.memory_bytes) - owners.reduce((sum, [, part]) => sum + part, 0);
  if (queues > 0) owners.push(["queues", queues]);
  if (num(phase.batches_bytes) > 0) owners.push(["batches on the way", num(phase.batches_bytes)]);
  if (num(phase.held_bytes) > 0) owners.push(["kept from earlier phases", num(phase.held_bytes)]);
  const all = owners.reduce((sum, [, part]) => sum + part, 0);
  const track = make("div", { class: "track memory-bar" });
  const list = owners.map(([name, part], i) => {
    const slice = make("div", { class: "part", title: `${name}: ${bytes(part)}` });
    slice.style.width = `${(100 * part) / Math.max(budget, all)}%`;
    slice.style.setProperty("--c", COLOURS[i % COLOURS.length]);
    track.append(slice);
    const swatch = make("span", { class: "swatch" });
    swatch.style.setProperty("--c", COLOURS[i % COLOURS.length]);
    return [make("span", {}, swatch, name), bytes(part)];
  });
  list.push(["not given", bytes(Math.max(0, budget - all))], [make("b", {}, "budget"), bytes(budget)]);
  return panel(`Memory in phase ${index + 1}`, track, pairs(list));
}

function disksPanel() {
  if (!(report.disks ?? []).length) return null;
  const live = Boolean(report.live);
  const disks = report.disks.map((disk, index) => {
    const of = (field) => speeds.speed((r) => num(r.disks[index]?.[field]));
    const operations = of("read_operations") + of("write_operations");
    const service = of("read_service_seconds") + of("write_service_seconds");
    const box = make("div", { class: "disk" }, make("h3", {}, disk.path));
    const list = [
      ["reading", `${bytes(of("read_bytes"))}/s`], ["writing", `${bytes(of("written_bytes"))}/s`],
      ["busy", percent(Math.min(1, of("busy_seconds")))], ["queue", `${service.toFixed(1)} in flight`],
      ["latency", operations > 0 ? duration(service / operations) : "–"],
      [live ? "in use" : "in use at most", bytes(live ? disk.used_bytes : disk.peak_used_bytes) + (num(disk.limit_bytes) ? ` of ${bytes(disk.limit_bytes)}` : "")],
      ["waited for", duration(disk.wait_seconds)],
    ];
    if (num(disk.errors) > 0) list.push(["errors", count(disk.errors)]);
    if (live) box.append(spark(note(disk.path, of("read_bytes") + of("written_bytes"))));
    box.append(pairs(list));
    if (num(disk.limit_bytes)) {
      const fill = make("div", { class: "fill" });
      fill.style.width = `${Math.min(100, (100 * num(live ? disk.used_bytes : disk.peak_used_bytes)) / num(disk.limit_bytes))}%`;
      box.append(make("div", { class: "track" }, fill));
    }
    return box;
  });
  return panel(disks.length === 1 ? "Scratch disk" : "Scratch disks", ...disks);
}

function predictionPanel() {
  if (report.live || !report.predicted) return null;
  const names = { input_bytes: "input read", scratch_written_bytes: "scratch written", scratch_read_bytes: "scratch read",
    peak_scratch_bytes: "peak scratch", output_bytes: "output written", peak_memory_bytes: "peak memory" };
  const row = (name, ...cells) => make("tr", {}, make("th", { scope: "row" }, name), ...cells.map((text) => make("td", {}, text)));
  const known = (key) => report.prediction_known || key === "peak_memory_bytes";
  return panel("Predicted and actual", make("div", { class: "scroll" }, make("table", {},
    make("thead", {}, make("tr", {}, make("th"), make("th", { scope: "col" }, "predicted"), make("th", { scope: "col" }, "actual"))),
    make("tbody", {}, ...Object.entries(names).map(([key, name]) =>
      row(name, known(key) ? bytes(report.predicted[key]) : "unknown", bytes(report.actual?.[key])))))));
}

function listPanels() {
  const out = [];
  if ((report.results ?? []).length) out.push(panel("Results", pairs(report.results.map((r) => [`${r.node}.${r.name}`, r.value]))));
  if ((report.outputs ?? []).length)
    out.push(panel("Outputs", pairs(report.outputs.map((o) => [o.path, `${o.state}${num(o.num_files) ? `, ${count(o.num_files)} files` : ""}`]))));
  if ((report.parameters ?? []).length) out.push(panel("Parameters", pairs(report.parameters.map((p) => [p.name, p.value || "–"]))));
  return out;
}

function show(next) {
  report = next;
  report.nodes ??= [];
  for (const name of ["edges", "pipelines", "phases"]) report[name] ??= [];
  speeds.now = report;
  speeds.add(report);
  showHeader();
  showProgress();
  showTiles();
  showGraph();
  showNodes();
  showDetails();
  const panels = [phasesPanel(), memoryPanel(), disksPanel(), predictionPanel(), ...listPanels()];
  byId("right").replaceChildren(...panels.filter(Boolean));
}

// --- where the document comes from ---

const viewer = Math.random().toString(36).slice(2);
let failures = 0;

async function ask() {
  let next = 1000;
  try {
    const answer = await fetch(`state.json?viewer=${viewer}`, { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    const state = await answer.json();
    failures = 0;
    tell("");
    show(state);
    if (!state.live) return;
  } catch (problem) {
    if (!(problem instanceof TypeError) && failures === 0) console.error(problem);
    if (++failures >= 3) {
      tell(report ? "The job doesn't answer any more. This is the last that it said." : "The job doesn't answer.");
      next = 5000;
    }
  }
  setTimeout(ask, next);
}

const inside = JSON.parse(byId("report").textContent);
if (inside === null) ask();
else if (inside.format !== REPORT_FORMAT) tell(`This report has format ${inside.format ?? "0"}, and the page shows format ${REPORT_FORMAT}.`, true);
else show(inside);
