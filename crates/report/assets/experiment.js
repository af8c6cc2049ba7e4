// Draws the forest plot of an experiment and its blocks over time from the report in #view.
(() => {
  "use strict";

  const { byId, data, bytesPerS, perS, clock, ink, color, axis, yAxis, binary, draw, figure, reading } = page;
  const { shown } = data;
  const { design, effects, blocks } = shown.report;

  const signed = (v) => (v == null ? "" : `${v < 0 ? "−" : "+"}${Math.abs(100 * v).toFixed(Math.abs(v) < 0.9995 ? 1 : 0)} %`);

  // The forest plot: an effect a row, the least one that matters behind all of them.

  const svg = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text != null) element.textContent = text;
    return element;
  };

  // Cut in the middle: names of settings differ at their ends.
  const fitted = (element, room) => {
    const whole = element.textContent;
    for (let kept = whole.length - 1; kept > 2 && element.getComputedTextLength() > room; kept -= Math.ceil(kept / 20)) {
      const tail = Math.floor(kept / 2);
      element.textContent = `${whole.slice(0, kept - tail)}…${whole.slice(whole.length - tail)}`;
    }
  };

  // As far as estimates go, and intervals up to four times that: what bounds little would press the others together.
  const reachOf = () => {
    const known = (values) => values.filter((v) => v != null).map(Math.abs);
    const largest = Math.max(design.matters_share, ...known(effects.map((e) => e.share)));
    const ends = known(effects.flatMap((e) => [e.low_share, e.high_share, e.detectable_share]));
    return 1.06 * Math.min(Math.max(2 * design.matters_share, largest, ...ends), 4 * largest);
  };

  const ticksOf = (reach, most) => {
    const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50];
    const step = steps.find((s) => (2 * reach) / s < most) ?? reach;
    const each = Math.floor(reach / step);
    return Array.from({ length: 2 * each + 1 }, (_, i) => (i - each) * step);
  };

  const drawForest = () => {
    const host = byId("forest");
    if (!host) return;
    const width = Math.max(Math.round(host.clientWidth - 24), 220);
    const isWide = width >= 640;
    const names = isWide ? Math.min(300, Math.round(width * 0.3)) : 0;
    const figures = isWide ? 190 : 0;
    const row = isWide ? 30 : 46;
    const [left, right] = [names + 10, width - figures - 10];
    const top = 22;
    const bottom = top + row * effects.length + 6;
    const reach = reachOf();
    const x = (share) => left + ((right - left) * (Math.min(Math.max(share, -reach), reach) + reach)) / (2 * reach);
    const label = `Effects of ${effects.length} arms with their intervals; the same figures are in the table below`;
    const plot = svg("svg", { class: "forest", width, height: bottom + 20, viewBox: `0 0 ${width} ${bottom + 20}`, role: "img", "aria-label": label });
    host.replaceChildren(plot);

    const matters = [x(-design.matters_share), x(design.matters_share)];
    plot.append(svg("rect", { class: "matters", x: matters[0], y: top, width: matters[1] - matters[0], height: bottom - top }));
    for (const share of ticksOf(reach, isWide ? 10 : 6)) {
      plot.append(svg("line", { class: share === 0 ? "none-line" : "tick", x1: x(share), x2: x(share), y1: top, y2: bottom }));
      plot.append(svg("text", { class: "mute", x: x(share), y: bottom + 14, "text-anchor": "middle" }, share === 0 ? "0" : signed(share).replace(".0 ", " ")));
    }
    plot.append(svg("text", { class: "mute", x: x(0) - 8, y: 14, "text-anchor": "end" }, "← less"));
    plot.append(svg("text", { class: "mute", x: x(0) + 8, y: 14 }, "more throughput →"));

    effects.forEach((effect, i) => {
      const middle = top + row * i + (isWide ? row / 2 : row - 14);
      const words = middle + (isWide ? 4 : -16);
      const group = svg("g", { class: `row ${effect.verdict}`, "data-arm": i });
      plot.append(group);
      const interval = effect.low_share == null || effect.high_share == null ? "" : `${signed(effect.low_share).replace(" %", "")} to ${signed(effect.high_share)}`;
      const share = effect.share == null ? "–" : signed(effect.share);
      group.append(svg("title", {}, `${effect.arm}: ${share}${interval && ` (${interval})`}; ${effect.sentence}`));
      const name = svg("text", { class: "name", x: 0, y: words }, effect.arm);
      group.append(name);
      const numbers = svg("text", { class: "figures", x: width, y: words, "text-anchor": "end" }, `${share}${interval && `  ${interval}`}`);
      group.append(numbers);
      fitted(name, isWide ? names - 6 : width - numbers.getComputedTextLength() - 10);

      const seen = effect.detectable_share;
      if (seen != null) {
        for (const [side, end] of [[-1, x(-seen)], [1, x(seen)]]) {
          if (seen <= reach) group.append(svg("path", { class: "detectable", d: `M${end - 4 * side} ${middle - 8}H${end}V${middle + 8}H${end - 4 * side}` }));
        }
      }
      if (interval) {
        const [from, to] = [x(effect.low_share), x(effect.high_share)];
        group.append(svg("line", { class: "interval", x1: from, x2: to, y1: middle, y2: middle }));
        for (const [end, value, side] of [[from, effect.low_share, -1], [to, effect.high_share, 1]]) {
          const isOn = Math.abs(value) <= reach;
          const d = isOn ? `M${end} ${middle - 4}V${middle + 4}` : `M${end - 5 * side} ${middle - 5}L${end} ${middle}L${end - 5 * side} ${middle + 5}`;
          group.append(svg("path", { class: "interval", d }));
        }
      }
      if (effect.share != null) group.append(svg("circle", { class: "estimate", cx: x(effect.share), cy: middle, r: 5 }));
    });
  };

  // Blocks over time: those that do not count are shaded.

  const shaded = (spans, matters) => (u) => {
    const { ctx, bbox } = u;
    const box = (style, x0, y0, x1, y1) => { ctx.fillStyle = style; ctx.fillRect(x0, y0, x1 - x0, y1 - y0); };
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const end = bbox.top + bbox.height;
    for (const span of spans) box(ink("hatch"), u.valToPos(span[0], "x", true), bbox.top, u.valToPos(span[1], "x", true), end);
    if (matters) {
      const [high, low] = [u.valToPos(matters, "y", true), u.valToPos(-matters, "y", true)];
      box(ink("shade"), bbox.left, high, bbox.left + bbox.width, low);
      const zero = u.valToPos(0, "y", true);
      box(ink("muted"), bbox.left, zero - devicePixelRatio / 2, bbox.left + bbox.width, zero + devicePixelRatio / 2);
    }
    ctx.restore();
  };

  const isExcluded = (block) => block.spoiled.length > 0;
  const seconds = (ns) => ns / 1e9;
  const cells = blocks.flatMap((block) => block.cells).sort((a, b) => a.started_ns - b.started_ns);
  const began = cells.length ? cells[0].started_ns : 0;

  // The baseline and its double are grey, so that colours are those of the arms under test.
  let tried = -1;
  const looks = design.arms.map(({ role }) => {
    if (role === "trial") tried += 1;
    return role === "trial" ? { number: tried } : { isDouble: role === "same" };
  });
  const line = (arm, format) => {
    const { number, isDouble } = looks[arm];
    const stroke = number == null ? ink("muted") : color(number);
    return {
      label: design.arms[arm].name, stroke, width: 1, dash: isDouble ? [4, 4] : undefined, spanGaps: true, value: reading(format),
      points: { show: true, size: 6, width: 1, fill: isDouble ? ink("panel") : stroke },
    };
  };

  const clockSteps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
  const drawCells = (into) => {
    const format = shown.experiment.bytes_per_s ? bytesPerS : perS;
    const xs = cells.map((cell) => seconds((cell.started_ns + cell.ended_ns) / 2 - began));
    const spans = blocks.filter((block) => isExcluded(block) && block.cells.length).map((block) => [
      seconds(Math.min(...block.cells.map((c) => c.started_ns)) - began),
      seconds(Math.max(...block.cells.map((c) => c.ended_ns)) - began),
    ]);
    draw(figure(into, "Throughput of each cell", "the axis does not begin at 0", 280), {
      scales: { x: { time: false, range: (u, min, max) => [min - 0.015 * (max - min) - 1, max + 0.015 * (max - min) + 1] } },
      axes: [axis({ size: 26, space: 70, incrs: clockSteps, values: (u, splits) => splits.map(clock) }), yAxis(format, shown.experiment.bytes_per_s ? { incrs: binary } : {})],
      series: [
        { label: "at", value: reading(clock) },
        ...design.arms.map((_, arm) => line(arm, format)),
      ],
      hooks: { drawClear: [shaded(spans)] },
    }, [xs, ...design.arms.map((_, arm) => cells.map((cell) => (cell.arm === arm ? cell.throughput_per_s ?? null : null)))]);
  };

  const drawDifferences = (into) => {
    const of = (block, arm) => block.cells.find((cell) => cell.arm === arm)?.throughput_per_s;
    const difference = (arm) => (block) => {
      const [own, baseline] = [of(block, arm), of(block, 0)];
      return isExcluded(block) || !own || !baseline ? null : own / baseline - 1;
    };
    const arms = design.arms.map((_, arm) => arm).slice(1);
    const columns = arms.map((arm) => blocks.map(difference(arm)));
    const farthest = Math.max(1.5 * design.matters_share, ...columns.flat().map(Math.abs));
    const spans = blocks.flatMap((block, i) => (isExcluded(block) ? [[i + 0.5, i + 1.5]] : []));
    draw(figure(into, "Differences from the baseline within each block", "shaded along 0: what does not matter", 280), {
      scales: { x: { time: false, range: () => [0.5, blocks.length + 0.5] }, y: { range: () => [-1.08 * farthest, 1.08 * farthest] } },
      axes: [axis({ size: 26, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] }), yAxis((v) => (v === 0 ? "0" : signed(v)))],
      series: [{ label: "block", value: reading(String) }, ...arms.map((arm) => line(arm, signed))],
      hooks: { drawClear: [shaded(spans, design.matters_share)] },
    }, [blocks.map((_, i) => i + 1), ...columns]);
  };

  page.stand(() => {
    drawForest();
    const into = byId("block-charts");
    if (!into || !cells.length) return;
    into.replaceChildren();
    drawCells(into);
    drawDifferences(into);
  });
  addEventListener("resize", drawForest);
})();
