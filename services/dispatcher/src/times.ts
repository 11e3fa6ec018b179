import { z } from 'zod'

const milliseconds = (value: number) => z.int().min(1).default(value)

/** Timeouts and intervals of the dispatcher, in milliseconds. `docs/times.md` is generated from them. */
export const times = {
  lookUpFor: milliseconds(10_000).describe(
    'A message whose assistant or operation is not configured waits this long for it, then it is `dead`',
  ),
  lookUpAgain: milliseconds(1_000).describe('It is looked up again after this long'),
  templateAgain: milliseconds(10_000).describe(
    'A message whose template is paused looks after this long whether it still is',
  ),
  statusCheck: milliseconds(1_000).describe(
    'How often it is checked that providers can hand statuses in, and how far the queues of statuses are consumed',
  ),
  auditCheck: milliseconds(2_000).describe(
    'How often the auditor renews its lease and traces messages that are missing',
  ),
  auditBehind: milliseconds(3_000).describe(
    'How far the audit stays behind the log, so that what it looks for has been stored as a rule',
  ),
  auditAgain: milliseconds(1_000).describe(
    'What the audit does not find in the store is looked for again after this long',
  ),
}

export type Times = { [Name in keyof typeof times]: number }

/** The times of a real system. */
export const TIMES: Times = z.object(times).parse({})
