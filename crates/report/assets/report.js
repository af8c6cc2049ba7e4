// Draws the charts of a report from the columns in #view.
(() => {
  "use strict";

  const {
    byId, data, reading, bytes, bytesPerS, bitsPerS, perS, duration, percent, clock, ink, color, ramp, axis, binary,
    yAxis, numbersAxis, fromZero, logarithmic, legend, draw, figure, options, dotted,
  } = page;

  // Concurrency, doubling from step to step.

  const concurrencyScale = (xs) => ({ time: false, distr: 3, log: 2, range: () => [xs[0] / 1.3, xs[xs.length - 1] * 1.3] });

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
    // Each visit in the order of time, beside all of its concurrency together, with an interval of its own.
    const times = new Map();
    ctx.fillStyle = ctx.strokeStyle;
    ctx.lineWidth = pixel;
    ctx.globalAlpha = 0.7;
    for (const [x, mean, half] of series.visits) {
      const visit = (times.get(x) ?? 0) + 1;
      times.set(x, visit);
      const cx = u.valToPos(x, "x", true) + (3 + 4 * visit) * pixel;
      if (half != null) {
        ctx.beginPath();
        ctx.moveTo(cx, u.valToPos(mean + half, "y", true));
        ctx.lineTo(cx, u.valToPos(Math.max(mean - half, 0), "y", true));
        ctx.stroke();
      }
      ctx.beginPath();
      ctx.arc(cx, u.valToPos(mean, "y", true), 2 * pixel, 0, 2 * Math.PI);
      ctx.fill();
    }
    ctx.globalAlpha = 1;
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

  // The points of a series by concurrency and turn: rates of an open loop may be asked for again.
  const visits = (points) => {
    const times = new Map();
    return new Map(points.map((point) => {
      const visit = times.get(point[0]) ?? 0;
      times.set(point[0], visit + 1);
      return [`${point[0]} ${visit}`, point];
    }));
  };

  const throughputChart = (host, shown, format, incrs) => {
    const measured = [...new Set(shown.flatMap((s) => s.points.map(([x]) => x)))].sort((a, b) => a - b);
    // A plan goes on beyond what was tried: it is drawn as far as that.
    const within = (curve) => (curve ?? []).filter(([x]) => x <= measured[measured.length - 1]);
    const [points, plans] = [shown.map((s) => visits(s.points)), shown.map((s) => visits(within(s.plan)))];
    const keys = [...new Set([...points, ...plans].flatMap((of) => [...of.keys()]))]
      .map((key) => [key, ...key.split(" ").map(Number)])
      .sort((a, b) => a[1] - b[1] || a[2] - b[2]);
    const xs = keys.map(([, x]) => x);
    const column = (of) => keys.map(([key]) => of.get(key)?.[1] ?? null);
    const told = (i) => (u, v, si, di) => {
      const half = v == null || di == null ? null : points[i].get(keys[di][0])?.[2];
      return half == null || !v ? format(v) : `${format(v)} ± ${(100 * half / v).toFixed(1)} %`;
    };
    const highest = Math.max(...shown.flatMap((s) => s.points.map(([, mean]) => mean)));
    // The axis holds every interval, of visits too.
    const reach = Math.max(...shown.flatMap((s) => [...s.points, ...s.visits].map(([, mean, half]) => mean + (half ?? 0))));
    const holding = { range: (u, min, max) => fromZero.range(u, min, Math.max(max, reach)) };
    // Far above what was measured, a ceiling would flatten every line: the verdict states it.
    const ceilings = shown.map((s, i) => [s, i]).filter(([s]) => s.ceiling != null && s.ceiling <= 2.5 * highest);
    // Between points there are those of a plan: the cursor tells the nearest that was measured.
    const nearest = (u, si, i) => {
      const values = u.data[si || 1];
      for (let away = 0; away < values.length; away += 1) {
        if (values[i - away] != null) return i - away;
        if (values[i + away] != null) return i + away;
      }
      return i;
    };
    const planned = shown.map((_, i) => i).filter((i) => plans[i].size);
    draw(host, {
      scales: { x: concurrencyScale(measured), y: holding },
      axes: [numbersAxis(measured), yAxis(format, incrs && { incrs })],
      series: [
        { label: shown[0].load, value: reading(String) },
        ...shown.map((s, i) => dotted(s.label, color(i), told(i))),
        ...ceilings.map(([s, i]) => ({
          label: `linerate alone, ${s.label}`, stroke: color(i), width: 1, dash: [6, 5], points: { show: false }, value: reading(format),
        })),
        ...planned.map((i) => ({
          label: `plan, ${shown[i].label}`, stroke: color(i), width: 2, dash: [10, 4, 2, 4], spanGaps: true,
          points: { show: false }, value: reading(format),
        })),
      ],
      cursor: { dataIdx: nearest },
      hooks: { drawSeries: [marks(shown)] },
    }, [
      xs,
      ...points.map(column),
      ...ceilings.map(([s]) => xs.map(() => s.ceiling)),
      ...planned.map((i) => column(plans[i])),
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
      const again = shown.some((s) => s.visits.length) ? "; small: each visit, in the order of time" : "";
      if (shown.length) throughputChart(figure(into, title, note + again, 300), shown, format, incrs);
    }
  };

  const drawGrowth = () => {
    const into = byId("growth-charts");
    if (!into) return;
    into.replaceChildren();
    for (const shown of data.growth) {
      const [format, incrs] = shown.measure === "bytes" ? [bytesPerS, binary] : [perS, null];
      throughputChart(figure(into, shown.label, "over clients", 300), [shown], format, incrs);
    }
  };

  // Latency.

  const latencyChart = (host, { points, load }) => {
    const xs = points.map((point) => point.concurrency);
    const names = ["first byte p50", "p50", "p90", "p99"];
    draw(host, {
      scales: { x: concurrencyScale(xs), y: logarithmic },
      axes: [numbersAxis(xs), yAxis(duration)],
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
          label: entry.load === "in flight" ? `× ${point.concurrency}` : `${point.concurrency}/s`, stroke: ramp(points.length > 1 ? i / (points.length - 1) : 0.5), width: 1.75,
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
  // What was driven against the null target before the load is calibration: out of sight unless it is asked for.
  const usual = data.measured ? data.measured.map((ms) => ms / 1000) : [0, end];
  let panels = [];
  let zoomed = [...usual];

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
      ["TCP retransmits, packets dropped", "per second", 90, [line("sent again", column(machine.retransmits_per_s), 1), ...devices(machine.nics, [["drops", "drops"]])], perS],
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
      bind: { dblclick: () => () => { byId("zoom").value = "usual"; zoom(...usual); } },
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

  const hostsOf = byId("hosts-of");
  const showHosts = () => document.querySelectorAll("[data-hosts-of]")
    .forEach((box) => { box.hidden = box.dataset.hostsOf !== hostsOf.value; });
  if (hostsOf) { hostsOf.addEventListener("change", showHosts); showHosts(); }

  options(byId("latency-of"), latencies.map((entry) => entry.label));
  byId("latency-of").addEventListener("change", drawLatency);
  byId("latency-to").addEventListener("change", drawLatency);
  byId("throughput").hidden = byId("latency").hidden = !latencies.length;

  byId("zoom").add(new Option(data.measured ? "all points" : "the whole run", "usual"));
  if (data.measured) byId("zoom").add(new Option("the whole run, calibration included", "all"));
  options(byId("zoom"), data.spans.map((span) => `point ${span.point}: ${span.label}`));
  byId("zoom").addEventListener("change", (event) => {
    const span = data.spans[event.target.value];
    if (span) zoom(span.from_ms / 1000, span.to_ms / 1000);
    else if (event.target.value === "all") zoom(0, end);
    else zoom(...usual);
  });

  const clientsOf = byId("clients-of");
  const showClients = () => document.querySelectorAll("[data-clients-of]")
    .forEach((box) => { box.hidden = box.dataset.clientsOf !== clientsOf.value; });
  if (clientsOf) { clientsOf.addEventListener("change", showClients); showClients(); }

  page.stand(() => {
    drawGrowth();
    drawThroughput();
    drawLatency();
    drawTimeline();
  });
})();
