import { z } from 'zod'
import type { Log } from './log.ts'

const MAX_TEXT = 256
const text = z.string().max(MAX_TEXT)

/** Something that somebody did or was refused, as the gateway or a login reports it to the audit log. */
export const reportedAct = z.object({
  workspace: z.number(),
  account: z.number(),
  token: z.number().optional(),
  name: text,
  address: text,
  action: text,
  resource: text,
  document: z.number(),
  path: text,
  outcome: z.enum(['done', 'refused']),
  requestId: text,
  at: z.number(),
  times: z.number().int().positive(),
})
export type ReportedAct = z.output<typeof reportedAct>

/** How many acts are handed over at once. */
export const MAX_REPORTED = 500
const MAX_WAITING = 10_000
const INTERVAL_MS = 1_000
const MINUTE_MS = 60_000

/** Collects acts for the audit log, so that no request waits for it or fails with it. */
export interface AuditReports {
  report(act: Omit<ReportedAct, 'at' | 'times'>): void
  /** Hands over what is there, once. */
  close(): Promise<void>
}

/**
 * Hands acts over once a second, and again until `send` has taken them. Repeats within a minute are one act that is counted.
 * Of more than 10,000 different ones that wait, further ones are dropped and logged.
 */
export function createAuditReports({
  send,
  log,
}: {
  send(acts: ReportedAct[]): Promise<unknown>
  log: Log
}): AuditReports {
  const waiting = new Map<string, ReportedAct>()
  let dropped = 0
  const add = (act: ReportedAct) => {
    const key = repeatKey(act)
    const before = waiting.get(key)
    if (before !== undefined) before.times += act.times
    else if (waiting.size < MAX_WAITING) waiting.set(key, act)
    else dropped += act.times
  }
  const handOver = async () => {
    if (dropped > 0)
      log.error({ dropped }, 'acts not in the audit log: identity has been unavailable for long')
    dropped = 0
    const batch = [...waiting].slice(0, MAX_REPORTED)
    if (batch.length === 0) return
    for (const [key] of batch) waiting.delete(key)
    const acts = batch.map(([, act]) => act)
    try {
      await send(acts)
    } catch {
      acts.forEach(add)
    }
  }
  let running: Promise<void> = Promise.resolve()
  let isRunning = false
  const timer = setInterval(() => {
    if (isRunning) return
    isRunning = true
    running = handOver().finally(() => {
      isRunning = false
    })
  }, INTERVAL_MS)
  timer.unref()
  return {
    report: (act) => add({ ...act, at: Date.now(), times: 1 }),
    close: async () => {
      clearInterval(timer)
      await running
      await handOver()
    },
  }
}

/** The same for all acts of a minute that differ in nothing but the request. */
export function repeatKey({
  at,
  times: _times,
  requestId: _request,
  name: _name,
  ...act
}: ReportedAct): string {
  const { workspace, account, token, address, action, resource, document, path, outcome } = act
  const minute = Math.floor(at / MINUTE_MS)
  return JSON.stringify([
    workspace,
    account,
    token,
    address,
    action,
    resource,
    document,
    path,
    outcome,
    minute,
  ])
}
