"use strict";
// The picture of a rollout stands in the page. What a row says is in the line below it: of the one that is pointed at,
// or that arrow keys lead to.
(() => {
  const picture = document.querySelector(".course");
  const said = document.querySelector("#course .told");
  const rows = picture ? [...picture.querySelectorAll("tbody tr:not(.group)")] : [];
  const PAGE = 20;
  let at = -1;

  const show = (row) => { said.textContent = row.querySelector("[aria-label]").getAttribute("aria-label"); };
  const mark = (next) => {
    rows[at]?.classList.remove("marked");
    at = Math.min(Math.max(next, 0), rows.length - 1);
    rows[at].classList.add("marked");
    rows[at].scrollIntoView({ block: "nearest" });
    show(rows[at]);
  };
  const moves = {
    ArrowUp: () => at - 1,
    ArrowDown: () => at + 1,
    PageUp: () => at - PAGE,
    PageDown: () => at + PAGE,
    Home: () => 0,
    End: () => rows.length - 1,
  };
  if (rows.length) {
    picture.addEventListener("keydown", (event) => {
      const move = event.ctrlKey || event.metaKey || event.altKey ? null : moves[event.key];
      if (!move) return;
      event.preventDefault();
      mark(move());
    });
    picture.addEventListener("blur", () => rows[at]?.classList.remove("marked"));
    picture.addEventListener("mouseover", (event) => {
      const row = event.target.closest("tbody tr:not(.group)");
      if (row) show(row);
    });
  }
  page.stand(() => 0);
})();
