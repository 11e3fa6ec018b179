import type { Posted } from '@parley/local/demo/post-threads'
import { waitUntil } from '@parley/local/wait-until'
import { z } from 'zod'
import type { RpcSink, SimulatorLog } from '../load/received-messages.ts'
import type { Workspace } from '../system/workspace.ts'

const READY_MS = 120_000
const SETTLED_MS = 600_000
const CHECK_MS = 500

/** When messages were posted: each has threads of its own. */
const PHASES = [
  'before the backup',
  'during the backup',
  'after the backup',
  'while MongoDB was gone',
] as const

/** In these configuration is written, too. */
const WRITING: readonly string[] = ['before the backup', 'after the backup']

/** The results for the messages that were posted in one phase. */
interface PhaseCount {
  phase: (typeof PHASES)[number]
  accepted: number
  /** Arrived at least once. */
  arrived: number
  /** Arrived more than once over WhatsApp. */
  doubled: number
  /** Configuration written in this phase, and how much of it was there in the end. */
  written: number
  found: number
}

const counted = z.object({ accepted: z.int(), inFlight: z.int(), difference: z.int(), unaudited: z.int() })

const FIRST_WRITTEN = 100
const WRITTEN = 5
/** The ids of the channels that a phase writes. */
export const writtenIds = (phase: number) =>
  Array.from({ length: WRITTEN }, (_, at) => FIRST_WRITTEN + phase * WRITTEN + at)

/** The messages that were posted by phase, and the places where they arrive. */
interface Posting {
  workspace: Workspace
  posted: Posted[][]
  log: SimulatorLog
  sink: RpcSink
}

/** How often each message arrived, over WhatsApp or as different calls. */
async function countReceived(log: SimulatorLog, sink: RpcSink): Promise<Map<string, number>> {
  await log.read()
  const counts = new Map<string, number>()
  for (const { thread, sequence } of [...log.received, ...sink.received]) {
    const key = `${thread}:${sequence}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

export async function untilArrived({ log, sink, posted }: Posting): Promise<void> {
  const all = posted.flat().filter(({ acceptedAt }) => acceptedAt !== undefined).length
  const arrived = async () => (await countReceived(log, sink)).size >= all
  if (!(await waitUntil(arrived, { timeoutMs: READY_MS }))) throw new Error('Not all messages arrived')
}

/** Waits until every message has an end and none is missing, ten minutes at most. */
export async function untilReconciled({ workspace, posted, log, sink }: Posting) {
  const all = posted.flat().filter(({ acceptedAt }) => acceptedAt !== undefined).length
  let worstDifference = 0
  let difference: number | undefined
  const reconciled = async () => {
    const answer = await workspace.call('GET', '/rest/messages/conservation').catch(() => undefined)
    const count = counted.safeParse(answer).data
    if (count === undefined) return false
    difference = count.difference
    worstDifference = Math.max(worstDifference, count.difference)
    const settled = count.difference === 0 && count.inFlight === 0 && count.unaudited === 0
    return settled && count.accepted === all && (await countReceived(log, sink)).size >= all
  }
  const done = await waitUntil(reconciled, { timeoutMs: SETTLED_MS, intervalMs: CHECK_MS })
  return { worstDifference, difference, reconciledAt: done ? performance.now() : undefined }
}

/** Counts the results for the messages and the configuration of each phase. */
export async function countPhases({ workspace, posted, log, sink }: Posting): Promise<PhaseCount[]> {
  const counts = await countReceived(log, sink)
  return Promise.all(
    PHASES.map(async (phase, at) => {
      const accepted = (posted[at] ?? []).filter(({ acceptedAt }) => acceptedAt !== undefined)
      const times = accepted.map(({ thread, sequence }) => counts.get(`${thread}:${sequence}`) ?? 0)
      const ids = WRITING.includes(phase) ? writtenIds(at) : []
      const found = await Promise.all(ids.map((id) => isThere(workspace, id)))
      return {
        phase,
        accepted: accepted.length,
        arrived: times.filter((count) => count > 0).length,
        doubled: times.filter((count) => count > 1).length,
        written: ids.length,
        found: found.filter(Boolean).length,
      }
    }),
  )
}

async function isThere(workspace: Workspace, id: number): Promise<boolean> {
  const answer = await workspace.request('GET', `/rest/channels/${id}`)
  await answer.arrayBuffer()
  return answer.status === 200
}
