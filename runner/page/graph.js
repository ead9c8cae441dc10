// The graph of a job as SVG: boxes around nodes that one task carries its batches through, breakers between them, and
// graphs of control nodes inside of these.
"use strict";

const NODE = { w: 196, h: 60 };
const INSIDE = { x: 26, y: 40 };   // between nodes of a pipeline
const OUTSIDE = { x: 44, y: 46 };  // between pipelines
const PAD = { x: 12, top: 24, bottom: 12, out: 26 };
const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes = {}, children = []) {
  const out = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, value);
  out.append(...children);
  return out;
}

// Cuts a text to about `width` pixels.
function cutTo(text, width, perLetter = 7.4) {
  const most = Math.max(1, Math.floor(width / perLetter));
  return text.length <= most ? text : text.slice(0, most - 1) + "…";
}

class JobGraph {
  // `phaseWord`: what its phases are called.
  constructor(report, phaseWord, onChoose) {
    this.phaseWord = phaseWord;
    this.nodes = new Map(report.nodes.map((node) => [node.id, node]));
    this.onChoose = onChoose;
    this.places = new Map();  // of nodes, by id: absolute corners
    this.drawn = new Map();
    this.edges = report.edges.map((edge, index) => ({ ...edge, index }));
    this.memberships(report);
    this.children = new Map();
    for (const node of report.nodes) {
      const owner = this.ownerOf(node);
      if (!this.children.has(owner)) this.children.set(owner, []);
      this.children.get(owner).push(node);
    }
    const root = this.layout("");
    this.element = this.draw(root);
  }

  // The control node whose graph a node belongs to; "" for the job's own.
  ownerOf(node) {
    for (let path = node.inside ?? ""; path !== ""; path = path.slice(0, Math.max(0, path.lastIndexOf("."))))
      if (this.nodes.has(path)) return path;
    return "";
  }

  memberships(report) {
    this.group = new Map();
    report.pipelines.forEach((pipeline, index) => {
      for (const id of pipeline.nodes ?? []) {
        const role = this.nodes.get(id)?.role;
        if (role !== "breaker" && role !== "control" && !this.group.has(id)) this.group.set(id, { key: `p${index}`, phase: pipeline.phase });
      }
    });
  }

  // A graph with everything inside of it: sizes and corners relative to its own corner.
  layout(owner) {
    const members = this.children.get(owner) ?? [];
    const mine = this.edges.filter((edge) => {
      if (edge.from === edge.to && edge.from !== owner) return false;
      const inside = (id) => (id === owner && owner !== "") || (this.nodes.has(id) && this.ownerOf(this.nodes.get(id)) === owner);
      return inside(edge.from) && inside(edge.to);
    });
    const groups = new Map();
    const top = new Map();  // the box of the outer level that a node lies in
    for (const node of members) {
      const group = this.group.get(node.id);
      const key = group ? group.key : `n${node.id}`;
      if (!groups.has(key)) groups.set(key, { id: key, phase: group?.phase, nodes: [], owner });
      groups.get(key).nodes.push(node);
      top.set(node.id, key);
    }
    const ports = new Map();  // of the graph of a control node: where rows come in and go out
    const ends = (edge) => {
      if (owner === "") return [edge.from, edge.to];
      const port = (id, name, way) => {
        if (id !== owner) return id;
        const key = `${way}:${owner}:${name}`;
        if (!ports.has(key)) ports.set(key, { id: key, name, way, w: Math.max(44, name.length * 6.6 + 22), h: 22 });
        return key;
      };
      return [port(edge.from, edge.from_port, "in"), port(edge.to, edge.to_port, "out")];
    };
    const links = mine.map((edge) => {
      const [from, to] = ends(edge);
      return { edge, a: from, b: to, from: top.get(from) ?? from, to: top.get(to) ?? to };
    });
    const boxes = [...groups.values()].map((group) => this.layoutGroup(group, links));
    const size = layered([...boxes, ...ports.values()], links, OUTSIDE);
    return { owner, boxes, ports: [...ports.values()], links, ...size };
  }

  layoutGroup(group, links) {
    const boxed = group.nodes.length > 1;
    const sizes = group.nodes.map((node) => {
      if (node.role !== "control" || !this.children.has(node.id)) return { id: node.id, ...NODE, node };
      const body = this.layout(node.id);
      return { id: node.id, node, body, w: Math.max(NODE.w, body.w + 28), h: NODE.h + body.h + 28 };
    });
    const inner = links.filter((link) => link.from === group.id && link.to === group.id)
      .map((link) => ({ from: link.a, to: link.b, link }));
    const size = layered(sizes, inner, INSIDE);
    for (const line of inner) line.link.inner = line.via;
    const leaves = links.some((link) => link.from === group.id && link.to !== group.id);
    const pad = boxed ? { x: PAD.x, top: PAD.top, bottom: leaves ? PAD.out : PAD.bottom } : { x: 0, top: 0, bottom: 0 };
    return { ...group, boxed, sizes, pad, w: size.w + 2 * pad.x, h: size.h + pad.top + pad.bottom };
  }

