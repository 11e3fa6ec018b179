import { defined } from '../../defined.ts'
import type { ReportedStatus } from '../inbound.ts'
import { own, textAt } from '../own.ts'
import { timeOf } from './time.ts'

const MAX_PRICING = 64

/** A status of Meta's as the system's own. */
export function statusOf(raw: unknown): ReportedStatus {
  const errors = own(raw, 'errors')
  return {
    ...defined({
      providerId: textAt(raw, 'id'),
      status: stateOf(textAt(raw, 'status')),
      at: timeOf(own(raw, 'timestamp')),
    }),
    opaque: textAt(raw, 'biz_opaque_callback_data') ?? null,
    recipient: textAt(raw, 'recipient_id') ?? textAt(raw, 'recipient_user_id') ?? null,
    ...(Array.isArray(errors) && errors.length > 0 ? { errors: errors.map(errorOf) } : {}),
    ...defined({ pricing: pricingOf(own(raw, 'pricing')) }),
  }
}

/** The state of a status: what was listened to was read. */
function stateOf(status: string | undefined): string | undefined {
  return status === 'played' ? 'read' : status
}

/** Of later versions of the API; earlier ones price conversations, and name no type. */
function pricingOf(raw: unknown): ReportedStatus['pricing'] {
  const category = boundedText(raw, 'category')
  if (category === null) return undefined
  const billable = own(raw, 'billable')
  return {
    category,
    type: boundedText(raw, 'type'),
    model: boundedText(raw, 'pricing_model'),
    billable: typeof billable === 'boolean' ? billable : null,
  }
}

const boundedText = (raw: unknown, key: string): string | null =>
  textAt(raw, key)?.slice(0, MAX_PRICING) ?? null

function errorOf(raw: unknown) {
  const code = Number(own(raw, 'code') ?? Number.NaN)
  return {
    code: Number.isSafeInteger(code) ? code : null,
    title: textAt(raw, 'title') ?? null,
    message: textAt(raw, 'message') ?? null,
    details: textAt(raw, 'error_data', 'details') ?? null,
  }
}
