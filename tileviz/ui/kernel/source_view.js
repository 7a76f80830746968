// Draws source lines with what each of their accesses costs; a click chooses an access.
// Everything from outside is set as text, never as HTML.

const HEADS = ["line", "source", "access", "executions", "cost", "ideal", "excess", "used", "moved"]
const NUMBERS = ["executions", "cost", "ideal", "excess", "used", "moved"]

function make(tag, css, text) {
  const element = document.createElement(tag)
  if (css) element.className = css
  if (text !== undefined) element.textContent = text
  return element
}

function head() {
  const row = make("tr")
  HEADS.forEach(name => row.appendChild(make("th", NUMBERS.includes(name) ? "num" : name, name)))
  const top = make("thead")
  top.appendChild(row)
  return top
}

function code(line, span) {
  const cell = make("td", "source")
  line.spans.forEach(([css, text]) => cell.appendChild(make("span", css, text)))
  cell.rowSpan = span
  return cell
}

function access(row, choose, picked) {
  const cells = []
  const cell = make("td", "access")
  const button = make("button", "", row.access)
  button.type = "button"
  button.setAttribute("aria-label", `Show ${row.access}, line ${row.line}`)
  button.setAttribute("aria-pressed", String(row.index === picked))
  button.disabled = !row.pictured
  button.onclick = event => { event.stopPropagation(); choose(row.index) }
  cell.appendChild(button)
  cells.push(cell)
  NUMBERS.forEach(name => {
    const above = row.above && (name === "cost" || name === "excess")
    const number = make("td", "num")
    number.appendChild(make("span", above ? "above" : "", row[name]))
    if (name === "cost") number.append(" ", make("small", "", row.unit))
    cells.push(number)
  })
  return cells
}

function problem(text) {
  const row = make("tr", "problem")
  row.appendChild(make("td", "line", "✕"))
  const cell = make("td", "", text)
  cell.colSpan = HEADS.length - 1
  cell.setAttribute("role", "alert")
  row.appendChild(cell)
  return row
}

function lineRows(line, data, choose) {
  const several = Math.max(line.rows.length, 1)
  const drawn = []
  for (let at = 0; at < several; at++) {
    const one = line.rows[at]
    const row = make("tr", at ? "further" : "first")
    if (!at) {
      const worst = line.rows.some(one => one.index === data.worst)
      const number = make("td", worst ? "line at_worst" : "line", line.number)
      number.rowSpan = several
      row.append(number, code(line, several))
    }
    if (one) {
      row.classList.add("counted")
      if (one.index === data.worst) row.classList.add("worst")
      if (one.index === data.picked) row.classList.add("picked")
      if (one.pictured) row.onclick = () => choose(one.index)
      access(one, choose, data.picked).forEach(cell => row.appendChild(cell))
    } else {
      const rest = make("td")
      rest.colSpan = HEADS.length - 2
      row.appendChild(rest)
    }
    drawn.push(row)
  }
  line.problems.forEach(text => drawn.push(problem(text)))
  return drawn
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const box = parentElement.querySelector(".view")
  const kept = box.scrollTop
  const choose = index => setTriggerValue("picked", index)
  const table = make("table")
  table.setAttribute("aria-label", "Source, line by line")
  table.appendChild(head())
  const body = make("tbody")
  data.lines.forEach(line => {
    if (line.left_out) {
      const row = make("tr", "left_out")
      const cell = make("td", "", line.left_out)
      cell.colSpan = HEADS.length
      row.appendChild(cell)
      body.appendChild(row)
    } else {
      lineRows(line, data, choose).forEach(row => body.appendChild(row))
    }
  })
  table.appendChild(body)
  const same = box.dataset.subject === data.subject
  box.replaceChildren(table)
  if (same) {
    box.scrollTop = kept
  } else {
    box.dataset.subject = data.subject
    const wanted = table.querySelector(".problem, .worst")
    // From the first line on, unless the line at fault lies below what is seen.
    const below = wanted && wanted.offsetTop + wanted.offsetHeight > box.clientHeight
    box.scrollTop = below ? wanted.offsetTop - box.clientHeight / 2 : 0
  }
}
