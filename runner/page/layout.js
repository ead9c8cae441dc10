// Where things of a graph lie: layers from top to bottom, as Sugiyama has it. Pure: it knows sizes, and draws nothing.
"use strict";

// Puts `items` {id, w, h} with `links` {from, to} into layers. Gives each item x and y (its upper left corner), and each
// link `via`, the points at which it passes the layers in between. Returns {w, h}.
function layered(items, links, gap) {
  const byId = new Map(items.map((item) => [item.id, { ...item, item, before: [], behind: [] }]));
  const real = links.filter((link) => link.from !== link.to && byId.has(link.from) && byId.has(link.to));
  for (const link of forward(byId, real)) {
    byId.get(link.from).behind.push(byId.get(link.to));
    byId.get(link.to).before.push(byId.get(link.from));
  }
  const depth = (place) => place.layer ?? (place.layer = Math.max(-1, ...place.before.map(depth)) + 1);
  byId.forEach(depth);
  // A source that is only needed far below lies above what needs it.
  byId.forEach((place) => {
    if (place.before.length === 0 && place.behind.length > 0) place.layer = Math.min(...place.behind.map(depth)) - 1;
  });

  const layers = [];
  const put = (place) => ((layers[place.layer] ??= []).push(place), place);
  byId.forEach(put);
  for (const place of byId.values()) place.up = [], place.down = [];
  const join = (a, b) => (a.down.push(b), b.up.push(a));
  const routes = new Map();
  for (const link of real) {
    const from = byId.get(link.from), to = byId.get(link.to);
    const route = [];
    let last = from;
    for (let layer = from.layer + 1; layer < to.layer; ++layer) {
      const turn = put({ layer, w: 12, h: 0, up: [], down: [] });
      join(last, turn);
      route.push(last = turn);
    }
    if (from.layer < to.layer) join(last, to);
    routes.set(link, route);
  }
  for (let x = 0; x < layers.length; ++x) layers[x] ??= [];

  arrange(layers);
  align(layers, gap.x);
  let y = 0;
  for (const layer of layers) {
    const height = Math.max(0, ...layer.map((place) => place.h));
    for (const place of layer) place.y = y + (place.item ? 0 : height / 2), place.height = height;
    y += height + gap.y;
  }
  const all = layers.flat();
  const least = all.length ? Math.min(...all.map((place) => place.x)) : 0;
  for (const place of all) {
    place.x -= least;
    if (place.item) place.item.x = place.x, place.item.y = place.y;
  }
  for (const link of links)
    link.via = (routes.get(link) ?? []).map((turn) => ({ x: turn.x + turn.w / 2, y: turn.y, reach: turn.height / 2 }));
  return { w: Math.max(0, ...all.map((place) => place.x + place.w)), h: Math.max(0, y - gap.y) };
}

// The links without those that would close a circle.
function forward(byId, links) {
  const out = new Map([...byId.keys()].map((id) => [id, []]));
  for (const link of links) out.get(link.from).push(link);
  const state = new Map(), kept = [];
  const visit = (id) => {
    state.set(id, 1);
    for (const link of out.get(id)) {
      if (state.get(link.to) === 1) continue;
      kept.push(link);
      if (!state.has(link.to)) visit(link.to);
    }
    state.set(id, 2);
  };
  for (const id of byId.keys()) if (!state.has(id)) visit(id);
  return kept;
}

// The order within each layer: a place goes to the middle of its neighbours', down and up again, while that helps.
function arrange(layers) {
  const number = () => layers.forEach((layer) => layer.forEach((place, i) => (place.at = i)));
  const crossings = () => {
    let sum = 0;
    for (const layer of layers) {
      const pairs = layer.flatMap((a) => a.down.map((b) => [a.at, b.at]));
      for (let i = 0; i < pairs.length; ++i)
        for (let j = 0; j < i; ++j) if ((pairs[i][0] - pairs[j][0]) * (pairs[i][1] - pairs[j][1]) < 0) ++sum;
    }
    return sum;
  };
  number();
  let best = layers.map((layer) => [...layer]), least = crossings();
  for (let round = 0; round < 8 && least > 0; ++round) {
    const side = round % 2 === 0 ? "up" : "down";
    for (const layer of side === "up" ? layers : [...layers].reverse()) {
      const wish = (place) => place[side].length ? mean(place[side].map((other) => other.at)) : place.at;
      const wishes = new Map(layer.map((place) => [place, wish(place)]));
      layer.sort((a, b) => wishes.get(a) - wishes.get(b));
      layer.forEach((place, i) => (place.at = i));
    }
    const now = crossings();
    if (now < least) best = layers.map((layer) => [...layer]), least = now;
  }
  best.forEach((layer, i) => (layers[i] = layer));
  number();
}

// x of each place: near the middle of its neighbours, in the order of its layer, without overlap.
function align(layers, gap) {
  for (const layer of layers) {
    let x = 0;
    for (const place of layer) place.x = x, x += place.w + gap;
  }
  const centre = (place) => place.x + place.w / 2;
  for (let round = 0; round < 12; ++round) {
    const sides = round % 2 === 0 ? ["up"] : ["down"];
    for (const layer of round % 2 === 0 ? layers : [...layers].reverse()) {
      const wish = layer.map((place) => {
        const others = sides.flatMap((side) => place[side]);
        return (others.length ? mean(others.map(centre)) : centre(place)) - place.w / 2;
      });
      settle(layer, wish, gap);
    }
  }
}

// The places of a layer as near to their wishes as their order and widths allow: groups that touch move as one.
function settle(layer, wish, gap) {
  const groups = [];
  layer.forEach((place, i) => {
    let group = { places: [place], width: place.w, wishes: [wish[i]], x: wish[i] };
    while (groups.length && groups.at(-1).x + groups.at(-1).width + gap > group.x) {
      const left = groups.pop();
      const wishes = [...left.wishes, ...group.wishes.map((x) => x - left.width - gap)];
      group = { places: [...left.places, ...group.places], width: left.width + gap + group.width, wishes, x: mean(wishes) };
    }
    groups.push(group);
  });
  for (const group of groups) {
    let x = group.x;
    for (const place of group.places) place.x = x, x += place.w + gap;
  }
}

function mean(numbers) {
  return numbers.reduce((a, b) => a + b, 0) / numbers.length;
}
