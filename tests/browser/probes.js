// What the tests ask of a page.
(() => {
  const row = (name) => [...document.querySelectorAll(".leg")].find((e) => e.querySelector(".name").title === name);

  const rgb = (text) => text.match(/[\d.]+/g).map(Number);
  const linear = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);

  function ground(element) {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (colour.startsWith("rgb") && (rgb(colour)[3] ?? 1) === 1) return rgb(colour);
    }
    return [255, 255, 255];
  }

  return {
    texts: (selector) => [...document.querySelectorAll(selector)].map((e) => e.textContent),
    visible: () => [...document.querySelectorAll(".leg")].filter((e) => !e.hidden).length,
    drawn: () => [...document.querySelectorAll(".track")].filter((e) => e.childElementCount).length,
    labels: () => Object.fromEntries([...document.querySelectorAll(".name")].map((e) => [e.title, e.ariaLabel])),
    open: (name) => row(name).querySelector(".name").click(),
    lines: (name) => [...row(name).querySelectorAll("pre.explain .line")].map((e) => e.textContent),

    // Contrast of the first element that each selector finds, by the formula of WCAG 2.
    contrast: (...selectors) => selectors.map((selector) => [selector, document.querySelector(selector)])
      .filter(([, element]) => element)
      .map(([selector, element]) => {
        const pair = [light(rgb(getComputedStyle(element).color)), light(ground(element))].sort((a, b) => b - a);
        return [selector, (pair[0] + 0.05) / (pair[1] + 0.05)];
      }),

    // Where the segments of a lane begin and end, as shares of its track.
    segments: (name) => {
      const track = row(name).querySelector(".track").getBoundingClientRect();
      return [...row(name).querySelectorAll(".seg")].map((e) => {
        const box = e.getBoundingClientRect();
        return [(box.left - track.left) / track.width, (box.right - track.left) / track.width];
      });
    },

    // What is really painted: the row's name, and something of its lane at the chart's right end.
    painted: (name) => {
      const box = row(name).getBoundingClientRect(), chart = document.getElementById("chart").getBoundingClientRect();
      const at = (x) => document.elementFromPoint(x, box.top + 20);
      return [at(chart.left + 40).closest(".name")?.title, Boolean(at(chart.left + chart.width * 0.6).closest(".track"))];
    },

    // Pixels between the first two labels of the axis, what the second says, and the width of the track.
    ticks: () => {
      const found = [...document.querySelectorAll(".tick")];
      const [first, second] = found.map((e) => e.getBoundingClientRect().left);
      return [second - first, found[1].querySelector("b").textContent, document.querySelector(".ticks").clientWidth];
    },
  };
})()
