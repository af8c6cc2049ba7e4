// Draws the curves over requests in flight and over the number of nodes from the columns in #view, where there are such.
(() => {
  "use strict";

  const { byId, data, bytesPerS, bytes, binary, axis, yAxis, fromZero, color, ink, draw, figure, reading } = page;

  const bendLines = (at) => (u) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = ink("muted");
    ctx.globalAlpha = 0.6;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 4 * devicePixelRatio]);
    for (const nodes of at) {
      const x = u.valToPos(nodes, "x", true);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  };

  const chart = (host, lines, format, { nodes, bends }) => {
    // So many lines would be a grey field: the table tells where the curve bends.
    const drawn = bends.length <= 24 ? bends : [];
    draw(host, {
      scales: { x: { time: false, range: () => [0, nodes[nodes.length - 1] * 1.02] }, y: fromZero },
      axes: [axis({ size: 26, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] }), yAxis(format, { incrs: binary })],
      series: [
        { label: "nodes", value: reading(String) },
        ...lines.map(([label, values], i) => ({
          label, stroke: color(i), width: 2, value: reading(format),
          // Between numbers of nodes that no layout fits, a point stands alone.
          points: { show: nodes.length <= 40 || values.includes(null), size: 4, fill: color(i) },
        })),
      ],
      hooks: { drawClear: [bendLines(drawn)] },
    }, [nodes, ...lines.map(([, values]) => values)]);
  };

  // Throughput by requests in flight, dashed: the ceiling, and where the knee is.
  const course = (host, { in_flight: flights, bytes_per_s: rates, ceiling_bytes_per_s: ceiling, knee }) => {
    const last = flights[flights.length - 1];
    draw(host, {
      scales: { x: { time: false, distr: 3, log: 2, range: () => [0.9, last * 1.1] }, y: fromZero },
      axes: [axis({ size: 26 }), yAxis(bytesPerS, { incrs: binary })],
      series: [
        { label: "in flight", value: reading(String) },
        { label: "predicted", stroke: color(0), width: 2, value: reading(bytesPerS), points: { show: false } },
        { label: "ceiling", stroke: ink("muted"), width: 1.5, dash: [5, 4], value: reading(bytesPerS), points: { show: false } },
      ],
      hooks: { drawClear: [bendLines([knee])] },
    }, [flights, rates, flights.map(() => ceiling)]);
  };

  page.stand(() => {
    const { scaling, curves } = data;
    if (curves?.length) {
      const into = byId("curve-charts");
      into.replaceChildren();
      for (const each of curves) course(figure(into, each.title, "client bytes per second over requests in flight", 320), each);
    }
    if (!scaling?.nodes.length) return;
    const into = byId("scaling-charts");
    into.replaceChildren();
    chart(figure(into, "Ceilings", "client bytes per second", 320), scaling.works, bytesPerS, scaling);
    chart(figure(into, "Usable capacity", "bytes", 320), [["usable", scaling.usable_bytes]], bytes, scaling);
  });
})();
