"use strict";
// Says by keyboard what marks say to a pointer. A figure is one stop of the tab key; arrows go to the nearest mark.
const along = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
const said = document.createElement("div");
said.className = "said";
said.ariaHidden = "true"; // A screen reader reads the title of the mark.
const middle = mark => {
  const box = mark.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
};
for (const figure of document.querySelectorAll("figure")) {
  const marks = [...figure.querySelectorAll("svg :has(> title)")];
  const reach = mark => marks.forEach(other => other.setAttribute("tabindex", other === mark ? 0 : -1));
  reach(marks[0]);
  figure.addEventListener("focusin", ({target}) => {
    if (!marks.includes(target)) return;
    reach(target);
    const box = target.getBoundingClientRect();
    said.textContent = target.querySelector("title").textContent;
    document.body.append(said);
    said.style.top = `${box.bottom + scrollY + 6}px`;
    said.style.left = `${Math.max(4, Math.min(box.left, innerWidth - said.offsetWidth - 20)) + scrollX}px`;
  });
  figure.addEventListener("focusout", () => said.remove());
  figure.addEventListener("keydown", event => {
    if (event.key === "Escape") said.remove();
    const [right, down] = along[event.key] ?? [];
    if (right === undefined || !marks.includes(event.target)) return;
    event.preventDefault();
    const [x, y] = middle(event.target);
    const ahead = marks.flatMap(mark => {
      const [dx, dy] = middle(mark).map((place, axis) => place - [x, y][axis]);
      const [far, aside] = [dx * right + dy * down, Math.abs(dx * down) + Math.abs(dy * right)];
      return far > 1 ? [[far + 4 * aside, mark]] : [];
    });
    ahead.sort(([a], [b]) => a - b)[0]?.[1].focus();
  });
}
