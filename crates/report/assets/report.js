// Draws the charts of a report from the columns in #view. Everything stays within the page.
(() => {
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
  const bytes = known((v) => stepped(v, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]));
  const bytesPerS = known((v) => `${bytes(v)}/s`);
  const bitsPerS = known((v) => stepped(v * 8, 1000, ["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"]));
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
  const ramp = (share) => {
    const stops = ["r0", "r1", "r2"].map((name) => ink(name).match(/[\d.]+/g).map(Number));
    const at = share * 2;
    const i = Math.min(Math.floor(at), 1);
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

  // Concurrency, doubling from step to step.

  const concurrencyScale = (xs) => ({ time: false, distr: 3, log: 2, range: () => [xs[0] / 1.3, xs[xs.length - 1] * 1.3] });
  const concurrencyAxis = (xs) => axis({
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
  const dotted = (label, stroke, value, more) =>
    ({ label, stroke, value, width: 2, spanGaps: true, points: { show: true, size: 7, width: 1, fill: stroke }, ...more });

  // Confidence intervals as bars, and a ring at the knee with a bar over those concurrencies that may be it.
  const marks = (shown) => (u, si) => {
    const series = shown[si - 1];
    if (!series || !u.series[si].show) return;
    const { ctx } = u;
    const pixel = devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = u.series[si].stroke(u, si);
    ctx.lineWidth = 1.5 * pixel;
    for (const [x, mean, half] of series.points) {
      const cx = u.valToPos(x, "x", true);
      if (half != null) {
        const [top, bottom] = [u.valToPos(mean + half, "y", true), u.valToPos(Math.max(mean - half, 0), "y", true)];
        const cap = 4 * pixel;
        ctx.beginPath();
        ctx.moveTo(cx, top); ctx.lineTo(cx, bottom);
        ctx.moveTo(cx - cap, top); ctx.lineTo(cx + cap, top);
        ctx.moveTo(cx - cap, bottom); ctx.lineTo(cx + cap, bottom);
        ctx.stroke();
      }
    }
    if (series.knee) {
      const [x, lowest, highest, mean] = series.knee;
      const cy = u.valToPos(mean, "y", true);
      const [cx, left, right] = [x, lowest, highest].map((at) => u.valToPos(at, "x", true));
      ctx.lineWidth = 3 * pixel;
      ctx.globalAlpha = 0.5;
      ctx.beginPath();
      ctx.moveTo(left, cy); ctx.lineTo(right, cy);
      ctx.stroke();
      ctx.globalAlpha = 1;
      ctx.lineWidth = 1.5 * pixel;
      ctx.beginPath();
      ctx.arc(cx, cy, 8 * pixel, 0, 2 * Math.PI);
      ctx.stroke();
    }
    ctx.restore();
  };

  // The points of a series by concurrency and visit: a concurrency may be visited again.
  const visits = (points) => {
    const times = new Map();
    return new Map(points.map((point) => {
      const visit = times.get(point[0]) ?? 0;
      times.set(point[0], visit + 1);
      return [`${point[0]} ${visit}`, point];
    }));
  };

  const throughputChart = (host, shown, format, incrs) => {
    const [points, laws] = [shown.map((s) => visits(s.points)), shown.map((s) => visits(s.law ?? []))];
    const keys = [...new Set([...points, ...laws].flatMap((of) => [...of.keys()]))]
      .map((key) => [key, ...key.split(" ").map(Number)])
      .sort((a, b) => a[1] - b[1] || a[2] - b[2]);
    const xs = keys.map(([, x]) => x);
    const measured = [...new Set(shown.flatMap((s) => s.points.map(([x]) => x)))].sort((a, b) => a - b);
    const column = (of) => keys.map(([key]) => of.get(key)?.[1] ?? null);
    const told = (i) => (u, v, si, di) => {
      const half = v == null || di == null ? null : points[i].get(keys[di][0])?.[2];
      return half == null || !v ? format(v) : `${format(v)} ± ${(100 * half / v).toFixed(1)} %`;
    };
    const highest = Math.max(...shown.flatMap((s) => s.points.map(([, mean]) => mean)));
    // Far above what was measured, a ceiling would flatten every line: the verdict states it.
    const ceilings = shown.map((s, i) => [s, i]).filter(([s]) => s.ceiling != null && s.ceiling <= 2.5 * highest);
    // Between points there are those of the law: the cursor tells the nearest that was measured.
    const nearest = (u, si, i) => {
      const values = u.data[si || 1];
      for (let away = 0; away < values.length; away += 1) {
        if (values[i - away] != null) return i - away;
        if (values[i + away] != null) return i + away;
      }
      return i;
    };
    const fitted = shown.map((_, i) => i).filter((i) => laws[i].size);
    draw(host, {
      scales: { x: concurrencyScale(measured), y: fromZero },
      axes: [concurrencyAxis(measured), yAxis(format, incrs && { incrs })],
      series: [
        { label: shown[0].load, value: reading(String) },
        ...shown.map((s, i) => dotted(s.label, color(i), told(i))),
        ...ceilings.map(([s, i]) => ({
          label: `linerate alone, ${s.label}`, stroke: color(i), width: 1, dash: [6, 5], points: { show: false }, value: reading(format),
        })),
        ...fitted.map((i) => ({
          label: `law, ${shown[i].label}`, stroke: color(i), width: 1.5, dash: [1, 4], cap: "round", spanGaps: true,
          points: { show: false }, value: reading(format),
        })),
      ],
      cursor: { dataIdx: nearest },
      hooks: { drawSeries: [marks(shown)] },
    }, [
      xs,
      ...points.map(column),
      ...ceilings.map(([s]) => xs.map(() => s.ceiling)),
      ...fitted.map((i) => column(laws[i])),
    ]);
  };

  const drawThroughput = () => {
    const into = byId("throughput-charts");
    into.replaceChildren();
    for (const [measure, title, note, format, incrs] of [
      ["bytes", "Bodies", "bytes per second", bytesPerS, binary],
      ["requests", "Requests", "per second", perS, null],
    ]) {
      const shown = data.series.filter((s) => s.measure === measure && s.points.length);
      if (shown.length) throughputChart(figure(into, title, note, 300), shown, format, incrs);
    }
  };

  // Latency.

  const latencyChart = (host, { points, load }) => {
    const xs = points.map((point) => point.concurrency);
    const names = ["first byte p50", "p50", "p90", "p99"];
    draw(host, {
      scales: { x: concurrencyScale(xs), y: logarithmic },
      axes: [concurrencyAxis(xs), yAxis(duration)],
      series: [
        { label: load, value: reading(String) },
        ...names.map((name, i) => dotted(name, color([7, 0, 4, 1][i]), reading(duration), i === 0 ? { dash: [4, 4] } : {})),
      ],
    }, [xs, ...names.map((_, i) => points.map((point) => (point.count ? point.quantiles[i] : null)))]);
  };

  // The axis is the count of nines: 1 is 90 %, 2 is 99 %.
  const share = (x) => 100 * (1 - 10 ** -x);
  const nines = (x) => `${share(x).toFixed(x < 1.3 ? 1 : Math.ceil(x))} %`;

  const distributionChart = (host, entry, kind) => {
    const points = entry.points.filter((point) => point[kind]);
    const ends = points.map((point) => Math.log10(Math.max(point.count, 1)));
    const end = Math.min(Math.max(...ends, 2), 7);
    const xs = Array.from({ length: 401 }, (_, i) => (end * i) / 400);
    const column = (point, own) => {
      const [percentiles, ns] = point[kind];
      let i = 0;
      return xs.map((x) => {
        if (x > own + 1e-9 || !percentiles.length) return null;
        while (i + 1 < percentiles.length && percentiles[i] < share(x) - 1e-9) i += 1;
        return ns[i] || null;
      });
    };
    draw(host, {
      scales: { x: { time: false, range: () => [0, end] }, y: logarithmic },
      axes: [
        axis({
          size: 26,
          splits: () => [0, Math.log10(2), 1, 2, 3, 4, 5, 6, 7].filter((x) => x <= end),
          values: (u, splits) => splits.map((x) => `${+share(x).toFixed(6)} %`),
        }),
        yAxis(duration),
      ],
      series: [
        { label: "percentile", value: reading(nines) },
        ...points.map((point, i) => ({
          label: `× ${point.concurrency}`, stroke: ramp(points.length > 1 ? i / (points.length - 1) : 0.5), width: 1.75,
          points: { show: false }, value: reading(duration),
        })),
      ],
    }, [xs, ...points.map((point, i) => column(point, ends[i]))]);
  };

  const latencies = data.latency.filter((entry) => entry.points.length);
  const drawLatency = () => {
    const entry = latencies[Number(byId("latency-of").value)];
    if (!entry) return;
    latencyChart(byId("latency-chart"), entry);
    distributionChart(byId("distribution-chart"), entry, byId("latency-to").value);
  };

  // The timeline: panels with one clock, one cursor and one zoom.

  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const column = ({ scale, v }) => (v.match(/../g) ?? []).map((pair) => {
    const n = alphabet.indexOf(pair[0]) * 64 + alphabet.indexOf(pair[1]);
    return n === 4095 ? null : n * scale;
  });
  const end = Math.max(data.elapsed_ms, ...data.spans.map((s) => s.to_ms), ...data.load.at_ms.slice(-1), ...data.machine.at_ms.slice(-1), 1) / 1000;
  let panels = [];
  let zoomed = [0, end];

  const zoom = (min, max) => {
    zoomed = [min, max];
    panels.forEach((u) => u.setScale("x", { min, max }));
  };

  // Samples of different points are not joined: nothing was driven between them.
  const loadRows = data.load.at_ms.flatMap((_, i) => (i && data.load.point[i] !== data.load.point[i - 1] ? [null, i] : [i]));
  const loadClock = loadRows.map((i, k) => (i == null ? (data.load.at_ms[loadRows[k - 1]] + data.load.at_ms[loadRows[k + 1]]) / 2 : data.load.at_ms[i]) / 1000);
  const loadColumn = (values) => loadRows.map((i) => (i == null ? null : values[i]));
  const machineClock = data.machine.at_ms.map((ms) => ms / 1000);

  const warmups = data.spans.map((span) => {
    const warm = data.load.at_ms.filter((_, i) => data.load.point[i] === span.point && data.load.warmup[i]);
    return warm.length ? warm[warm.length - 1] : span.from_ms;
  });

  const hatching = () => {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const ctx = tile.getContext("2d");
    ctx.strokeStyle = ink("hatch");
    ctx.lineWidth = 2;
    for (const shift of [-8, 0, 8]) { ctx.moveTo(shift, 8); ctx.lineTo(shift + 8, 0); }
    ctx.stroke();
    return tile;
  };

  const shading = (tile, shade) => (u) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const pattern = ctx.createPattern(tile, "repeat");
    const fill = (style, from, to) => {
      const left = u.valToPos(from / 1000, "x", true);
      ctx.fillStyle = style;
      ctx.fillRect(left, bbox.top, u.valToPos(to / 1000, "x", true) - left, bbox.height);
    };
    data.spans.forEach((span, i) => {
      if (i % 2 === 0) fill(shade, span.from_ms, span.to_ms);
      if (warmups[i] > span.from_ms) fill(pattern, span.from_ms, warmups[i]);
    });
    ctx.restore();
  };

  const tellSpan = (u) => {
    if (u.cursor.left == null || u.cursor.left < 0) { byId("span").textContent = ""; return; }
    const ms = 1000 * u.posToVal(u.cursor.left, "x");
    const i = data.spans.findIndex((span) => ms >= span.from_ms && ms <= span.to_ms);
    const label = i < 0 ? "between points" : `point ${data.spans[i].point}: ${data.spans[i].label}${ms <= warmups[i] ? ", warming up" : ""}`;
    byId("span").textContent = `${clock(ms / 1000)}  ${label}`;
  };

  const line = (label, values, i, more) => ({ label, values, stroke: color(i), ...more });
  const dash = { dash: [5, 4] };

  // Each panel: title, note, height, lines, format of a figure, and what is particular about its y axis.
  const loadPanels = () => {
    const { load } = data;
    const moved = load.bytes_per_s.scale > 0;
    const list = [];
    if (moved) list.push(["Load", "bodies per second", 130, [line("bodies", column(load.bytes_per_s), 0)], bytesPerS, { incrs: binary }]);
    list.push(["Load", "requests per second", moved ? 100 : 130, [line("requests", column(load.requests_per_s), 2)], perS]);
    if (load.errors_per_s.scale > 0) list.push(["Failed requests", "per second", 90, [line("failed", column(load.errors_per_s), 1)], perS]);
    if (load.p50_ns.some((v) => v != null)) {
      list.push(["Latency", "to the last byte", 140, [line("p50", load.p50_ns, 0), line("p99", load.p99_ns, 1)], duration, null, logarithmic]);
    }
    return load.at_ms.length ? list.map(([title, note, height, lines, ...rest]) =>
      [loadClock, title, note, height, lines.map((l) => ({ ...l, values: loadColumn(l.values) })), ...rest]) : [];
  };

  const devices = (list, fields) => list.flatMap((device, i) => fields
    .filter(([field]) => device[field].scale > 0)
    .map(([field, name, more]) => line(`${device.name} ${name}`, column(device[field]), i, more)));
  const leftOut = (note, n) => (n ? `${note}; ${n} quieter ones not drawn` : note);

  const machinePanels = () => {
    const { machine } = data;
    const shares = (fields) => fields.filter(([, field]) => /[^_]/.test(machine[field].v))
      .map(([name, field], i) => line(name, column(machine[field]), i));
    const list = [
      ["Processors", "share in use, this machine", 140, shares([["mean", "cpu_busy"], ["busiest", "cpu_busiest"], ["softirq", "softirq"], ["steal", "steal"]]), percent, null, { range: [0, 1] }],
      ["Interfaces", leftOut("bits per second", machine.nics_left_out), 130, devices(machine.nics, [["rx", "in"], ["tx", "out", dash]]), bitsPerS],
      ["Block devices", leftOut("bytes per second", machine.disks_left_out), 130, devices(machine.disks, [["read", "read"], ["write", "written", dash]]), bytesPerS, { incrs: binary }],
      ["Block devices", "share of time busy", 100, devices(machine.disks, [["busy", ""]]), percent, null, { range: [0, 1] }],
      ["TCP segments sent again, packets dropped", "per second", 90, [line("sent again", column(machine.retransmits_per_s), 1), ...devices(machine.nics, [["drops", "drops"]])], perS],
      ["Memory available", "", 90, [line("available", column(machine.memory_available_bytes), 6)], bytes, { incrs: binary }],
      ["Pressure", "share of time in which a task waited", 100, shares([["processor", "pressure_cpu"], ["I/O", "pressure_io"], ["memory", "pressure_memory"]]), percent],
    ];
    return machineClock.length ? list.filter((panel) => panel[3].length).map((panel) => [machineClock, ...panel]) : [];
  };

  const timelinePanel = (host, clockOf, lines, format, axisMore, scale, hook) => draw(host, {
    scales: { x: { time: false, min: zoomed[0], max: zoomed[1] }, y: scale ?? fromZero },
    axes: [
      axis({ size: 22, space: 70, incrs: [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400], values: (u, splits) => splits.map(clock) }),
      yAxis(format, axisMore ?? {}),
    ],
    // Beside the title: eleven panels would spend eleven lines.
    legend: { ...legend, mount: (u, table) => host.previousElementSibling.append(table) },
    cursor: {
      drag: { x: true, y: false },
      bind: { dblclick: () => () => { byId("zoom").value = "all"; zoom(0, end); } },
      sync: { key: "timeline", scales: ["x", null], filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
    },
    series: [
      { label: "at", value: reading(clock) },
      ...lines.map(({ label, stroke, dash: dashes }) => ({ label, stroke, dash: dashes, width: 1.5, points: { show: false }, value: reading(format) })),
    ],
    hooks: {
      drawClear: [hook],
      setCursor: [tellSpan],
      // Every panel that follows reports back: only a range that is new goes round.
      setScale: [(u, key) => {
        const { min, max } = u.scales.x;
        if (key === "x" && (min !== zoomed[0] || max !== zoomed[1])) zoom(min, max);
      }],
    },
  }, [clockOf, ...lines.map((l) => l.values)]);

  const drawTimeline = () => {
    const into = byId("timeline-charts");
    into.replaceChildren();
    const hook = shading(hatching(), ink("shade"));
    panels = [];
    const drawn = [...loadPanels(), ...machinePanels()].map(([clockOf, title, note, height, ...rest]) =>
      timelinePanel(figure(into, title, note, height), clockOf, ...rest, ...Array(Math.max(0, 4 - rest.length)), hook));
    panels = drawn;
    byId("timeline").hidden = !drawn.length;
  };

  // Everything, at first and whenever the colours or the paper change.

  const drawAll = () => {
    for (const plot of charts.values()) plot.destroy();
    charts.clear();
    drawThroughput();
    drawLatency();
    drawTimeline();
  };

  const hostsOf = byId("hosts-of");
  const showHosts = () => document.querySelectorAll("[data-hosts-of]")
    .forEach((box) => { box.hidden = box.dataset.hostsOf !== hostsOf.value; });
  if (hostsOf) { hostsOf.addEventListener("change", showHosts); showHosts(); }

  options(byId("latency-of"), latencies.map((entry) => entry.label));
  byId("latency-of").addEventListener("change", drawLatency);
  byId("latency-to").addEventListener("change", drawLatency);
  byId("throughput").hidden = byId("latency").hidden = !latencies.length;

  byId("zoom").add(new Option("the whole run", "all"));
  options(byId("zoom"), data.spans.map((span) => `point ${span.point}: ${span.label}`));
  byId("zoom").addEventListener("change", (event) => {
    const span = data.spans[event.target.value];
    if (span) zoom(span.from_ms / 1000, span.to_ms / 1000); else zoom(0, end);
  });

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
    root.dataset.charts = charts.size;
    root.dataset.ready = String(!root.dataset.error);
  }, 0);
})();