  draw(root) {
    const margin = 10;
    const below = svg("g"), lines = svg("g"), above = svg("g"), labels = svg("g");
    this.layersOf = { below, lines, above, labels };
    this.drawGraph(root, margin, margin);
    // Labels of the rightmost edges may reach beyond the nodes.
    const left = labels.querySelector("[text-anchor=end]") ? 64 : 0;
    const w = left + root.w + 2 * margin + 96, h = root.h + 2 * margin;
    // A narrow screen shows it smaller, as long as it can be read, and then scrolls.
    return svg("svg", { width: w, height: h, style: `min-width: ${Math.round(0.7 * w)}px`, viewBox: `${-left} 0 ${w} ${h}`, role: "group", "aria-label": "Graph of the job" },
      [below, lines, above, labels]);
  }

  drawGraph(graph, x, y) {
    const spots = new Map();  // what edges may end at
    for (const box of graph.boxes) {
      const left = x + box.x, top = y + box.y;
      if (box.boxed) {
        this.layersOf.below.append(svg("rect", { class: "group", x: left, y: top, width: box.w, height: box.h, rx: 8 }));
        this.layersOf.labels.append(svg("text", { class: "label ingroup", x: left + PAD.x, y: top + 16 }, [box.phase ? `fused, ${this.phaseWord} ${box.phase}` : "fused"]));
      }
      for (const size of box.sizes) {
        const spot = { x: left + box.pad.x + size.x, y: top + box.pad.top + size.y, w: size.w, h: size.h, boxed: box.boxed };
        spots.set(size.id, spot);
        this.drawNode(size, spot);
        if (size.body) this.drawGraph(size.body, spot.x + (spot.w - size.body.w) / 2, spot.y + NODE.h + 14);
      }
    }
    for (const port of graph.ports) {
      const spot = { x: x + port.x, y: y + port.y, w: port.w, h: port.h };
      spots.set(port.id, spot);
      this.layersOf.above.append(
        svg("rect", { class: "pillport", x: spot.x, y: spot.y, width: port.w, height: port.h, rx: 11 }),
        svg("text", { class: "muted", x: spot.x + port.w / 2, y: spot.y + 15, "text-anchor": "middle", "font-size": 11 }, [port.name]));
    }
    this.drawEdges(graph, spots, x, y);
  }

  drawNode(size, spot) {
    const node = size.node;
    const shape = node.role === "breaker" ? 14 : 6;
    const g = svg("g", {
      class: `node ${node.role}`, tabindex: 0, role: "button", "data-node": node.id, transform: `translate(${spot.x} ${spot.y})`,
    });
    const own = { w: size.body ? size.w : NODE.w, h: NODE.h };
    if (size.body) g.append(svg("rect", { class: "loop", x: 0, y: 0, width: size.w, height: size.h, rx: 10 }));
    const name = node.id.slice(this.ownerOf(node) === "" ? 0 : (node.inside ?? "").length + 1) || node.id;
    const op = cutTo(node.op, own.w * 0.56, 6.6);
    const state = svg("text", { class: "muted", x: own.w - 10, y: 37, "text-anchor": "end" });
    const bar = svg("g", { transform: `translate(10 ${own.h - 13})` });
    g.append(
      svg("rect", { class: "body", width: own.w, height: own.h, rx: size.body ? 10 : shape }),
      svg("text", { class: "id", x: 10, y: 19 }, [cutTo(name, own.w - 20)]),
      svg("text", { class: "muted", x: 10, y: 37 }, [op]),
      state, bar, svg("title", {}, [`${node.id} (${node.op})`]));
    g.addEventListener("click", () => this.onChoose(node.id));
    g.addEventListener("focus", () => this.onChoose(node.id));
    g.addEventListener("keydown", (event) => this.step(event, node.id));
    this.layersOf.above.append(g);
    this.places.set(node.id, spot);
    this.drawn.set(node.id, { g, state, bar, width: own.w - 20, besideOp: own.w - 28 - op.length * 6.6 });
  }

