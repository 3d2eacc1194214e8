/* The page of a flame graph: D has the samples, from which everything is drawn. Names are set only
 * as text. Runs in an HTML page and in an SVG image; makes no network request. */
(function () {
'use strict';
const XHTML = 'http://www.w3.org/1999/xhtml', ROW = 18, LEAST = 0.6;
const stride = 1 + D.dims.length + D.widths.length;
const root = document.getElementById('kprof');
let group = D.group, width = D.width, icicle = true, tree, zoomed, pattern = null;

function make(tag, parent, className, text) {
  const e = document.createElementNS(XHTML, tag);
  if (className) e.setAttribute('class', className);
  if (text !== undefined) e.textContent = text;
  if (parent) parent.appendChild(e);
  return e;
}

function option(select, text, value, chosen) {
  const o = make('option', select, '', text);
  o.setAttribute('value', String(value));
  if (chosen) o.setAttribute('selected', 'selected');
}

/* ---- the tree of what is chosen ---- */

function node(name, parent) {
  return {name: name, parent: parent, total: 0, self: 0, children: [], x: 0, depth: parent ? parent.depth + 1 : 0};
}

function build() {
  const all = node('all', null), at = 1 + D.dims.length + width, groups = new Map();
  const parents = D.nodes[0], names = D.nodes[1], rows = D.rows;
  for (let r = 0; r < rows.length; r += stride) {
    const w = rows[r + at];
    if (!w) continue;
    const key = group < 0 ? -1 : rows[r + 1 + group];
    let g = groups.get(key);
    if (!g) {
      g = {of: [], top: all};
      if (group >= 0) {
        g.top = node(D.dims[group].labels[key], all);
        all.children.push(g.top);
      }
      groups.set(key, g);
    }
    const path = [];
    let n = rows[r];
    while (n && !g.of[n]) {
      path.push(n);
      n = parents[n];
    }
    let end = n ? g.of[n] : g.top;
    while (path.length) {
      n = path.pop();
      const child = node(D.names[names[n]], end);
      end.children.push(child);
      g.of[n] = end = child;
    }
    end.self += w;
  }
  const order = [all];
  for (let i = 0; i < order.length; i++)
    for (const c of order[i].children) order.push(c);
  for (let i = order.length; i-- > 0;) {
    const n = order[i];
    n.total += n.self;
    if (n.parent) n.parent.total += n.total;
  }
  for (const n of order)
    n.children.sort(function (a, b) { return b.total - a.total || (a.name > b.name ? 1 : -1); });
  tree = zoomed = all;
}

/* ---- text ---- */

function count(v) {
  return String(Math.round(v)).replace(/\B(?=(\d{3})+$)/g, ',');
}

function share(part, of) {
  return of ? (100 * part / of).toFixed(part === of ? 0 : 2) + '%' : '0%';
}

function hue(name) {
  const colon = name.indexOf(':'), module = colon > 0 ? name.slice(0, colon) : name.replace(/\.[^.]*$/, '');
  let h = 0;
  for (let i = 0; i < module.length; i++) h = (h * 31 + module.charCodeAt(i)) % 360;
  return h;
}

function hits(n) {
  return pattern && pattern.test(n.name);
}

/* ---- drawing ---- */

function frame(n, x, w, row, dim) {
  const e = make('div', graph, 'f' + (dim ? ' dim' : '') + (hits(n) ? ' hit' : ''), w > 24 ? n.name : '');
  e.style.left = x + 'px';
  e.style.width = Math.max(w - 1, 1) + 'px';
  e.style[icicle ? 'top' : 'bottom'] = row * ROW + 'px';
  e.style.setProperty('--h', hue(n.name));
  e.setAttribute('title', n.name + '\n' + count(n.total) + ' ' + D.widths[width] + ', ' +
    share(n.total, tree.total) + (n.self ? '; itself ' + share(n.self, tree.total) : ''));
  e.setAttribute('data-total', String(n.total));
  e.node = n;
}

function below(n, x, w, deepest) {
  if (w < LEAST) return deepest;
  frame(n, x, w, n.depth, false);
  deepest = Math.max(deepest, n.depth);
  const scale = w / (n.total || 1);
  for (const c of n.children) {
    deepest = below(c, x, c.total * scale, deepest);
    x += c.total * scale;
  }
  return deepest;
}

function draw() {
  graph.textContent = '';
  const w = Math.max(graph.clientWidth, 100);
  for (let n = zoomed.parent; n; n = n.parent) frame(n, 0, w, n.depth, true);
  const deepest = below(zoomed, 0, w, zoomed.depth);
  graph.style.height = (deepest + 1) * ROW + 'px';
  let found = 0;
  if (pattern) {
    const todo = [zoomed];
    while (todo.length) {
      const n = todo.pop();
      if (hits(n)) found += n.total;
      else for (const c of n.children) todo.push(c);
    }
  }
  status.textContent = zoomed.name + ': ' + count(zoomed.total) + ' ' + D.widths[width] + ', ' +
    share(zoomed.total, tree.total) + (pattern ? '; matched ' + share(found, zoomed.total) : '');
}

function again() {
  build();
  draw();
}

/* ---- controls ---- */

const image = document.documentElement, still = document.getElementById('still');
if (still) { /* an SVG image: it was as large as its still picture */
  image.removeChild(still);
  image.setAttribute('width', '100%');
  image.setAttribute('height', '100%');
}
make('h1', root, '', D.title);
const bar = make('div', root, 'bar');
const widths = make('select', bar);
widths.setAttribute('aria-label', 'Width');
D.widths.forEach(function (name, i) { option(widths, 'width: ' + name, i, i === width); });
const groups = make('select', bar);
groups.setAttribute('aria-label', 'Group');
option(groups, 'group: none', -1, group < 0);
D.dims.forEach(function (d, i) { if (d.labels.length > 3) option(groups, 'group: ' + d.name, i, i === group); });
const search = make('input', bar);
search.setAttribute('type', 'search');
search.setAttribute('placeholder', 'search (regular expression)');
search.setAttribute('aria-label', 'Search');
const out = make('button', bar, '', 'zoom out'), flip = make('button', bar, '', 'flame / icicle'),
  theme = make('button', bar, '', 'light / dark');
const status = make('div', root, 'status'), graph = make('div', root, 'graph');
if (D.notes) make('div', root, 'notes', D.notes);

let dark = window.matchMedia && window.matchMedia('(prefers-color-scheme: dark)').matches;
function paint() { root.setAttribute('data-theme', dark ? 'dark' : 'light'); }

widths.addEventListener('change', function () { width = Number(widths.value); again(); });
groups.addEventListener('change', function () { group = Number(groups.value); again(); });
search.addEventListener('input', function () {
  pattern = null;
  if (search.value) {
    try {
      pattern = new RegExp(search.value);
    } catch (e) {
      pattern = new RegExp(search.value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    }
  }
  draw();
});
graph.addEventListener('click', function (e) {
  if (e.target.node) {
    zoomed = e.target.node;
    draw();
  }
});
function zoomOut() { zoomed = tree; draw(); }
out.addEventListener('click', zoomOut);
flip.addEventListener('click', function () { icicle = !icicle; draw(); });
theme.addEventListener('click', function () { dark = !dark; paint(); });
window.addEventListener('resize', draw);
document.addEventListener('keydown', function (e) {
  if (e.key === 'Escape') zoomOut();
  else if (e.key === '/' && e.target !== search) {
    search.focus();
    e.preventDefault();
  }
});
paint();
again();
})();
