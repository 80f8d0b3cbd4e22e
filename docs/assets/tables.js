// A table is sorted by a column when its head is clicked, the other way round the second time.
for (const table of document.querySelectorAll("article table")) {
  const heads = [...table.querySelectorAll("th")];
  heads.forEach((head, column) => {
    head.setAttribute("aria-sort", "none");
    head.tabIndex = 0;
    const sort = () => {
      const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", order);
      const body = table.tBodies[0];
      const text = (row) => row.cells[column].textContent;
      const rows = [...body.rows].sort((a, b) => text(a).localeCompare(text(b), "en", { numeric: true }));
      body.append(...(order === "ascending" ? rows : rows.reverse()));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
}
