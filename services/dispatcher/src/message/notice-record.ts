import { parseExact } from '@parley/shared/parse-json'

/** Something that happened to a channel at its provider. */
export interface NoticeRecord {
  _id: string
  workspace: number
  /** External id of the channel. */
  channel: string
  channelId: number
  field: string
  /** By the provider's clock, where it said so. */
  at?: Date
  text: string
  /** All that the provider sent of it, as JSON text. */
  value: string
  receivedAt: Date
  expiresAt: Date
}

/** A notice as callers see it. */
export function noticeView({
  _id,
  channel,
  channelId,
  field,
  at,
  text,
  value,
  receivedAt,
}: NoticeRecord): object {
  return {
    _id,
    channel: { _id: channelId, extId: channel },
    field,
    at: at ?? null,
    text,
    value: parseExact(value),
    receivedAt,
  }
}
