// The chart: a row a leg, drawn when it comes into view, so that a thousand legs open as fast as eight.
const chart = byId("chart");
const state = { states: new Set(), reason: "", find: "", order: "worst", zoom: 1, shown: [], active: 0 };
const rows = [];
const axis = { place: make("div", "ticks"), lines: [] };

function subtitle(leg) {
  const parts = [leg.state.replace("_", " ")];
  if (chart.classList.contains("dense")) return leg.took === null ? leg.state : short(leg.took);
  if (leg.took !== null) parts[0] += leg.at === null ? ` for ${short(leg.took)}` : ` in ${short(leg.took)}`;
  const rung = tightest(leg);
  if (rung) parts.push(slack(rung));
  return parts.join(" · ");
}

function makeRow(leg, index) {
  const row = make("div", "leg"), name = make("button", "name"), id = make("span", "id", leg.name);
  row.id = `leg-${index}`;
  name.type = "button";
  name.tabIndex = -1;
  name.title = leg.name;
  name.setAttribute("aria-expanded", "false");
  name.setAttribute("aria-label", told(leg));
  if (!leg.blocking) id.append(" ", make("em", "", "informing"));
  if (leg.flaky) id.append(" ", make("em", "", "flaky"));
  put(name, make("span", `mark state-${leg.state.replace(" ", "-")}`, leg.glyph), id, make("span", "sub", subtitle(leg)));
  const track = make("div", "track");
  track.setAttribute("aria-hidden", "true");
  put(row, put(make("div", "line"), name, track));
  rows.push({ row, name, track, leg, index, drawn: false, detail: null });
  return row;
}

function draw(each) {
  if (each.drawn) return;
  each.drawn = true;
  drawLane(each.track, each.leg, axis.lines);
}

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) draw(rows[Number(entry.target.id.slice(4))]);
}, { root: chart, rootMargin: "400px 0px" });

function toggle(each, open) {
  const wanted = open === undefined ? !each.detail : open;
  if (wanted === Boolean(each.detail)) return;
  each.name.setAttribute("aria-expanded", String(wanted));
  each.row.classList.toggle("open", wanted);
  if (wanted) {
    each.detail = make("div", "detail");
    drawDetail(each.detail, each.leg);
    each.row.append(each.detail);
  } else {
    each.detail.remove();
    each.detail = null;
  }
}

function activate(position, focus) {
  if (!state.shown.length) return;
  const old = state.shown[state.active];
  if (old) old.name.tabIndex = -1;
  state.active = Math.min(Math.max(position, 0), state.shown.length - 1);
  const each = state.shown[state.active];
  each.name.tabIndex = 0;
  if (focus) { each.name.focus({ preventScroll: true }); each.row.scrollIntoView({ block: "nearest" }); }
}

const ORDERS = {
  worst: () => data.worst.map((index) => rows[index]),
  file: () => rows.slice(),
  long: () => rows.slice().sort((a, b) => (b.leg.took || 0) - (a.leg.took || 0)),
  tight: () => rows.slice().sort((a, b) => share(b.leg) - share(a.leg)),
};

function matches(leg) {
  if (state.states.size && !state.states.has(leg.state)) return false;
  if (state.reason && leg.reason !== state.reason) return false;
  if (!state.find) return true;
  const text = `${leg.name} ${leg.state} ${leg.reason} ${leg.sentence} ${leg.workload}`.toLowerCase();
  return state.find.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function arrange() {
  state.shown = ORDERS[state.order]().filter((each) => matches(each.leg));
  const wanted = new Set(state.shown);
  for (const each of rows) each.row.hidden = !wanted.has(each);
  put(byId("rows"), ...state.shown.map((each) => each.row));
  const some = state.shown.length < rows.length;
  byId("status").textContent = some ? `${state.shown.length} of ${rows.length} legs shown${state.reason ? `, reason ${state.reason}` : ""}` : "";
  for (const each of rows) each.name.tabIndex = -1;
  activate(0, false);
}

function measure() {
  const wide = chart.clientWidth;
  if (!wide) return;
  chart.style.setProperty("--wide", `${wide}px`);
  chart.style.setProperty("--zoom", String(state.zoom));
  axis.lines = drawAxis(axis.place, axis.place.clientWidth);
  for (const each of rows) {
    const was = each.drawn;
    each.drawn = false;
    if (was) draw(each);
  }
}

function zoom(factor) {
  const before = state.zoom, middle = chart.scrollLeft + chart.clientWidth / 2;
  state.zoom = factor === 0 ? 1 : Math.min(64, Math.max(1, state.zoom * factor));
  measure();
  chart.scrollLeft = (middle * state.zoom) / before - chart.clientWidth / 2;
}

function drawChart() {
  chart.classList.toggle("dense", legs.length > 40);
  const corner = put(make("div"), make("div", "", `${legs.length} leg${legs.length === 1 ? "" : "s"}`), make("div", "hint", "since the first poll, and UTC"));
  put(chart, put(make("div", "axis"), corner, axis.place), make("div", ""));
  chart.lastChild.id = "rows";
  legs.forEach((leg, index) => chart.lastChild.append(makeRow(leg, index)));
  chart.hidden = false;
  measure();
  arrange();
  for (const each of rows) seen.observe(each.row);
  new ResizeObserver(() => measure()).observe(chart);
}
