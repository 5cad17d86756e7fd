"use strict";
// Sorts a table of the leaderboard by the column that is clicked, and hides models whose names lack a text.
const tables = [...document.querySelectorAll("table[data-sortable]")];
const models = tables.flatMap(table => [...table.tBodies[0].rows].filter(row => !row.dataset.reference));
const value = (row, place) => {
  const cell = row.cells[place];
  return place ? Number(cell.dataset.value ?? NaN) : cell.textContent.trim();
};
for (const table of tables) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      // The best first, then the other way around; what is missing comes last.
      const first = place && head.dataset.better !== "lower" ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      heads.forEach(each => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const rows = models.filter(row => row.closest("table") === table);
      rows.sort((a, b) => {
        const [x, y] = [value(a, place), value(b, place)];
        if (!place) return (order === "ascending" ? 1 : -1) * x.localeCompare(y, "en", {numeric: true});
        if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);
        return order === "ascending" ? x - y : y - x;
      });
      table.tBodies[0].prepend(...rows);
    });
  });
}
const filter = document.getElementById("shown-models");
filter.parentElement.hidden = false;
filter.addEventListener("input", () => {
  const text = filter.value.trim().toLowerCase();
  for (const row of models) row.hidden = !row.cells[0].textContent.toLowerCase().includes(text);
});
