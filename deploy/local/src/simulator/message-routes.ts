import { setTimeout as pause } from 'node:timers/promises'
import { defined } from '@parley/shared/defined'
import express, { type ErrorRequestHandler, type RequestHandler, Router } from 'express'
import type { Behaviours, SendFailure } from './behaviours.ts'
import type { CustomerWindows, SimulatorLimits } from './limits.ts'
import { MetaError } from './meta-error.ts'
import type { ReceiptLog } from './receipt-log.ts'
import type { SendLog, TroubleLog } from './send-log.ts'
import { readReceipt, readSend } from './send-request.ts'
import type { StatusPoster } from './status-poster.ts'
import type { Templates } from './templates.ts'

const MAX_BODY_BYTES = 256 * 1024
const VERSION = /^v\d{1,2}\.\d{1,2}$/

interface Parts {
  sends: SendLog
  receipts: Pick<ReceiptLog, 'add'>
  troubles: Pick<TroubleLog, 'refused' | 'dropped'>
  behaviours: Pick<Behaviours, 'next'>
  statuses: Pick<StatusPoster, 'follow'>
  templates: Pick<Templates, 'check' | 'categoryOf'>
  windows: Pick<CustomerWindows, 'check'>
  limits: SimulatorLimits
}

/** POST /v<NN>.<n>/{phoneNumberId}/messages */
export function messageRoutes(options: Parts): Router {
  const router = Router()
  router.post(
    '/:version/:phoneNumberId/messages',
    checkVersion,
    checkToken,
    express.json({ limit: MAX_BODY_BYTES, type: () => true }),
    sendMessage(options),
  )
  router.use('/:version/:phoneNumberId/messages', countRefusals(options.troubles))
  return router
}

type Step<P = { version: string; phoneNumberId: string }> = RequestHandler<P>

/** Goes on with a version of the API only. */
export const checkVersion: Step<{ version: string }> = (req, _res, next) => {
  next(VERSION.test(req.params.version) ? undefined : 'route')
}

/** Throws Meta's error where there is no access token, or an expired one. */
export const checkToken: Step<object> = (req, _res, next) => {
  const [scheme, token] = (req.headers.authorization ?? '').split(' ')
  if (scheme !== 'Bearer' || !token) {
    throw new MetaError({ status: 401, code: 190, message: 'An access token is required' })
  }
  if (token === 'expired') {
    throw new MetaError({ status: 401, code: 190, subcode: 463, message: 'The access token has expired' })
  }
  next()
}

function sendMessage(parts: Parts): Step {
  const { sends, receipts, troubles, behaviours, statuses, templates, windows, limits } = parts
  return async (req, res) => {
    const { phoneNumberId } = req.params
    const receipt = readReceipt(req.body)
    if (receipt !== undefined) {
      receipts.add({ phoneNumberId, ...receipt })
      return void res.json({ success: true })
    }
    const { input, content } = readSend(req.body)
    const turn = behaviours.next(phoneNumberId, content.to)
    templates.check(content, { strict: turn.strictTemplates })
    if (turn.customerWindow && content.type !== 'template') windows.check(phoneNumberId, content.to)
    limits.take({ phoneNumberId, to: content.to, perSecond: turn.messagesPerSecond })
    if (turn.failure) throw metaErrorOf(turn.failure)
    const send = await sends.add({ phoneNumberId, ...content })
    // An accepted message counts as sent, even if the response is dropped.
    void statuses.follow(send, { ...turn.statuses, category: templates.categoryOf(send).toLowerCase() })
    if (turn.stallMs > 0) await pause(turn.stallMs)
    if (turn.dropsResponse) {
      troubles.dropped(phoneNumberId)
      return void res.destroy()
    }
    res.json({
      messaging_product: 'whatsapp',
      contacts: [/^\d/.test(send.to) ? { input, wa_id: send.to } : { input, user_id: send.to }],
      messages: [{ id: send.id }],
    })
  }
}

function metaErrorOf({ status, code, subcode, retryAfterSeconds }: SendFailure): MetaError {
  return new MetaError({
    status,
    code,
    message: 'Failed as configured',
    details: 'The simulator is configured to fail',
    ...defined({ subcode, retryAfterSeconds }),
  })
}

function countRefusals(
  troubles: Pick<TroubleLog, 'refused'>,
): ErrorRequestHandler<{ phoneNumberId: string }> {
  return (error, req, _res, next) => {
    if (error instanceof MetaError) troubles.refused(req.params.phoneNumberId, error.code)
    next(error)
  }
}
