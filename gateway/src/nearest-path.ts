import { routes } from './routes.ts'

/** What the gateway serves itself. */
const OWN_PATHS = ['/console', '/docs', '/openapi.json', '/openapi-3.0.json', '/health/live', '/health/ready']
const KNOWN = [...new Set([...routes.map(({ path }) => path), ...OWN_PATHS])]
const MAX_CHARACTERS = 64
const MAX_DISTANCE = 3

/** Says which known path an unknown one is most like; that none is, where more than 3 letters differ. */
export function nearestPath(path: string): string {
  const distances = KNOWN.map((known) => ({ known, distance: distance(beginningOf(path, known), known) }))
  const nearest = distances.reduce((a, b) => (b.distance < a.distance ? b : a))
  if (nearest.distance > MAX_DISTANCE) return 'No path is like this one; /openapi.json lists them all.'
  return `There is no such path. Did you mean ${nearest.known}?`
}

/** As many segments as the known path has, and no more characters than are compared. */
function beginningOf(path: string, known: string): string {
  const segments = known.split('/').length
  return path.split('/', segments).join('/').toLowerCase().slice(0, MAX_CHARACTERS)
}

/** How many letters have to be added, removed or replaced to make one text of the other (Levenshtein). */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < to.length; j++) {
      const replaced = (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
