/** An event that a receiver has answered with 200. */
export interface Arrived {
  /** Its `webhook-id`. */
  id: string
  type: string
  /** The subject of the event. */
  record: string
  /** The line in which it must come in order, and its place in there; without one it has no order. */
  line?: string
  sequence?: number
}

/** The errors in the events of a run. */
interface EventsVerdict {
  /** Expected, and never came. */
  lost: number
  /** Came under more than one id. */
  renamed: number
  /** Came before one that it follows, though neither was being retried. */
  misplaced: number
  /** Came more than once, under one id: allowed. */
  repeated: number
}

const PASSED = ['message.received', 'message.sent', 'message.delivered', 'message.read']

/**
 * Compares what came with what had to: each expected event (its type and record) at least once under one id, those of
 * one record in order, and the messages of a line first received in order. Those in `retried` (ids) have no order.
 */
export function judgeEvents(options: {
  expected: Iterable<string>
  arrived: readonly Arrived[]
  retried: ReadonlySet<string>
}): EventsVerdict {
  const { expected, arrived, retried } = options
  const ids = new Map<string, Set<string>>()
  for (const event of arrived) {
    const name = nameOf(event)
    ids.set(name, (ids.get(name) ?? new Set()).add(event.id))
  }
  const known = new Set<string>()
  const first = arrived.filter(({ id }) => !known.has(id) && known.add(id))
  const inSequence = first.filter(({ id }) => !retried.has(id))
  return {
    lost: [...expected].filter((name) => !ids.has(name)).length,
    renamed: [...ids.values()].filter(({ size }) => size > 1).length,
    misplaced:
      descents(
        inSequence,
        ({ record }) => record,
        ({ type }) => PASSED.indexOf(type),
      ) +
      descents(
        inSequence.filter(({ type }) => type === PASSED[0]),
        ({ line }) => line,
        ({ sequence = 0 }) => sequence,
      ),
    repeated: arrived.length - first.length,
  }
}

/** Returns the name of an event, independent of its id. */
export const nameOf = ({ type, record }: Pick<Arrived, 'type' | 'record'>): string => `${type} ${record}`

/** How many come after one of their group that has a higher place. */
function descents(
  events: readonly Arrived[],
  groupOf: (event: Arrived) => string | undefined,
  placeOf: (event: Arrived) => number,
): number {
  const highest = new Map<string, number>()
  let found = 0
  for (const event of events) {
    const group = groupOf(event)
    if (group === undefined) continue
    const place = placeOf(event)
    const before = highest.get(group) ?? Number.NEGATIVE_INFINITY
    if (place < before) found++
    highest.set(group, Math.max(place, before))
  }
  return found
}

/** A change of a document, as its event told it. */
export interface LoggedEvent {
  id: number
  version: number
  text: string
}

interface EventAccount {
  /** Versions that the database has and no event told of. */
  lost: number
  /** Events of versions that the database never had, or that differ between two tellings of one version. */
  invented: number
  /** Events that came before the version in front of them. */
  misplaced: number
  /** Events that came again. */
  repeated: number
}

/** Holds events against the version that each document has in the end. */
export function accountVersions(
  events: readonly LoggedEvent[],
  versions: ReadonlyMap<number, number>,
): EventAccount {
  const logged = new Map<string, string>()
  const latest = new Map<number, number>()
  const result = { lost: 0, invented: 0, misplaced: 0, repeated: 0 }
  for (const { id, version, text } of events) {
    const known = logged.get(`${id}/${version}`)
    logged.set(`${id}/${version}`, text)
    if (version > (versions.get(id) ?? 0) || (known !== undefined && known !== text)) result.invented++
    else if (known !== undefined) result.repeated++
    else if (version !== (latest.get(id) ?? 0) + 1) result.misplaced++
    latest.set(id, Math.max(version, latest.get(id) ?? 0))
  }
  for (const [id, version] of versions) {
    for (let at = 1; at <= version; at++) if (!logged.has(`${id}/${at}`)) result.lost++
  }
  return result
}
