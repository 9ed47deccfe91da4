// What everything else needs: the data, elements that only ever hold text, durations and times.
const data = JSON.parse(document.getElementById("data").textContent);
const legs = data.legs;
const byId = (id) => document.getElementById(id);

function make(tag, classes, text) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  if (text !== undefined) made.textContent = text;
  return made;
}

function put(parent, ...children) {
  for (const child of children) if (child) parent.append(child);
  return parent;
}

// The twin of `texts.short`.
function short(seconds) {
  if (seconds < 0) return `-${short(-seconds)}`;
  const tenths = Math.floor(seconds * 10 + 0.5);
  if (tenths < 100 && tenths % 10) return `${Math.floor(tenths / 10)}.${tenths % 10}s`;
  const whole = Math.floor(seconds + 0.5);
  for (const [big, bigName, small, smallName] of [[86400, "d", 3600, "h"], [3600, "h", 60, "m"], [60, "m", 1, "s"]]) {
    if (whole >= big) {
      const first = Math.floor(whole / big);
      const second = Math.floor((whole % big) / small);
      return second ? `${first}${bigName} ${second}${smallName}` : `${first}${bigName}`;
    }
  }
  return `${whole}s`;
}

const pad = (number) => String(number).padStart(2, "0");

// A time on the axis as UTC.
function utc(at, long) {
  const date = new Date((data.begin + at) * 1000);
  const time = `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`;
  return long ? `${date.toISOString().slice(0, 10)} ${time} UTC` : time;
}

function local(date) {
  return `${date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" })} where you are`;
}

const signed = (at) => (at < 0 ? `−${short(-at)}` : `+${short(at)}`);
const ending = (end) => (end === null ? data.elapsed : end);
const lasted = (begin, end) => Math.max(0, ending(end) - begin);

const WORDS = {
  queue: "queued", start: "starting", prepare: "preparing", setup: "set-up", launch: "launching the task", run: "running",
  read: "ended, evidence being read",
};
const TURNS = { setup: "set-up", nudge: "nudge", task: "task", finish_launch: "finish the launch", redrive: "go on" };
const HOWS = { starts: "starts the conversation", resumes: "resumes it", recap: "fresh conversation with a recap" };
