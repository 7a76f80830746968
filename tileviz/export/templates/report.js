for (const source of document.querySelectorAll("script[data-figure]")) {
  const place = document.getElementById(source.dataset.figure);
  const figure = JSON.parse(source.textContent);
  figure.config = {
    displaylogo: false,
    responsive: !place.dataset.width,
    modeBarButtons: [["toImage"]],
    toImageButtonOptions: { format: "svg", filename: "tileviz-" + source.dataset.figure },
  };
  if (place.dataset.width) figure.layout.width = Number(place.dataset.width);
  Plotly.newPlot(place, figure);
}
