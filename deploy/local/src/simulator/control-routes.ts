import { randomBytes } from 'node:crypto'
import { defined } from '@parley/shared/defined'
import express, { type ErrorRequestHandler, type RequestHandler, Router } from 'express'
import { z } from 'zod'
import { templateState } from './account-templates.ts'
import { type Behaviours, behaviour } from './behaviours.ts'
import { knownTemplate } from './known-template.ts'
import type { CustomerWindows } from './limits.ts'
import type { MediaStore } from './media-store.ts'
import type { ReceiptLog } from './receipt-log.ts'
import type { LoggedSend, SendLog, TroubleLog } from './send-log.ts'
import type { StatusPoster } from './status-poster.ts'
import type { Templates } from './templates.ts'

const MAX_PAGE = 10_000
const MAX_BODY = '24mb'

const phoneNumberId = z.string().min(1).max(128)
const behaviourBody = behaviour.extend({ phoneNumberId: phoneNumberId.optional() })
const webhookBody = z.strictObject({
  phoneNumberId,
  url: z.url({ protocol: /^https?$/ }),
  appSecret: z.string().min(1),
})
const phone = z.string().regex(/^\d{5,20}$/)
const userId = z.string().regex(/^[A-Z]{2}\.[\w.]{1,120}$/)
const inboundFields = z.strictObject({
  phoneNumberId,
  /** Left out by those who have a user name: then there is an id. */
  from: phone.optional(),
  userId: userId.optional(),
  parentUserId: userId.optional(),
  username: z.string().min(1).max(64).optional(),
  name: z.string().max(256).default(''),
  text: z.string().min(1).max(4_096).default('Hello'),
  /** In place of a text: a message of Meta's without `id`, `from` and `timestamp`, such as `{type: 'location', …}`. */
  message: z.looseObject({ type: z.string().min(1).max(64) }).optional(),
  /** The group that it is written in. */
  groupId: z.string().min(1).max(128).optional(),
  /** The bytes that come with it. */
  media: z.strictObject({ base64: z.base64(), mimeType: z.string().min(1).max(256) }).optional(),
  /** When it was written, for the 24 hours; now when not given. */
  at: z.iso.datetime({ offset: true }).optional(),
})
const inboundBody = inboundFields.refine(({ from, userId }) => (from ?? userId) !== undefined, {
  path: ['from'],
  error: 'is required where there is no userId',
})
const echoBody = z.strictObject({
  ...{ phoneNumberId, to: phone, text: inboundFields.shape.text },
  message: inboundFields.shape.message,
})
const listQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(1_000),
  phoneNumberId: phoneNumberId.optional(),
})
const summaryQuery = z.strictObject({ phoneNumberId: phoneNumberId.optional() })

interface Parts {
  behaviours: Pick<Behaviours, 'set'>
  statuses: Pick<StatusPoster, 'register' | 'deliver' | 'echo' | 'change'>
  templates: Pick<Templates, 'add' | 'list' | 'ofAccounts'>
  windows: Pick<CustomerWindows, 'wrote'>
  media: Pick<MediaStore, 'add'>
}

/** How to misbehave, what to know and what people write: for the demo and the tests, no part of Meta's API. */
export function controlRoutes({ behaviours, statuses, templates, windows, media }: Parts): Router {
  const router = Router()
  router.use(express.json({ limit: MAX_BODY }))
  router.post('/behaviour', (req, res) => {
    const { phoneNumberId, ...requested } = behaviourBody.parse(req.body)
    behaviours.set(requested, phoneNumberId)
    res.json({ phoneNumberId: phoneNumberId ?? null, ...requested })
  })
  router.post('/webhook', (req, res) => {
    const webhook = webhookBody.parse(req.body)
    statuses.register(webhook)
    res.json({ phoneNumberId: webhook.phoneNumberId, url: webhook.url })
  })
  router.get('/templates', (_req, res) => void res.json({ data: templates.list() }))
  router.post('/templates', (req, res) => {
    const added = knownTemplate.parse(req.body)
    if (templates.add(added)) res.json(added)
    else res.status(400).json({ error: { message: 'There are too many templates' } })
  })
  router.post('/template-state', (req, res) => {
    const state = templateState.parse(req.body)
    const data = templates.ofAccounts.setState(state)
    const { phoneNumberId } = state
    const posted =
      phoneNumberId === undefined
        ? 0
        : data.filter((one) => statuses.change(phoneNumberId, changeOf(one, state))).length
    res.json({ data, posted })
  })
  router.post('/inbound', inbound({ statuses, windows, media }))
  router.post('/echo', (req, res) => {
    const { text, message: content = textOf(text), ...written } = echoBody.parse(req.body)
    const id = newId()
    res.json({ id, posted: statuses.echo({ id, content, ...written }) })
  })
  router.use(invalidQuestions)
  return router
}

