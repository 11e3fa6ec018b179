import { Problem } from '@parley/shared/problem'
import type { SecretBox } from '@parley/shared/sealed-value'
import type { RequestHandler } from 'express'
import { receiveSettings } from '../channels.ts'
import type { HookLog } from '../hooks/hook-notes.ts'
import type { FindHook } from './find-hook.ts'
import { sameText } from './proof.ts'

/** GET /api/hooks/{provider}/{slug}/{channelExtId}: responds to a provider's handshake when it knows the channel's secret. */
export function handshake(options: {
  findHook: FindHook
  notes: HookLog
  box: Pick<SecretBox, 'open'>
}): RequestHandler {
  const { findHook, notes, box } = options
  return async (req, res) => {
    const hook = await findHook(req)
    if (hook?.provider.inbound.handshake === undefined) throw new Problem('not_found')
    const { provider, channel } = hook
    const asked = hook.provider.inbound.handshake(req.query, receiveSettings(channel, provider, box))
    if (!sameText(asked.given, asked.expected)) {
      notes.failed(channel, asked.expected === undefined ? asked.errors.notConfigured : asked.errors.wrong)
      throw new Problem('forbidden', { detail: 'The verify token is not the one of this channel.' })
    }
    if (asked.response === undefined)
      throw new Problem('forbidden', { detail: 'This is not a subscription.' })
    notes.handshake(channel)
    res.set({ 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' })
    res.end(asked.response)
  }
}
