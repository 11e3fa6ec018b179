const BLOCKS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']
const EIGHTHS = 8
const BAR = 44
const LABEL = 19
const FIGURE = 9
/** The upper bounds of the bins, in milliseconds. */
const BOUNDS = [5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000]

/** How many of the values (milliseconds) lie between which bounds, as bars; a line for each bin from the first to the last with some. */
export function histogramLines(values: readonly number[]): string[] {
  const counts = [...BOUNDS, Number.POSITIVE_INFINITY].map(
    (bound, at) => values.filter((value) => value < bound && value >= (BOUNDS[at - 1] ?? 0)).length,
  )
  const first = counts.findIndex((count) => count > 0)
  const last = counts.findLastIndex((count) => count > 0)
  const most = Math.max(...counts)
  return counts.flatMap((count, at) => {
    if (first < 0 || at < first || at > last) return []
    const figure = count.toLocaleString('en-US').padStart(FIGURE)
    return [`  ${nameOf(at).padEnd(LABEL)}${figure}  ${bar(count / most)}`.trimEnd()]
  })
}

function nameOf(at: number): string {
  const [from, to] = [BOUNDS[at - 1] ?? 0, BOUNDS[at]]
  return to === undefined ? `over ${shown(from)}` : `${shown(from)} to ${shown(to)}`
}

const shown = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`)

/** Draws a bar that can be seen for a single item as well. */
function bar(share: number): string {
  const eighths = share === 0 ? 0 : Math.max(1, Math.round(share * BAR * EIGHTHS))
  return '█'.repeat(Math.floor(eighths / EIGHTHS)) + (BLOCKS[eighths % EIGHTHS] ?? '')
}
