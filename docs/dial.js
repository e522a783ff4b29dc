// The dial: a curve in the band that a release would print, for an epsilon, a number of records, cells and an adjacency.
// All numbers are those of dial.json, which docs/dial.py made with the package's own forecasts. Nothing is sent anywhere.
(() => {
  const LEAST = 0.01, MOST = 3, SILENT = 25, NICE = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
  const steps = (from, to) => {
    const found = [];
    for (let ten = -3; ten < 7; ten++) for (const each of NICE) found.push(Number((each * 10 ** ten).toPrecision(2)));
    return found.filter((each) => each >= from && each <= to);
  };
  const EPSILONS = steps(LEAST, MOST), RECORDS = steps(100, 1e6), SHARES = steps(0.01, 1), CONDITION = ' --where "age >= 65"';
  const told = (number) => number.toLocaleString("en", { maximumSignificantDigits: 2 });
  const points = (width) => `${told(width)} percentage point${told(width) === "1" ? "" : "s"}`;
  const whole = (number) => Math.round(number).toLocaleString("en");
  const nearest = (list, value) => list.reduce((best, each, at) =>
    Math.abs(Math.log(each / value)) < Math.abs(Math.log(list[best] / value)) ? at : best, 0);

  // The half width for a product of records and epsilon: between two forecasts along a straight line of logarithms.
  const between = (products, values, product) => {
    const last = products.length - 1;
    if (product <= products[0]) return values[0] * products[0] / product;
    if (product >= products[last]) {  // as it fell between the last two: intervals that allow for ties do not fall for ever
      const fall = Math.log(values[last] / values[last - 1]) / Math.log(products[last] / products[last - 1]);
      return values[last] * (product / products[last]) ** (Number.isFinite(fall) ? Math.min(Math.max(fall, -1), 0) : -1);
    }
    const at = products.findIndex((each) => each >= product), [a, b] = [values[at - 1], values[at]];
    const part = Math.log(product / products[at - 1]) / Math.log(products[at] / products[at - 1]);
    return a > 0 && b > 0 ? Math.exp(Math.log(a) * (1 - part) + Math.log(b) * part) : a * (1 - part) + b * part;
  };
  const half = (line, product) => Math.min(between(line.products, line.half, product), 50);
  // The least and the most half width of the rehearsed releases, in words; nothing where they print alike.
  const range = (line, product) => {
    const [low, high] = [line.low, line.high].map((values) => told(Math.min(between(line.products, values, product), 50)));
    return low === high ? "" : `, in rehearsed releases ${low} to ${high}`;
  };
  const bands = (line, product) => line.y.map((_, place) => line.bands.length
    ? Math.min(between(line.products, line.bands.map((each) => each[place]), product) / 1e4, 1)
    : half(line, product) / 100);

  const element = (name, facts = {}, ...inside) => {
    const made = name.startsWith("svg:")
      ? document.createElementNS("http://www.w3.org/2000/svg", name.slice(4)) : document.createElement(name);
    for (const [key, value] of Object.entries(facts)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  };

  const draw = (svg, curve, line, widths) => {
    const panel = curve.joined ? 96 : 0;  // pixels: below a curve its half widths are drawn, where a narrow band can be seen
    const wide = Math.max(svg.clientWidth, 260), high = Math.round(Math.min(300, Math.max(220, 0.6 * wide)));
    const [left, right, top, bottom] = [46, 12, 10, 42];
    svg.setAttribute("viewBox", `0 0 ${wide} ${high + panel}`);
    svg.setAttribute("height", high + panel);
    const ends = line.y.map((y, at) => [Math.max(y - widths[at], 0), y + widths[at]]);
    const beside = curve.joined ? 0 : (line.x[1] - line.x[0]) / 2;
    const [from, to] = !curve.joined && line.x.at(-1) <= 1 ? [0, 1] : [line.x[0] - beside, line.x.at(-1) + beside];
    const highest = Math.max(...ends.map(([, up]) => up));
    const most = curve.joined || highest > 0.5 ? 1 : 4 * [0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.125].find((each) => 4 * each >= highest);
    const across = (x) => left + (wide - left - right) * (x - from) / (to - from);
    const upwards = (y) => high - bottom - (high - bottom - top) * Math.min(Math.max(y, 0), most) / most;
    const parts = [];
    const text = (x, y, words, anchor) => parts.push(element("svg:text", { x, y, "text-anchor": anchor }, words));
    for (let tick = 0; tick <= 4; tick++) {
      const y = upwards(most * tick / 4);
      parts.push(element("svg:line", { class: "rule", x1: left, x2: wide - right, y1: y, y2: y }));
      text(left - 5, y + 4, `${told(100 * most * tick / 4)} %`, "end");
      const x = from + (to - from) * tick / 4;
      text(across(x), high - bottom + 16, told(x), tick === 0 ? "start" : tick === 4 ? "end" : "middle");
    }
    text(wide - right, high - 8, curve.axes[0], "end");
    text(left, high - 8, curve.axes[1], "start");
    const path = (points) => points.map(([x, y], at) => `${at ? "L" : "M"}${across(x).toFixed(1)} ${upwards(y).toFixed(1)}`).join("");
    const low = line.x.map((x, at) => [x, ends[at][0]]), up = line.x.map((x, at) => [x, ends[at][1]]);
    const middle = line.x.map((x, at) => [x, line.y[at]]);
    if (curve.joined) {
      parts.push(element("svg:path", { class: "band", d: `${path(low)}L${path([...up].reverse()).slice(1)}Z` }));
      for (const side of [low, up]) parts.push(element("svg:path", { class: "end", d: path(side) }));
      parts.push(element("svg:path", { class: "curve", d: path(middle) }));
    } else for (const [at, [x, y]] of middle.entries()) {
      const [x1, y1, y2] = [across(x), upwards(ends[at][0]), upwards(ends[at][1])];
      parts.push(element("svg:path", { class: "bar", d: `M${x1 - 4} ${y1}h8M${x1} ${y1}V${y2}M${x1 - 4} ${y2}h8` }));
      parts.push(element("svg:circle", { class: "point", cx: x1, cy: upwards(y), r: 2 }));
    }
    if (curve.joined) {
      const largest = Math.max(...widths.map((width) => 100 * width), 0.01);
      const scale = [1, 2, 5].flatMap((step) => [-2, -1, 0, 1, 2].map((ten) => step * 10 ** ten)).sort((a, b) => a - b);
      const end = scale.find((each) => each >= largest) ?? 50, [from0, to0] = [high + panel - 8, high + 24];
      const along = (y) => from0 - (from0 - to0) * Math.min(y, end) / end;
      for (const tick of [0, end]) {
        parts.push(element("svg:line", { class: "rule", x1: left, x2: wide - right, y1: along(tick), y2: along(tick) }));
        text(left - 5, along(tick) + 4, `± ${told(tick)}`, "end");
      }
      text(left, high + 14, wide < 420 ? "mean half width, percentage points" : "half width at each place on average, percentage points", "start");
      const line0 = line.x.map((x, at) => `${at ? "L" : "M"}${across(x).toFixed(1)} ${along(100 * widths[at]).toFixed(1)}`).join("");
      parts.push(element("svg:path", { class: "band", d: `${line0}L${across(to)} ${from0}L${across(from)} ${from0}Z` }));
      parts.push(element("svg:path", { class: "curve", d: line0 }));
    }
    svg.replaceChildren(...parts);
  };

  // A button that the theme's own listener serves: it copies the text of the code beside it.
  const copyButton = (at) => element("nav", { class: "md-code__nav" }, element("button", {
    class: "md-code__button", type: "button", title: "Copy to clipboard", "data-md-type": "copy",
    "data-clipboard-target": `#dial-code-${at} > code` }));

  const start = (place, table) => {
    const control = {}, form = element("form");
    const [first, second] = [0, 1].map(() => element("div", { class: "turns" }));
    const choice = (name, words) => {
      control[name] = element("select", { name });
      (name === "curve" ? first : second).append(element("label", {}, element("span", {}, words), control[name]));
    };
    const number = (name, words, list, value, facts) => {
      const slider = element("input", { type: "range", min: 0, max: list.length - 1, step: 1, "aria-label": `${words}, slider` });
      const typed = element("input", { type: "number", name, value, step: "any", ...facts });
      const follow = () => {
        slider.value = nearest(list, Number(typed.value) || list[0]);
        slider.setAttribute("aria-valuetext", typed.value);
      };
      slider.addEventListener("input", () => {
        typed.value = list[slider.value];
        slider.setAttribute("aria-valuetext", typed.value);
      });
      typed.addEventListener("input", follow);
      follow();
      control[name] = typed;
      const turned = element("div", {}, element("label", {}, element("span", {}, words), typed), slider);
      (["epsilon", "records"].includes(name) ? first : second).append(turned);
    };
    choice("curve", "Curve");
    choice("shape", "Records like");
    choice("cells", "Cells");
    choice("adjacency", "Adjacency");
    number("epsilon", "Epsilon", EPSILONS, 1, { min: LEAST, max: MOST });
    number("records", "Records", RECORDS, 3000, { min: 1, max: 1e7 });
    number("share", "Share of rows that pass a filter", SHARES, 1, { min: 0.001, max: 1 });
    number("questions", "Questions like this one", [...Array(20).keys()].map((each) => each + 1), 1, { min: 1, max: 1000, step: 1 });
    number("budget", "Budget (epsilon)", steps(0.1, 10), 4, { min: 0.01, max: 100 });
    number("wanted", "Wanted half width (percentage points)", steps(0.1, 25), 1, { min: 0.01, max: 50 });
    const svg = element("svg:svg", { role: "img", width: "100%" });
    const said = element("p", { class: "said", role: "status" }), more = element("ul");
    const key = element("p", { class: "key" });
    const code = [0, 1, 2].map(() => element("code", { tabindex: 0 }));
    const names = ["See it first, without data", "Ask exactly this (dpcurves example people.parquet writes a table to try it on)",
      "The same in Python"];
    form.append(first, said, svg, key, second);
    place.replaceChildren(form, more, ...code.flatMap((each, at) => [
      element("p", { class: "name" }, names[at]), element("pre", { id: `dial-code-${at}` }, copyButton(at), each)]));

    const options = (select, list, wanted) => {
      const kept = list.map(String).includes(select.value) ? select.value : String(wanted ?? list[0]);
      select.replaceChildren(...list.map((each) => new Option(typeof each === "number" ? whole(each) : each, each)));
      select.value = list.map(String).includes(kept) ? kept : list[0];
      select.closest("label").hidden = list.length < 2;
    };
    for (const [value, { name }] of Object.entries(table.curves)) control.curve.append(new Option(name, value));
    options(control.adjacency, ["replace-one", "add-remove"]);

    const show = () => {
      const curve = table.curves[control.curve.value];
      options(control.cells, curve.cells.length ? curve.cells : [0], 256);
      options(control.shape, curve.shapes, curve.shapes[0]);
      const [cells, adjacency, shape] = [Number(control.cells.value), control.adjacency.value, control.shape.value];
      const refused = ["epsilon", "records", "share", "questions", "budget", "wanted"].filter((name) => {
        const { value, min, max } = control[name], whole = ["records", "questions"].includes(name);
        const fits = value !== "" && Number(value) >= Number(min) && Number(value) <= Number(max) && (!whole || Number.isInteger(Number(value)));
        control[name].setAttribute("aria-invalid", String(!fits));
        return !fits;
      });
      for (const part of [svg, key, more, ...place.querySelectorAll(".name, pre")]) part.hidden = refused.length > 0;
      if (refused.length) {
        const { min, max } = control[refused[0]], words = control[refused[0]].labels[0].textContent;
        const kind = ["records", "questions"].includes(refused[0]) ? "a whole number" : "a number";
        said.textContent = `${words}: enter ${kind} from ${Number(min).toLocaleString("en")} to ${Number(max).toLocaleString("en")}.`;
        svg.style.display = "none";
        return;
      }
      const [epsilon, n, share, k, budget, wanted] = ["epsilon", "records", "share", "questions", "budget", "wanted"].map((name) => Number(control[name].value));
      const line = table.lines.find((each) => each.curve === control.curve.value && each.cells === cells
        && each.adjacency === adjacency && each.shape === shape);
      // Noise is the same for any filter, so half widths are those of a table of the rows that pass.
      const passing = n * share, width = half(line, passing * epsilon);
      const records = `${whole(n)} records${share < 1 ? `, of which ${whole(passing)} pass the filter,` : ""}`;
      said.textContent = width >= SILENT
        ? `With ${records} at epsilon ${epsilon} the interval is as wide as half of all that is possible, or wider: a release would say next to nothing.`
        : `With ${records} at epsilon ${epsilon}, ${curve.known} is known to within ± ${points(width)}${range(line, passing * epsilon)}.`;
      const enough = (list, of) => list.find((each) => half(line, of(each)) <= wanted);
      const price = enough(EPSILONS, (each) => passing * each), people = enough(RECORDS, (each) => each * share * epsilon);
      const left = Number((budget - k * epsilon).toPrecision(6));
      const lines = [
        "The half width of the 95 % interval for these records, as a release prints it: the mean of rehearsed releases of such records.",
        `± ${points(wanted)}: ${price ? `epsilon ${price} is enough` : `no epsilon up to ${MOST} is enough`} for ${whole(n)} records; `
          + `${people ? `${whole(people)} records are enough` : "a million records are too few"} at epsilon ${epsilon}.`,
        left >= 0
          ? `${k} such question${k > 1 ? "s" : ""} cost${k > 1 ? "" : "s"} epsilon ${told(k * epsilon)} of ${budget}: epsilon ${left} is left.`
          : `${k} such question${k > 1 ? "s" : ""} would cost epsilon ${told(k * epsilon)}, more than ${budget}: the ledger answers ${Math.floor(budget / epsilon + 1e-9)}, and refuses the next.`,
      ];
      if (control.curve.value === "cdf")
        lines.push(`Sampling comes on top: of ${whole(passing)} records even the exact curve lies within ± ${points(135.8 / Math.sqrt(passing))} of that of the population they were drawn from (95 %).`);
      more.replaceChildren(...lines.map((each) => element("li", {}, each)));
      key.textContent = curve.joined ? "Solid line: the curve. Between the dashed lines: its 95 % band." : "Dots: the numbers. Bars: their 95 % intervals.";
      const units = adjacency === "replace-one" ? ` --units ${n}` : "";
      const facts = { cells, epsilon, records: n, adjacency, units, python: `dp.${adjacency.replace("-", "_").toUpperCase()}` };
      [curve.plan, curve.ask, share < 1 ? curve.filtered : curve.python].forEach((words, at) => {
        const filled = words.replace(/\{(\w+)\}/g, (_, name) => facts[name]);
        const filter = share < 1 ? [`${CONDITION} --share-of-rows ${share}`, CONDITION, ""][at] : "";
        code[at].textContent = filled.replace(/epsilon="(\d+)"/, "epsilon=$1") + filter;
      });
      svg.setAttribute("aria-label", `${curve.name}, records like ${shape}. ${said.textContent}`);
      const single = line.y.length === 1;  // a number has no curve
      svg.style.display = key.style.display = single ? "none" : "";
      if (!single) draw(svg, curve, line, bands(line, passing * epsilon));
    };
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    show();
    new ResizeObserver(show).observe(place);
  };

  for (const place of document.querySelectorAll(".dial[data-numbers]"))
    fetch(new URL(place.dataset.numbers, location.href)).then((answer) => answer.json()).then((table) => start(place, table));
})();
