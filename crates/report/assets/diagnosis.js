"use strict";
// Heat maps: nodes by time, a cell for a share of a resource. What a cell says is in the line below the map.
(() => {
  const view = JSON.parse(document.getElementById("view").textContent);
  const share = (cell) => (cell === "." ? null : parseInt(cell, 36) / 35);
  // From pale blue over orange to red: what is full is found at a glance. Cells have 36 shares.
  const heat = (_, k) => page.ramp(k / 35, ["h0", "h1", "h2", "h3"]);
  const draw = (canvas) => {
    const rows = view.heat.maps[Number(canvas.dataset.map)].rows;
    const columns = view.heat.columns;
    const tall = Math.max(2, Math.min(16, Math.floor(960 / Math.max(1, rows.length))));
    const wide = Math.max(2, Math.floor(960 / Math.max(1, columns)));
    canvas.width = wide * columns;
    canvas.height = tall * rows.length;
    const context = canvas.getContext("2d");
    const colours = Array.from({ length: 36 }, heat);
    rows.forEach((row, y) => {
      for (let x = 0; x < columns; x++) {
        context.fillStyle = row[x] === "." ? "rgba(128,128,128,.12)" : colours[parseInt(row[x], 36)];
        context.fillRect(x * wide, y * tall, wide, tall);
      }
    });
    const told = canvas.parentElement.querySelector(".told");
    canvas.onmousemove = (event) => {
      const box = canvas.getBoundingClientRect();
      const x = Math.min(columns - 1, Math.floor(((event.clientX - box.left) / box.width) * columns));
      const y = Math.min(rows.length - 1, Math.floor(((event.clientY - box.top) / box.height) * rows.length));
      if (x < 0 || y < 0) return;
      const of = share(rows[y][x]);
      const at = new Date(view.heat.begin_unix_ms + x * view.heat.column_ms).toISOString().slice(0, 19).replace("T", " ");
      told.textContent = `${view.nodes[y]}, ${at} UTC: ${of == null ? "not read" : `${Math.round(of * 100)} %`}`;
    };
  };
  page.stand(() => {
    const maps = document.querySelectorAll("canvas.heat");
    maps.forEach(draw);
    return maps.length;
  });
})();
