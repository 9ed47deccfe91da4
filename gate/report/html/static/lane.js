// One leg's lane. Everything in it is also in the tables of its details; what is drawn is for the eye.
const BAD_ENDS = new Set(["empty", "failed", "timed_out", "no_start", "session_lost", "session_used", "killed", "unavailable"]);

function tightest(leg) {
  let found = null, most = -1;
  for (const rung of leg.rungs) {
    const [name, budget, , used, hit] = rung;
    if (used === null || name === "turn" || (!hit && name === "workload time-out")) continue;
    const share = hit ? 2 : used / budget;
    if (share > most) { most = share; found = rung; }
  }
  return found;
}

const share = (leg) => { const rung = tightest(leg); return rung ? (rung[4] ? 2 : rung[3] / rung[1]) : -1; };

function slack([name, budget, , used, hit]) {
  if (hit) return `${name} reached`;
  return used > budget ? `${name} overrun by ${short(used - budget)}` : `${name}: ${short(budget - used)} of ${short(budget)} left`;
}

function told(leg) {
  const parts = [`${leg.name}: ${leg.state}${leg.reason ? `, ${leg.reason.replaceAll("_", " ")}` : ""}`];
  for (const [kind, begin, end] of leg.spans) parts.push(`${WORDS[kind]} ${short(lasted(begin, end))}`);
  const [turns, resumes] = leg.counts;
  if (turns) parts.push(`${turns} turns, ${resumes} resumed`);
  const rung = tightest(leg);
  if (rung) parts.push(slack(rung));
  return `${parts.join("; ")}.`;
}

function segment(kind, begin, end) {
  const bar = between(make("i", `seg k-${kind}`), begin, ending(end));
  bar.dataset.tip = `${WORDS[kind]} ${short(lasted(begin, end))}${end === null ? " so far" : ""}\n${signed(begin)} to ${end === null ? "now" : signed(end)} · ${utc(begin)} UTC`;
  return bar;
}

function turnMark([ordinal, kind, how, begin, end, outcome, said]) {
  const bad = BAD_ENDS.has(outcome);
  const mark = between(make("i", `turn ${how}${bad ? " bad" : ""}`), begin, ending(end));
  const ended = outcome ? ` · ${outcome.replaceAll("_", " ")}` : end === null ? " · runs" : "";
  mark.dataset.tip = `turn ${ordinal}, ${TURNS[kind] || kind}: ${HOWS[how] || how}\n${short(lasted(begin, end))}${ended}${said ? `\n${said.slice(-160)}` : ""}`;
  return mark;
}

const DRAWN = new Set(["queue", "set-up", "task", "workload time-out", "silence", "stall"]);

function rungMarks(leg) {
  const marks = [];
  let ends = null, last = null; // one line of slack, to the last deadline that is in sight
  for (const rung of leg.rungs) {
    const [name, budget, begin, used, hit] = rung;
    const at = begin + budget;
    if (begin === null || !DRAWN.has(name) || at < from || (at > to && !hit)) continue;
    const mark = make("i", `deadline${hit ? " hit" : ""}`);
    mark.style.left = percent(at);
    mark.dataset.tip = `${slack(rung)}\ndeadline ${signed(at)} · ${utc(at)} UTC`;
    marks.push(mark);
    if (used !== null && used < budget && (name === "task" || name === "workload time-out")) {
      ends = begin + used;
      last = Math.max(last, at);
    }
  }
  if (last !== null && last > ends) marks.unshift(between(make("i", "slack"), ends, last));
  return marks;
}

function flag(leg, wide) {
  if (leg.at === null || leg.carried) return null;
  const mark = make("i", `flag state-${leg.state}`, `${leg.glyph} ${leg.outcome.replace("_", " ")}`);
  mark.style.left = percent(leg.at);
  if (wide * (1 - (leg.at - from) / (to - from)) < 22 + 9 * leg.outcome.length) mark.classList.add("left");
  mark.dataset.tip = `${leg.outcome} after ${short(leg.at)}\n${leg.sentence}`;
  return mark;
}

function drawLane(track, leg, lines) {
  track.replaceChildren();
  for (const at of lines) {
    const line = make("i", "grid");
    line.style.left = percent(at);
    track.append(line);
  }
  if (leg.carried) return put(track, make("span", "carried-bar", "carried from an earlier attempt: measured then, with identical digests"));
  for (const span of leg.spans) track.append(segment(...span));
  for (const [begin, end] of leg.gaps) {
    const gap = between(make("i", "gap"), begin, ending(end));
    gap.dataset.tip = `state file not written for ${short(lasted(begin, end))}\n${signed(begin)} to ${end === null ? "now" : signed(end)}`;
    track.append(gap);
  }
  for (const [, begin, end] of data.blind) track.append(between(make("i", "unseen"), begin, ending(end)));
  for (const turn of leg.turns) track.append(turnMark(turn));
  put(track, ...rungMarks(leg));
  if (data.running) {
    const now = make("i", "now");
    now.style.left = percent(data.elapsed);
    track.append(now);
  }
  return put(track, flag(leg, track.clientWidth));
}
