import { defined } from '@parley/shared/defined'
import type { MessageRecord, Waiting } from '../../message/message-record.ts'
import { nextToSend } from '../../message/progress.ts'

/** What an open message waits for. */
export interface ShownWaiting {
  for: Waiting
  since: Date
  /** When it is looked at again. */
  until?: Date
  /** Of the attempt that failed last: its code, and what the other side said of it. */
  code?: string
  error?: string
  /** The message of its thread that has to end first. */
  message?: string
}

type Waited = Pick<
  MessageRecord,
  'open' | 'due' | 'waitingFor' | 'state' | 'sends' | 'attempts' | 'receivedAt' | 'updatedAt'
>

/** What a message waits for as far as its record says so; undefined for one that has ended. */
export function waitingOf(
  record: Waited,
  { isWorkedInTurns, before }: { isWorkedInTurns: boolean; before?: string | undefined },
): ShownWaiting | undefined {
  const { open, due, waitingFor, attempts, receivedAt, updatedAt } = record
  if (open !== true) return undefined
  if (before !== undefined) return { for: 'thread', since: receivedAt, message: before }
  if (due === undefined && waitingFor === undefined)
    return { for: unsaid(record, isWorkedInTurns), since: updatedAt }
  const failed = attempts.findLast(({ outcome }) => outcome !== 'accepted')
  const isRetried = waitingFor === undefined || waitingFor === 'retry' || waitingFor === 'status'
  return {
    for: waitingFor ?? 'retry',
    since: (isRetried ? failed?.at : undefined) ?? updatedAt,
    ...defined({ until: due, code: failed?.code, error: failed?.error }),
  }
}

/** Its run is under way, or about to begin. */
function unsaid({ sends }: Waited, isWorkedInTurns: boolean): Waiting {
  const next = nextToSend(sends)
  if (next !== undefined) return sends[next]?.state === 'claimed' ? 'answer' : 'turn'
  return isWorkedInTurns ? 'model' : 'turn'
}
