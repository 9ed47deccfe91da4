// Where a time stands on the page: one scale for all lanes.
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800];
const BEYOND = 1.25; // a deadline somewhat later than everything that happened is still drawn

function extent() {
  let first = 0, last = Math.max(data.elapsed, 0.1);
  for (const leg of legs) {
    for (const [, begin, end] of leg.spans) { first = Math.min(first, begin); last = Math.max(last, ending(end)); }
  }
  let shown = last;
  for (const leg of legs) {
    for (const [, budget, begin] of leg.rungs) {
      if (begin !== null && begin + budget <= first + (last - first) * BEYOND) shown = Math.max(shown, begin + budget);
    }
  }
  const room = (shown - first) * 0.01;
  return [first - (first < 0 ? room : 0), shown + Math.max(room, (last - first) * 0.1)];
}

const [from, to] = extent();
const percent = (at) => `${(100 * (Math.min(Math.max(at, from), to) - from)) / (to - from)}%`;

function between(element, begin, end) {
  element.style.left = percent(begin);
  element.style.width = `${Math.max(0, (100 * (Math.min(end, to) - Math.max(begin, from))) / (to - from))}%`;
  return element;
}

function ticks(width) {
  const wanted = ((to - from) / Math.max(1, width)) * 95;
  const step = STEPS.find((each) => each >= wanted) || STEPS[STEPS.length - 1];
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(Math.round(at * 10) / 10);
  return found;
}

function drawAxis(place, width) {
  place.replaceChildren();
  const found = ticks(width);
  for (const at of found) {
    const tick = put(make("div", "tick"), make("b", "", at === 0 ? "first poll" : signed(at)), make("span", "", utc(at)));
    tick.style.left = percent(at);
    place.append(tick);
  }
  for (const [, begin, end, text] of data.blind) {
    const mark = between(make("div", "unseen"), begin, ending(end));
    mark.dataset.tip = `${text}\n${utc(begin)} to ${end === null ? "now" : utc(end)} UTC, ${short(lasted(begin, end))}`;
    place.append(mark);
  }
  return found;
}
