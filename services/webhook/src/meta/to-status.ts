import { type MessageStatus, messageStatus } from '@parley/shared/message-status'
import { own, textAt } from './own.ts'

const MAX_SECONDS = 8.64e12

/** A status of Meta's as the system's own; undefined when it has no id, no status or no time. */
export function toStatus(options: {
  workspace: number
  channel: string
  raw: unknown
}): MessageStatus | undefined {
  const { workspace, channel, raw } = options
  const errors = own(raw, 'errors')
  const status = {
    workspace,
    channel,
    providerId: textAt(raw, 'id'),
    opaque: textAt(raw, 'biz_opaque_callback_data') ?? null,
    status: textAt(raw, 'status'),
    at: timeOf(own(raw, 'timestamp')),
    recipient: textAt(raw, 'recipient_id') ?? textAt(raw, 'recipient_user_id') ?? null,
    ...(Array.isArray(errors) && errors.length > 0 ? { errors: errors.map(toError) } : {}),
  }
  return messageStatus.safeParse(status).data
}

/** Meta gives seconds since 1970, as text. */
function timeOf(value: unknown): string | undefined {
  const seconds = typeof value === 'string' && value !== '' ? Number(value) : value
  if (typeof seconds !== 'number' || !(Math.abs(seconds) <= MAX_SECONDS)) return undefined
  return new Date(seconds * 1_000).toISOString()
}

function toError(raw: unknown) {
  const code = Number(own(raw, 'code') ?? Number.NaN)
  return {
    code: Number.isSafeInteger(code) ? code : null,
    title: textAt(raw, 'title') ?? null,
    message: textAt(raw, 'message') ?? null,
    details: textAt(raw, 'error_data', 'details') ?? null,
  }
}
