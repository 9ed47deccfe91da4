// Buttons, keys and everything that is not the chart.
function drawLegend() {
  const legend = byId("legend");
  for (const kind of Object.keys(WORDS)) put(legend, put(make("li"), make("i", `k-${kind}`), make("span", "", WORDS[kind])));
  for (const [sign, words] of [["turn-sample", "turn"], ["turn-sample resumes", "resumed"], ["turn-sample bad", "ended badly"], ["gap-sample", "state file not written"], ["rung-sample", "deadline, and slack"], ["unseen-sample", "not seen"]]) {
    put(legend, put(make("li"), make("i", sign), make("span", "", words)));
  }
  legend.hidden = false;
}

function reset(states, reason) {
  state.states = new Set(states);
  state.reason = reason || "";
  state.find = byId("find").value = "";
  for (const chip of byId("chips").children) chip.setAttribute("aria-pressed", String(state.states.has(chip.dataset.state)));
  arrange();
}

function goTo(name) {
  const each = rows.find((one) => one.leg.name === name);
  if (!each) return;
  if (each.row.hidden) reset([], "");
  toggle(each, true);
  activate(state.shown.indexOf(each), true);
  draw(each);
  each.row.scrollIntoView({ block: "start" });
  byId("legs").scrollIntoView({ block: "start" });
}

async function copy(button) {
  const code = button.previousSibling;
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "copied";
  } catch {
    getSelection().selectAllChildren(code); // no clipboard here: selected, for the person's own Ctrl-C
    button.textContent = "selected";
  }
  setTimeout(() => { button.textContent = "copy"; }, 1500);
}

function listen() {
  byId("chips").addEventListener("click", (event) => {
    const chip = event.target.closest(".chip");
    if (!chip) return;
    if (!state.states.delete(chip.dataset.state)) state.states.add(chip.dataset.state);
    state.reason = "";
    chip.setAttribute("aria-pressed", String(state.states.has(chip.dataset.state)));
    arrange();
  });
  byId("find").addEventListener("input", (event) => { state.find = event.target.value.trim(); arrange(); });
  byId("order").addEventListener("change", (event) => { state.order = event.target.value; arrange(); });
  byId("in").addEventListener("click", () => zoom(2));
  byId("out").addEventListener("click", () => zoom(0.5));
  byId("fit").addEventListener("click", () => zoom(0));
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".copy"), link = event.target.closest("a[data-leg]"), group = event.target.closest("a[data-reason]");
    const name = event.target.closest(".name");
    if (button) copy(button);
    else if (link) { event.preventDefault(); goTo(link.dataset.leg); }
    else if (group) { event.preventDefault(); reset([group.dataset.state], group.dataset.reason); byId("legs").scrollIntoView(); byId("legs").focus({ preventScroll: true }); }
    else if (name) {
      const each = rows.find((one) => one.name === name);
      activate(state.shown.indexOf(each), false);
      toggle(each);
    }
  });
  addEventListener("beforeprint", () => rows.forEach(draw));
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, select");
  if (event.key === "Escape") {
    if (typing) { reset([], ""); activate(0, true); } else { for (const each of rows) toggle(each, false); if (state.states.size || state.reason) reset([], ""); }
    return;
  }
  if (typing) return;
  const moves = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };
  const within = event.target.closest(".chart");
  if (event.key in moves && (within || event.key.length === 1)) activate(state.active + moves[event.key], true);
  else if (within && event.key === "Home") activate(0, true);
  else if (within && event.key === "End") activate(state.shown.length - 1, true);
  else if (event.key === "/") { byId("find").focus(); byId("find").select(); }
  else if (event.key === "+" || event.key === "=") zoom(2);
  else if (event.key === "-") zoom(0.5);
  else if (event.key === "0") zoom(0);
  else return;
  event.preventDefault();
}

function tips() {
  const tip = byId("tip");
  document.addEventListener("pointermove", (event) => {
    const on = event.target.closest && event.target.closest("[data-tip]");
    tip.hidden = !on;
    if (!on) return;
    tip.textContent = on.dataset.tip;
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 12 : event.clientY + 18}px`;
  });
}

function drawRest() {
  for (const time of document.querySelectorAll("time")) time.title = local(new Date(time.dateTime));
  for (const id of ["tools", "keys"]) byId(id).hidden = false;
  for (const button of document.querySelectorAll(".copy")) button.hidden = false;
  if (data.rungs.length) put(byId("ladder"), put(make("div", "panel"), make("h3", "", "The gate's own rungs"), rungTable(data.rungs)));
  const told = [...data.moments.map(([at, text]) => [at, text]), ...data.blind.map(([, begin, end, text]) => [begin, `${text} for ${short(lasted(begin, end))}`])];
  told.sort((a, b) => a[0] - b[0]);
  if (told.length) put(byId("moments"), put(make("div", "panel"), make("h3", "", "What happened to the gate"), cells(["at", "UTC", ""], told.map(([at, text]) => [signed(at), utc(at), make("span", "", text)]))));
  const stale = byId("stale");
  const old = stale ? (Date.now() - Date.parse(stale.dataset.written)) / 1000 : 0;
  if (old > 600) { stale.textContent = `This page is ${short(old)} old: it tells of then, not of now.`; stale.hidden = false; }
}

drawLegend();
drawRest();
listen();
tips();
document.addEventListener("keydown", keys);
drawChart();
document.documentElement.dataset.ready = "yes";
