import { defined } from '@parley/shared/defined'
import { allProviders } from '@parley/shared/providers/registry'
import type { MessageRecord } from '../../message/message-record.ts'

/** What of a message says where it stands: nothing of what is said in it. */
export const MESSAGE_FIELDS = {
  ...{ state: 1, open: 1, due: 1, waitingFor: 1, reason: 1, fault: 1, updatedAt: 1 },
  ...{ 'sends.failure.code': 1, 'sends.pricing': 1, 'sends.content.kind': 1, 'attempts.code': 1 },
} as const

export type StoredMessage = Pick<
  MessageRecord,
  '_id' | 'state' | 'open' | 'due' | 'waitingFor' | 'reason' | 'fault' | 'updatedAt'
> & {
  sends?: { failure?: { code: string }; pricing?: { category: string; billable: boolean | null } }[]
  attempts?: { code?: string }[]
}

const FAILED = ['dead', 'failed', 'unrouted']

/** Where a message of a campaign stands; `cause` is what its failure means for whatever the campaign sends next. */
export function messageStateOf(record: StoredMessage): object {
  const { _id, state, open, due, waitingFor, reason, fault, updatedAt, sends = [], attempts = [] } = record
  const code = sends.findLast(({ failure }) => failure !== undefined)?.failure?.code ?? attempts.at(-1)?.code
  const pricing = sends.findLast((one) => one.pricing !== undefined)?.pricing
  return {
    _id,
    state,
    updatedAt,
    isOpen: open === true,
    ...defined({ due, waitingFor }),
    ...(FAILED.includes(state) ? defined({ reason, fault, code }) : {}),
    ...(code === undefined ? {} : defined({ cause: causeOf(code) })),
    ...(pricing === undefined ? {} : { category: pricing.category, billable: pricing.billable }),
  }
}

function causeOf(code: string): string | undefined {
  for (const { outbound } of allProviders()) {
    const cause = outbound.standing?.ofCode(code)
    if (cause !== undefined) return cause
  }
  return undefined
}
