/** An event that a receiver has answered with 200. */
export interface Arrived {
  /** Its `webhook-id`. */
  id: string
  type: string
  /** What it is about. */
  record: string
  /** What it must come in order with, and its place in there; without one it has no order. */
  line?: string
  sequence?: number
}

/** What was wrong with the events of a run. */
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

/** What an event is named by, whatever its id. */
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
