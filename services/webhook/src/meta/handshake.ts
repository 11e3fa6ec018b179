import { Problem } from '@parley/shared/problem'
import type { SecretBox } from '@parley/shared/sealed-value'
import type { RequestHandler } from 'express'
import { configText } from '../channels.ts'
import type { HookLog } from '../hooks/hook-notes.ts'
import type { FindHook } from './find-hook.ts'
import { sameText } from './signature.ts'

const MAX_CHALLENGE = 1_024

/** GET /api/hooks/whatsapp/{slug}/{channelExtId}: repeats Meta's challenge when it knows the verify token. */
export function handshake(options: {
  findHook: FindHook
  notes: HookLog
  box: Pick<SecretBox, 'open'>
}): RequestHandler {
  const { findHook, notes, box } = options
  return async (req, res) => {
    const channel = await findHook(req)
    const { 'hub.mode': mode, 'hub.challenge': challenge, 'hub.verify_token': token } = req.query
    const expected = channel && configText(channel, 'verifyToken', box)
    const isKnown = sameText(typeof token === 'string' ? token : undefined, expected)
    if (channel === undefined) throw new Problem('not_found')
    if (!isKnown) {
      notes.failed(channel, expected === undefined ? 'verify_token_not_configured' : 'verify_token_wrong')
      throw new Problem('forbidden', { detail: 'The verify token is not the one of this channel.' })
    }
    if (mode !== 'subscribe' || typeof challenge !== 'string' || challenge.length > MAX_CHALLENGE)
      throw new Problem('forbidden', { detail: 'This is not a subscription.' })
    notes.handshake(channel)
    res.set({ 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' })
    res.end(challenge)
  }
}
