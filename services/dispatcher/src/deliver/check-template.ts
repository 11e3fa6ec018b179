import type { Purpose } from '@parley/shared/consent'
import type { JsonObject } from '@parley/shared/json-object'
import { own } from '@parley/shared/providers/own'
import { providerNamed } from '@parley/shared/providers/registry'
import type { TemplateDefinition, TemplateFit, TemplateRules } from '@parley/shared/providers/templates'
import { accountIn } from '../channels/templates/provider-templates.ts'
import type { Send } from '../message/message-record.ts'
import { objectIn, objectOf } from '../message/object-content.ts'
import type { Outcome } from '../message/outcome.ts'
import { postponed } from '../message/progress.ts'
import type { MessageRun } from './message-run.ts'
import type { Planned } from './step.ts'
import type { RunResult } from './thread-run.ts'

/** How long a message waits for a template that is paused, where it does not say how long it may take. */
const PAUSED_MS = 24 * 60 * 60 * 1_000

type Checked =
  | { kind: 'fits'; purpose: Purpose | undefined }
  | { kind: 'refused'; outcome: Outcome }
  | { kind: 'waits'; result: RunResult }

/**
 * Looks whether the provider takes a template as it is to be sent, before anything leaves, and what it is for. Undefined
 * where nothing is known of it, and for all that is no template. What has begun is not refused any more.
 */
export function checkTemplate(
  run: MessageRun,
  planned: Planned,
  send: Send,
): undefined | Promise<Checked | undefined> {
  const found = templateOf(planned, send)
  return found && check(run, found, send)
}

async function check(run: MessageRun, found: Found, send: Send): Promise<Checked | undefined> {
  const { rules, object } = found
  const known = await run.calling(() => definitionsOf(run, found))
  if (known.length === 0) return undefined
  const fit = rules.fitOf(known, object)
  if (fit.kind === 'fits') return fit
  if (send.state !== 'pending') return undefined
  if (fit.kind === 'waits') return waitFor(run, object, fit)
  const { code, fault, reason } = fit
  return { kind: 'refused', outcome: { kind: 'permanent', code, fault, reason } }
}

interface Found {
  rules: TemplateRules
  object: JsonObject
  account: string
  name: string
}

/** The template that a send is, where its channel's account has templates. */
function templateOf({ channel, message }: Planned, { content }: Send): Found | undefined {
  const { templates: rules, outbound } = providerNamed(channel.callback) ?? {}
  if (rules === undefined) return undefined
  const account = accountIn(rules, channel.config)?.account
  if (account === undefined) return undefined
  if (content.kind === 'template') {
    const { template: name, language, variables } = content
    const composed = outbound?.objects?.compose({ template: name, language, variables })
    return composed?.kind === 'composed' ? { rules, object: composed.object, account, name } : undefined
  }
  const found = objectIn(content)
  if (found?.provider !== channel.callback || !outbound?.objects?.templates.includes(found.type))
    return undefined
  const object = objectOf(found, message)
  const name = own(object, found.type, 'name')
  return object === undefined || typeof name !== 'string' ? undefined : { rules, object, account, name }
}

function definitionsOf(
  { record: { workspace }, options }: MessageRun,
  { account, name }: Found,
): Promise<readonly TemplateDefinition[]> {
  return options.knownTemplates.find({ workspace, account, name })
}

/** Others of its thread pass it; it is given up when its time is over. */
async function waitFor(
  run: MessageRun,
  object: JsonObject,
  { reason }: Extract<TemplateFit, { kind: 'waits' }>,
): Promise<Checked> {
  const { record, options } = run
  const now = options.now()
  const ttl = own(object, 'message_send_ttl_seconds')
  const begun = record.acceptedAt ?? record.receivedAt
  const deadline = begun.getTime() + (typeof ttl === 'number' ? ttl * 1_000 : PAUSED_MS)
  if (now >= deadline) {
    const outcome = { kind: 'permanent', code: 'template_paused', fault: 'channel', reason } as const
    return { kind: 'refused', outcome }
  }
  const until = Math.min(now + options.times.templateAgain, deadline)
  if (record.waitingFor !== 'template') {
    if (record.answer !== undefined) await run.storeAnswer()
    const progress = postponed(run.record, { due: until, waitingFor: 'template', reason })
    const lane = run.record.turns === undefined ? { lane: record._id } : {}
    await run.message.commitUnderLease({ ...progress, ...lane })
  }
  return { kind: 'waits', result: { kind: 'wait', record: run.record, until, for: 'template' } }
}
