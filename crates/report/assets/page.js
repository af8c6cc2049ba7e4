// What the charts of every page share: units, colours, axes, themes and paper. Everything stays within the page.
const page = (() => {
  "use strict";

  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("view").textContent);

  // How quantities read: three digits and the unit that suits, as in the tables.

  const digits = (v) => {
    const magnitude = Math.abs(v);
    return v.toFixed(magnitude >= 99.95 || v === 0 ? 0 : magnitude >= 9.995 ? 1 : 2);
  };
  const stepped = (v, step, units) => {
    let i = 0;
    while (Math.abs(v) >= step - 0.5 && i + 1 < units.length) { v /= step; i += 1; }
    return `${digits(v)} ${units[i]}`.trim();
  };
  const known = (format) => (v) => (v == null ? "" : format(v));
  // As uPlot asks for the legend: the figure under the cursor.
  const reading = (format) => (u, v) => known(format)(v);
  const bytes = known((v) => stepped(v, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]));
  const bytesPerS = known((v) => `${bytes(v)}/s`);
  const bitsPerS = known((v) => stepped(v * 8, 1000, ["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", "Pb/s"]));
  const count = known((v) => stepped(v, 1000, ["", "k", "M", "G"]));
  const perS = known((v) => `${count(v)}/s`);
  const duration = known((v) => stepped(v, 1000, ["ns", "µs", "ms", "s"]));
  const percent = known((v) => `${digits(100 * v)} %`);
  const clock = known((s) => {
    if (s < 60) return `${s.toFixed(s % 1 === 0 ? 0 : 1)} s`;
    const whole = Math.floor(s);
    const two = (n) => String(n).padStart(2, "0");
    const hours = Math.floor(whole / 3600);
    const minutes = Math.floor(whole / 60) % 60;
    return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
  });
  // On axes 2.00 GiB/s is 2 GiB/s.
  const short = (format) => (u, splits) => splits.map((v) => format(v).replace(/\.0+(?=[ /]|$)|(\.\d)0(?=[ /]|$)/, "$1"));

  // Colours come from the style sheet, so that both themes are stated in one place.

  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const ink = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
  const color = (i) => ink(`c${i % 8}`);
  const ramp = (share, inks = ["r0", "r1", "r2"]) => {
    const stops = inks.map((name) => ink(name).match(/[\d.]+/g).map(Number));
    const at = share * (stops.length - 1);
    const i = Math.min(Math.floor(at), stops.length - 2);
    return `rgb(${[0, 1, 2].map((k) => Math.round(stops[i][k] + (stops[i + 1][k] - stops[i][k]) * (at - i))).join(" ")})`;
  };

  // A chart, and what all charts share.

  const charts = new Map();
  const font = "11px system-ui, sans-serif";
  const axis = (more) => ({
    stroke: ink("muted"), font, gap: 5, ticks: { show: false }, grid: { stroke: ink("grid"), width: 1 }, ...more,
  });
  const binary = Array.from({ length: 60 }, (_, k) => 2 ** k);
  const yAxis = (format, more) => axis({ size: 76, space: 26, values: short(format), ...more });
  // The numbers that were measured, as many as there is room for.
  const numbersAxis = (xs) => axis({
    size: 26,
    filter: (u, splits) => splits,
    splits: (u) => {
      let last = -Infinity;
      return xs.filter((x) => {
        const left = u.valToPos(x, "x");
        const fits = left - last >= 34;
        if (fits) last = left;
        return fits;
      });
    },
    values: (u, splits) => splits.map(String),
  });
  const fromZero = { range: (u, min, max) => [0, max > 0 ? max * 1.08 : 1] };
  const logarithmic = { distr: 3, log: 10 };

  const legend = { markers: { width: 3, dash: (u, i) => (u.series[i].dash ? "dashed" : "solid") } };

  const draw = (host, options, columns) => {
    charts.get(host)?.destroy();
    const plot = new uPlot({
      width: Math.max(host.clientWidth, 200),
      height: Number(host.dataset.height),
      padding: [8, 12, 0, 0],
      legend,
      ...options,
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 }, ...options.cursor },
    }, columns, host);
    charts.set(host, plot);
    return plot;
  };

  const figure = (into, title, note, height) => {
    const outer = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const small = document.createElement("small");
    const host = document.createElement("div");
    outer.className = "chart";
    small.textContent = note;
    caption.append(title, small);
    host.className = "plot";
    host.dataset.height = height;
    host.setAttribute("role", "img");
    host.setAttribute("aria-label", `${title}; the figures of each point are in the tables`);
    outer.append(caption, host);
    into.append(outer);
    return host;
  };

  const options = (select, labels) => labels.forEach((label, i) => select.add(new Option(label, i)));

  const dotted = (label, stroke, value, more) =>
    ({ label, stroke, value, width: 2, spanGaps: true, points: { show: true, size: 7, width: 1, fill: stroke }, ...more });

  // Draws everything, at first and whenever the colours or the paper change. What draws others than these charts
  // returns how many they are.

  const stand = (drawCharts) => {
    let others = 0;
    const drawAll = () => {
      for (const plot of charts.values()) plot.destroy();
      charts.clear();
      others = drawCharts() ?? 0;
    };
    const themes = ["auto", "light", "dark"];
    const setTheme = (theme) => {
      if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
      byId("theme").textContent = `Theme: ${theme}`;
    };
    const asked = new URLSearchParams(location.search).get("theme");
    if (themes.includes(asked)) setTheme(asked);
    byId("theme").addEventListener("click", () => {
      setTheme(themes[(themes.indexOf(root.dataset.theme ?? "auto") + 1) % themes.length]);
      drawAll();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

    let screenTheme;
    addEventListener("beforeprint", () => {
      screenTheme = root.dataset.theme ?? "auto";
      setTheme("light");
      root.dataset.printing = "";
      drawAll();
    });
    addEventListener("afterprint", () => {
      delete root.dataset.printing;
      setTheme(screenTheme);
      drawAll();
    });
    addEventListener("resize", () => {
      if ("printing" in root.dataset) return;
      for (const [host, plot] of charts) plot.setSize({ width: Math.max(host.clientWidth, 200), height: plot.height });
    });

    drawAll();
    // uPlot draws in microtasks: by the next task every chart stands.
    setTimeout(() => {
      root.dataset.charts = charts.size + others;
      root.dataset.ready = String(!root.dataset.error);
    }, 0);
  };

  return {
    byId, data, reading, bytes, bytesPerS, bitsPerS, perS, duration, percent, clock, ink, color, ramp, axis, binary,
    yAxis, numbersAxis, fromZero, logarithmic, legend, draw, figure, options, dotted, stand,
  };
})();
