// A leg's evidence, opened below its lane.
function cells(heads, rows) {
  const table = make("table"), head = make("tr");
  for (const name of heads) head.append(make("th", "", name));
  put(table, put(make("thead"), head));
  const body = make("tbody");
  for (const row of rows) {
    const line = make("tr");
    for (const cell of row) put(line, cell instanceof Node ? put(make("td"), cell) : make("td", "num", cell));
    body.append(line);
  }
  return put(table, body);
}

function block(title, ...children) {
  return put(make("section"), make("h3", "", title), ...children);
}

function commandLine(text) {
  const line = put(make("span", "command"), make("code", "", text), make("button", "copy", "copy"));
  line.lastChild.type = "button";
  return line;
}

function explanation(leg) {
  const text = make("pre", "explain");
  let line = put(text, make("span", "line")).lastChild;
  for (const [classes, piece] of leg.explain) {
    piece.split("\n").forEach((part, index) => {
      if (index) line = put(text, make("span", "line")).lastChild;
      if (part) line.append(make("span", classes, part));
    });
  }
  return text;
}

function turnTable(leg) {
  const rows = leg.turns.map(([ordinal, kind, how, begin, end, outcome, said]) => {
    const ended = outcome ? outcome.replaceAll("_", " ") : end === null ? "runs" : "not known";
    const what = put(make("div"), make("span", BAD_ENDS.has(outcome) ? "bad" : "", ended));
    if (said) what.append(make("div", "said", said));
    return [String(ordinal), TURNS[kind] || kind, HOWS[how] || how, signed(begin), short(lasted(begin, end)), what];
  });
  return cells(["", "turn", "", "began", "took", "ended"], rows);
}

function meter(used, budget, hit) {
  const part = Math.min(1, used / budget);
  const bar = put(make("span", `meter${hit ? " hit" : part > 0.8 ? " close" : ""}`), make("i"));
  bar.firstChild.style.width = `${100 * part}%`;
  return bar;
}

function rungTable(rungs) {
  const rows = rungs.map(([name, budget, begin, used, hit, open]) => {
    if (used === null) return [name, short(budget), "", make("span"), "never began"];
    const left = budget - used;
    const words = hit ? make("span", "hit", "reached") : make("span", left < 0 ? "bad" : "", left < 0 ? `overrun by ${short(-left)}` : `${short(left)} left`);
    if (open) words.append(" (still runs)");
    return [name, short(budget), short(used), meter(used, budget, hit), words];
  });
  return cells(["rung", "budget", "used", "", "slack"], rows);
}

function facts(leg) {
  const list = make("dl", "facts");
  const add = (name, value) => { if (value) put(list, make("dt", "", name), make("dd", "", value)); };
  add("workload", leg.workload);
  add("counts as", leg.blocking ? "blocking" : "informing: it never changes the decision");
  for (const [key, value] of leg.fields) add(key, value);
  const [turns, resumes, recaps, redrives] = leg.counts;
  const again = [[resumes, "resumed"], [recaps, "begun afresh with a recap"], [redrives, "to go on"]].filter(([count]) => count);
  if (turns) add("turns", [String(turns), ...again.map(([count, words]) => `${count} ${words}`)].join(", "));
  if (leg.cost) add("cost", `$${leg.cost.toFixed(2)}`);
  add("agent", leg.agent);
  add("starts", (leg.starts || []).join(", "));
  add("survivors", (leg.survivors || []).join("\n"));
  add("secrets found in", (leg.secrets || []).join("\n"));
  return list;
}

function phases(leg) {
  return cells(["phase", "began", "took"], leg.spans.map(([kind, begin, end]) => [WORDS[kind], `${signed(begin)} · ${utc(begin)}`, short(lasted(begin, end)) + (end === null ? " so far" : "")]));
}

function drawDetail(place, leg) {
  const own = leg.turns.length || leg.spans.length;
  const left = put(make("div", "stack"), block("Why", explanation(leg)));
  const right = put(make("div", "stack"), block("What it is", facts(leg)));
  for (const remark of leg.remarks || []) place.append(make("p", "remark full", remark));
  if (leg.rungs.length) right.append(block("The ladder", rungTable(leg.rungs)));
  if (own) right.append(block("Phases", phases(leg)));
  if (leg.gaps.length) right.append(block("State file not written", cells(["from", "for"], leg.gaps.map(([begin, end]) => [signed(begin), short(lasted(begin, end))]))));
  if (leg.moments) left.append(block("On the way", cells(["at", ""], leg.moments.map(([at, text]) => [signed(at), make("span", "", text)]))));
  if (!data.simulated) left.append(block("Look further", commandLine(`gate explain ${leg.name} --run ${data.run}`), commandLine(`gate logs ${leg.name} --run ${data.run}`)));
  put(place, left, right);
  const below = [];
  if (leg.turns.length) below.push(block("Turns", turnTable(leg)));
  if (leg.log) below.push(block("The end of its transcript", make("pre", "log", leg.log)));
  for (const each of below) each.classList.add("full");
  put(place, ...below);
}