  drawEdges(graph, spots, x, y) {
    const out = new Map(), into = new Map();
    for (const link of graph.links) {
      for (const [map, id] of [[out, link.a], [into, link.b]]) {
        if (!map.has(id)) map.set(id, []);
        map.get(id).push(link);
      }
    }
    // Ends that lie side by side have the order of what is at their other ends.
    const middle = (id) => spots.get(id).x + spots.get(id).w / 2;
    for (const list of out.values()) list.sort((p, q) => middle(p.b) - middle(q.b));
    for (const list of into.values()) list.sort((p, q) => middle(p.a) - middle(q.a));
    for (const link of graph.links) {
      const a = spots.get(link.a), b = spots.get(link.b);
      const from = out.get(link.a), to = into.get(link.b);
      const start = { x: a.x + (a.w * (from.indexOf(link) + 1)) / (from.length + 1), y: a.y + a.h };
      const end = { x: b.x + (b.w * (to.indexOf(link) + 1)) / (to.length + 1), y: b.y };
      const inside = link.inner !== undefined;
      const box = inside ? graph.boxes.find((candidate) => candidate.id === link.from) : null;
      const via = (link.inner ?? link.via ?? []).map((turn) => ({
        x: turn.x + x + (box ? box.x + box.pad.x : 0), y: turn.y + y + (box ? box.y + box.pad.top : 0), reach: turn.reach,
      }));
      this.drawEdge(link.edge, start, via, end, from.length, to.length, to.indexOf(link), Boolean(inside && box.boxed), b.boxed && !inside ? PAD.top : 0);
    }
  }

  // `place`: among the `ins` edges that end there. `lift`: how far above its end the title of a box may stand.
  drawEdge(edge, start, via, end, outs, ins, place, boxed, lift) {
    let path = `M${start.x} ${start.y}`, last = start;
    const curve = (to) => {
      const bend = Math.max(14, (to.y - last.y) / 2);
      path += `C${last.x} ${last.y + bend} ${to.x} ${to.y - bend} ${to.x} ${to.y}`;
      last = to;
    };
    for (const turn of via) {
      curve({ x: turn.x, y: turn.y - turn.reach });
      path += `V${turn.y + turn.reach}`;
      last = { x: turn.x, y: turn.y + turn.reach };
    }
    curve({ x: end.x, y: end.y - 5 });
    path += `m-4 -1l4 6l4 -6`;
    const line = svg("path", { class: `edge ${edge.kind}`, d: path });
    const title = svg("title");
    line.append(title);
    this.layersOf.lines.append(line);
    // Beside the end where the edge is alone; else above its target, to the outside.
    const left = outs > 1 && ins > 1 && place === 0;
    const spot = outs === 1 ? { x: start.x + 7, y: start.y + 16 } : { x: end.x + 7, y: end.y - 11 - lift };
    const label = svg("text", {
      class: boxed ? "label ingroup" : "label", x: left ? spot.x - 14 : spot.x, y: spot.y, "text-anchor": left ? "end" : "start",
      "data-edge": edge.index,
    });
    this.layersOf.labels.append(label);
    this.drawn.set(`edge ${edge.index}`, { line, label, title });
  }

  // The arrow keys go along the edges, and between nodes that lie side by side.
  step(event, id) {
    const here = this.places.get(id);
    const along = { ArrowDown: ["from", "to"], ArrowUp: ["to", "from"] }[event.key];
    let next;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return this.onChoose(id);
    }
    if (along) {
      next = this.edges.find((edge) => edge[along[0]] === id && this.places.has(edge[along[1]]))?.[along[1]];
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const sign = event.key === "ArrowRight" ? 1 : -1;
      const beside = [...this.places].filter(([other, spot]) => other !== id && (spot.x - here.x) * sign > 0 && Math.abs(spot.y - here.y) < 90);
      next = beside.sort(([, p], [, q]) => Math.hypot(p.x - here.x, 3 * (p.y - here.y)) - Math.hypot(q.x - here.x, 3 * (q.y - here.y)))[0]?.[0];
    }
    if (!next) return;
    event.preventDefault();
    const target = this.drawn.get(next).g;
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  choose(id) {
    for (const [key, parts] of this.drawn) parts.g?.classList.toggle("chosen", key === id);
  }

  // `shares`: parts of time by reason; they add up to 1 at most.
  updateNode(id, text, shares, state, label) {
    const parts = this.drawn.get(id);
    if (!parts) return;
    // The name of a node that it is fused with may be of any length; counts stay whole.
    parts.state.textContent = text.startsWith("in ") ? cutTo(text, parts.besideOp, 6.6) : text;
    parts.g.setAttribute("aria-label", label);
    for (const name of ["waiting", "running", "finished"]) parts.g.classList.toggle(name, name === state);
    let x = 0;
    const bar = [svg("rect", { class: "bar", width: parts.width, height: 5, rx: 2 })];
    for (const [reason, share] of shares) {
      const w = share * parts.width;
      if (w >= 0.5) bar.push(svg("rect", { class: `part ${reason}`, x, width: w, height: 5 }));
      x += w;
    }
    parts.bar.replaceChildren(...bar);
  }

  updateEdge(index, text, title, moving) {
    const parts = this.drawn.get(`edge ${index}`);
    if (!parts) return;
    parts.label.textContent = text;
    parts.title.textContent = title;
    parts.line.classList.toggle("moving", moving);
  }
}
