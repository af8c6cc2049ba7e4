"use strict";
// The map of pairs, a cell each, and rates over the number of streams. What a cell says is in the line below the map:
// of the one that is pointed at, or that arrow keys lead to.
(() => {
  const { byId, data, bitsPerS, numbersAxis, yAxis, fromZero, color, ramp, draw, figure, reading, dotted } = page;
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const STEPS = 64;
  const rated = (rate) => (data.unit ? `${Math.round(rate).toLocaleString("en")} ${data.unit}` : bitsPerS(rate));

  // Beside an axis there is no room for what is counted, which the title says.
  const perS = (rate) => (data.unit ? `${Math.round(rate).toLocaleString("en")}/s` : bitsPerS(rate));

  const cells = () => {
    const { scale, v } = data.map;
    const level = (i) => DIGITS.indexOf(v[2 * i]) * 64 + DIGITS.indexOf(v[2 * i + 1]);
    return Array.from({ length: v.length / 2 }, (_, i) => (level(i) === 4095 ? null : level(i) * scale));
  };

  // Names that are longer are cut, and names stand so many pixels apart.
  const NAME_MOST = 24;
  const NAME_PIXELS = 14;
  const cut = (name) => (name.length > NAME_MOST ? `${name.slice(0, NAME_MOST - 1)}…` : name);

  // Names beside the rows and above the columns: all, or as many as there is room for.
  const drawNames = (canvas) => {
    const map = canvas.closest(".pairs");
    const count = data.nodes.length;
    const step = Math.max(1, Math.ceil((count * NAME_PIXELS) / (canvas.clientWidth || 960)));
    const longest = data.nodes.reduce((most, name) => Math.max(most, cut(name).length), 1);
    for (const [side, edge, size] of [["across", "left", "height"], ["down", "top", "width"]]) {
      const into = map.querySelector(`.${side}`);
      into.style[size] = `${Math.ceil(longest * 6.6) + 6}px`;
      into.replaceChildren(...data.nodes.flatMap((name, i) => {
        if (i % step) return [];
        const span = document.createElement("span");
        span.textContent = cut(name);
        span.title = name;
        span.style[edge] = `${((i + 0.5) / count) * 100}%`;
        return [span];
      }));
    }
  };

  // Three digits, as the matrix of the terminal has them.
  const threeDigits = (value) => value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);

  // Below so many pixels a cell has no room for a figure.
  const CELL_LEAST = 34;

  // Black or white, whichever is read better on a colour (by its luminance as sRGB is weighted).
  const inkOn = (shade) => {
    const [red, green, blue] = shade.match(/[\d.]+/g).map(Number);
    return 0.299 * red + 0.587 * green + 0.114 * blue > 128 ? "#000" : "#fff";
  };

  // Figures over the cells, which the line below the map tells to those who do not see them.
  const drawFigures = (canvas, rates, colour) => {
    const count = data.nodes.length;
    const into = canvas.parentElement;
    into.querySelectorAll("span").forEach((span) => span.remove());
    if (!data.cell_scale || canvas.clientWidth < CELL_LEAST * count) return;
    rates.forEach((rate, i) => {
      if (rate == null) return;
      const span = document.createElement("span");
      span.textContent = threeDigits(rate / data.cell_scale);
      span.setAttribute("aria-hidden", "true");
      span.style.left = `${((i % count + 0.5) / count) * 100}%`;
      span.style.top = `${((Math.floor(i / count) + 0.5) / count) * 100}%`;
      span.style.color = inkOn(colour(rate));
      into.append(span);
    });
  };

  const drawMap = (canvas) => {
    drawNames(canvas);
    const count = data.nodes.length;
    const rates = cells();
    const size = Math.max(2, Math.floor(960 / count));
    canvas.width = size * count;
    canvas.height = size * count;
    const [low, high] = data.range;
    const colours = Array.from({ length: STEPS }, (_, k) => ramp(k / (STEPS - 1), ["h3", "h2", "h1", "h0"]));
    const colour = (rate) => {
      const share = high > low ? (rate - low) / (high - low) : 1;
      return colours[Math.round(Math.min(Math.max(share, 0), 1) * (STEPS - 1))];
    };
    const context = canvas.getContext("2d");
    const gap = size >= 6 ? 1 : 0;
    rates.forEach((rate, i) => {
      context.fillStyle = rate == null ? "rgba(128,128,128,.12)" : colour(rate);
      context.fillRect((i % count) * size, Math.floor(i / count) * size, size - gap, size - gap);
    });
    drawFigures(canvas, rates, colour);
    const told = canvas.closest("figure").querySelector(".told");
    const mark = canvas.parentElement.querySelector(".spot");
    let [from, to] = [0, Math.min(1, count - 1)];
    const tell = (marked) => {
      const rate = rates[from * count + to];
      const limit = data.limits[parseInt(data.limited[from * count + to], 36)];
      const said = rate == null ? "not measured" : `${rated(rate)}${limit ? `, limited by ${limit}` : ""}`;
      told.textContent = from === to ? data.nodes[from] : `${data.nodes[from]} → ${data.nodes[to]}: ${said}`;
      canvas.title = told.textContent;
      mark.hidden = !marked;
      mark.style.cssText = `left:${(to / count) * 100}%;top:${(from / count) * 100}%;width:${100 / count}%;height:${100 / count}%`;
    };
    canvas.onmousemove = (event) => {
      const box = canvas.getBoundingClientRect();
      const at = (offset, length) => Math.min(count - 1, Math.max(0, Math.floor((offset / length) * count)));
      [to, from] = [at(event.clientX - box.left, box.width), at(event.clientY - box.top, box.height)];
      tell(document.activeElement === canvas);
    };
    const moves = {
      ArrowLeft: () => { to = Math.max(0, to - 1); },
      ArrowRight: () => { to = Math.min(count - 1, to + 1); },
      ArrowUp: () => { from = Math.max(0, from - 1); },
      ArrowDown: () => { from = Math.min(count - 1, from + 1); },
      Home: () => { to = 0; },
      End: () => { to = count - 1; },
      PageUp: () => { from = 0; },
      PageDown: () => { from = count - 1; },
    };
    canvas.onkeydown = (event) => {
      const move = event.ctrlKey || event.metaKey || event.altKey ? null : moves[event.key];
      if (!move) return;
      event.preventDefault();
      move();
      tell(true);
    };
    canvas.onfocus = () => tell(true);
    canvas.onblur = () => { mark.hidden = true; };
  };

  const intervals = (points) => (u) => {
    const { ctx } = u;
    ctx.save();
    ctx.strokeStyle = color(0);
    ctx.lineWidth = 1.5 * devicePixelRatio;
    for (const [streams, , low, high] of points) {
      if (low == null || high == null) continue;
      const x = u.valToPos(streams, "x", true);
      ctx.beginPath();
      ctx.moveTo(x, u.valToPos(low, "y", true));
      ctx.lineTo(x, u.valToPos(high, "y", true));
      ctx.stroke();
    }
    ctx.restore();
  };

  const drawStreams = () => {
    const into = byId("stream-charts");
    if (!into) return;
    into.replaceChildren();
    const points = data.streams;
    const numbers = points.map(([streams]) => streams);
    const [first, last] = [numbers[0], numbers[numbers.length - 1]];
    const host = figure(into, data.title, "mean of all pairs with its 95 % interval", 300);
    draw(host, {
      scales: { x: { time: false, distr: 3, log: 2, range: () => [first * 0.9, last * 1.1] }, y: fromZero },
      axes: [numbersAxis(numbers), yAxis(perS)],
      series: [{ label: "streams", value: reading(String) }, dotted("mean of pairs", color(0), reading(rated))],
      hooks: { draw: [intervals(points)] },
    }, [numbers, points.map(([, mean]) => mean)]);
  };

  page.stand(() => {
    const canvas = document.querySelector("canvas.heat");
    if (canvas) drawMap(canvas);
    drawStreams();
    return canvas ? 1 : 0;
  });
})();
