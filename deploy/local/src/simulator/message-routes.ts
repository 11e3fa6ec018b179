import { setTimeout as pause } from 'node:timers/promises'
import express, { type RequestHandler, Router } from 'express'
import type { Behaviours } from './behaviours.ts'
import { MetaError } from './meta-error.ts'
import type { SendLog } from './send-log.ts'
import { readSend } from './send-request.ts'
import type { StatusPoster } from './status-poster.ts'

const MAX_BODY_BYTES = 256 * 1024
const VERSION = /^v\d{1,2}\.\d{1,2}$/

interface Parts {
  sends: SendLog
  behaviours: Behaviours
  statuses: Pick<StatusPoster, 'follow'>
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
  return router
}

type Step = RequestHandler<{ version: string; phoneNumberId: string }>

const checkVersion: Step = (req, _res, next) => {
  next(VERSION.test(req.params.version) ? undefined : 'route')
}

const checkToken: Step = (req, _res, next) => {
  const [scheme, token] = (req.headers.authorization ?? '').split(' ')
  if (scheme !== 'Bearer' || !token) {
    throw new MetaError({ status: 401, code: 190, message: 'An access token is required' })
  }
  if (token === 'expired') {
    throw new MetaError({ status: 401, code: 190, subcode: 463, message: 'The access token has expired' })
  }
  next()
}

function sendMessage({ sends, behaviours, statuses }: Parts): Step {
  return async (req, res) => {
    const { phoneNumberId } = req.params
    const request = readSend(req.body)
    const turn = behaviours.next(phoneNumberId)
    if (turn.failure) {
      const { status, code } = turn.failure
      throw new MetaError({
        status,
        code,
        message: 'Failed as told',
        details: 'The simulator was told to fail',
      })
    }
    const send = await sends.add({ phoneNumberId, ...request.content })
    // What was accepted counts as sent, whatever becomes of the answer.
    statuses.follow(send, turn.news)
    if (turn.stallMs > 0) await pause(turn.stallMs)
    if (turn.dropsAnswer) return void res.destroy()
    res.json({
      messaging_product: 'whatsapp',
      contacts: [{ input: request.input, wa_id: send.to }],
      messages: [{ id: send.id }],
    })
  }
}