/** Returns the changes that Meta's webhook reports for a template's new state. */
function changeOf(
  { id, name, language, category }: { id: string; name: string; language: string; category: string },
  { status, quality, reason = 'NONE' }: z.output<typeof templateState>,
): { field: string; value: object } {
  const named = {
    message_template_id: Number(id),
    message_template_name: name,
    message_template_language: language,
  }
  if (status !== undefined)
    return {
      field: 'message_template_status_update',
      value: { event: status, ...named, reason, message_template_category: category },
    }
  if (quality !== undefined)
    return { field: 'message_template_quality_update', value: { ...named, new_quality_score: quality } }
  return { field: 'template_category_update', value: { ...named, new_category: category } }
}

/** A person writes: the 24 hours begin, and the number's webhook hears of it where there is one. */
function inbound({
  statuses,
  windows,
  media,
}: Pick<Parts, 'statuses' | 'windows' | 'media'>): RequestHandler {
  return (req, res) => {
    const { at, text, groupId, message, media: bytes, ...person } = inboundBody.parse(req.body)
    const written = { message, media: bytes }
    const { phoneNumberId, from, userId } = person
    windows.wrote(
      phoneNumberId,
      groupId ?? from ?? userId ?? '',
      at === undefined ? Date.now() : Date.parse(at),
    )
    const id = newId()
    const content = { ...defined({ group_id: groupId }), ...(contentOf(media, written) ?? textOf(text)) }
    res.json({ id, posted: statuses.deliver({ id, ...person, content }) })
  }
}

const newId = (): string => `wamid.${randomBytes(24).toString('base64url')}`
const textOf = (body: string): object => ({ type: 'text', text: { body } })

/** With the id of its media in its place, as Meta has it. */
function contentOf(
  store: Pick<MediaStore, 'add'>,
  { message, media }: Pick<z.output<typeof inboundBody>, 'message' | 'media'>,
): object | undefined {
  if (message === undefined || media === undefined) return message
  const { base64, mimeType } = media
  const id = store.add({ bytes: Buffer.from(base64, 'base64'), mimeType })
  const given = (message[message.type] ?? {}) as object
  return { ...message, [message.type]: { ...given, id, mime_type: mimeType } }
}

/** Routes that show what was sent: for the demo and the tests, no part of Meta's API. */
export function inspectionRoutes({
  sends,
  receipts,
  troubles,
}: {
  sends: SendLog
  receipts: Pick<ReceiptLog, 'list'>
  troubles: TroubleLog
}): Router {
  const router = Router()
  router.get('/sends', (req, res) => {
    const query = listQuery.parse(req.query)
    const data = sends.list(query)
    res.json({ data, next: data.at(-1)?.n ?? query.after })
  })
  router.get('/receipts', (req, res) => {
    const { phoneNumberId } = summaryQuery.parse(req.query)
    res.json({ data: receipts.list(phoneNumberId) })
  })
  router.get('/summary', (req, res) => {
    const { phoneNumberId } = summaryQuery.parse(req.query)
    const counts = { ...summaryOf(sends.all(phoneNumberId)), ...troubles.troubles(phoneNumberId) }
    res.json({ ...counts, last: sends.last() })
  })
  router.use(invalidQuestions)
  return router
}

/** `repeated` counts the sends that carry callback data which an earlier one carried already. */
function summaryOf(sends: readonly LoggedSend[]) {
  const known = new Set<string>()
  let repeated = 0
  for (const { opaque } of sends) {
    if (opaque !== null && known.has(opaque)) repeated++
    else if (opaque !== null) known.add(opaque)
  }
  return {
    sends: sends.length,
    templates: sends.filter(({ type }) => type === 'template').length,
    texts: sends.filter(({ type }) => type === 'text').length,
    recipients: new Set(sends.map(({ to }) => to)).size,
    repeated,
  }
}

/** Says what is wrong with a request to the routes that are no part of Meta's API. */
const invalidQuestions: ErrorRequestHandler = (error, _req, res, next) => {
  if (!(error instanceof z.ZodError)) return next(error)
  res.status(400).json({ error: { message: z.prettifyError(error) } })
}
