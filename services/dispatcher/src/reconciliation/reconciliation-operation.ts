import { type DescribedOperation, queryParameters } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { reconciliationQuery } from './reconciliation-routes.ts'

const count = z.number().int()
const balance = {
  accepted: count,
  done: count,
  sent: count,
  delivered: count,
  read: count,
  failed: count,
  dead: count,
  unrouted: count,
  rejected: count,
  inFlight: count,
  difference: count.describe('Accepted less all others; anything but 0 is a fault'),
  unaudited: count.describe('Stored, but not seen in the log yet'),
}
const none = Object.fromEntries(Object.keys(balance).map((name) => [name, 0]))
const example = { ...none, accepted: 3, sent: 3 }

export const reconciliationOperation: DescribedOperation = {
  method: 'GET',
  path: '/rest/messages/conservation',
  id: 'readConservation',
  tag: 'messages',
  summary: 'What was accepted against what became of it',
  description: 'Counted by id: in all, for each channel and for each hour.',
  parameters: queryParameters(reconciliationQuery, {
    channel: 'Only what names this external id',
    from: 'From this hour on',
    to: 'Until before this hour',
  }),
  response: {
    schema: z
      .object({
        ...balance,
        auditedUpTo: z.iso.datetime().nullable(),
        checkedSecondsAgo: z.number().nullable(),
        channels: z.array(z.object({ channel: z.string(), ...balance })),
        hours: z.array(z.object({ hour: z.iso.datetime(), ...balance })),
      })
      .meta({ id: 'Conservation' }),
    example: {
      ...example,
      auditedUpTo: '2026-11-20T11:36:37.316Z',
      checkedSecondsAgo: 1,
      channels: [{ channel: 'support-line', ...example }],
      hours: [{ hour: '2026-11-20T11:00:00.000Z', ...example }],
    },
  },
  errors: ['validation_failed'],
}
