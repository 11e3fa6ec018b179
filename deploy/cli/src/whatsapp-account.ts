import type { Parley, Schemas } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'

/** What one check found: well, something to mend, or not to be checked. */
export interface Diagnosis {
  check: string
  result: 'ok' | 'bad' | 'unknown'
  text: string
}

type Channel = Schemas['Channel']

interface Asked {
  channel: string
  template?: string | undefined
  language?: string | undefined
}

interface Account {
  apiUrl: string
  accessToken: string
  phoneNumberId: string
  businessAccountId?: string
}

const REQUEST_MS = 10_000
const MASKED = '••••'

/** A channel's number and, where one is asked for, a template, as the Cloud API has them. */
export async function* checkNumber(parley: Parley, asked: Asked): AsyncGenerator<Diagnosis> {
  const query = { extId: asked.channel, limit: 1 }
  const { data } = await succeeded(parley.api.GET('/rest/channels', { params: { query } }))
  const [channel] = data
  if (channel === undefined)
    return yield bad('channel', `There is no channel with the extId ${asked.channel}.`)
  if (channel.callback !== 'whatsapp')
    return yield { check: 'channel', result: 'ok', text: 'It does not send through WhatsApp.' }
  const account = accountOf(channel)
  if (typeof account === 'string')
    return yield {
      check: 'channel',
      result: account === MASKED ? 'unknown' : 'bad',
      text: REASONS[account] ?? account,
    }
  const number = await ask(
    account,
    `/${account.phoneNumberId}?fields=display_phone_number,verified_name,quality_rating`,
  )
  if (typeof number === 'string') return yield bad('number', number)
  const {
    display_phone_number: shown = account.phoneNumberId,
    verified_name: name = '',
    quality_rating: quality,
  } = number
  yield {
    check: 'number',
    result: quality === 'RED' ? 'bad' : 'ok',
    text: `${shown} ${name}${quality ? `, quality ${quality}` : ''}`,
  }
  if (asked.template !== undefined) yield await checkTemplate(account, { ...asked, template: asked.template })
}

const REASONS: Record<string, string> = {
  [MASKED]: "The channel's access token is shown only to those who may write the channel.",
}

/** Where the channel sends; a text where that can't be said. */
function accountOf({ config }: Channel): Account | string {
  const {
    phoneNumberId,
    accessToken,
    apiUrl = DEFAULT_API,
    businessAccountId,
  } = config as Record<string, unknown>
  if (accessToken === MASKED) return MASKED
  if (typeof phoneNumberId !== 'string' || typeof accessToken !== 'string')
    return 'config.phoneNumberId or config.accessToken is missing: nothing can be sent.'
  return {
    ...{ apiUrl: String(apiUrl).replace(/\/$/, ''), accessToken, phoneNumberId },
    ...(typeof businessAccountId === 'string' && { businessAccountId }),
  }
}

const DEFAULT_API = 'https://graph.facebook.com/v23.0'

async function checkTemplate(
  account: Account,
  { template, language }: { template: string; language?: string | undefined },
): Promise<Diagnosis> {
  if (account.businessAccountId === undefined)
    return {
      check: 'template',
      result: 'unknown',
      text: "Put the WhatsApp business account's id into config.businessAccountId, and templates are checked.",
    }
  const path = `/${account.businessAccountId}/message_templates?name=${encodeURIComponent(template)}&fields=name,language,status`
  const found = await ask(account, path)
  if (typeof found === 'string') return bad('template', found)
  const { data = [] } = found as { data?: { name: string; language: string; status: string }[] }
  const named = data.filter(({ name }) => name === template)
  const fitting = named.filter((each) => language === undefined || each.language === language)
  const approved = fitting.find(({ status }) => status === 'APPROVED')
  if (approved !== undefined)
    return { check: 'template', result: 'ok', text: `${template} is approved in ${approved.language}` }
  if (fitting[0] !== undefined)
    return bad('template', `${template} is ${fitting[0].status} in ${fitting[0].language}.`)
  const known = named.map(({ language }) => language).join(', ')
  return bad(
    'template',
    known === ''
      ? `There is no template ${template}.`
      : `${template} is not there in ${language}, but in ${known}.`,
  )
}

/** What the Cloud API responds with; a text where it refuses. */
async function ask({ apiUrl, accessToken }: Account, path: string): Promise<Record<string, string> | string> {
  const headers = { authorization: `Bearer ${accessToken}` }
  try {
    const response = await fetch(apiUrl + path, { headers, signal: AbortSignal.timeout(REQUEST_MS) })
    const body = (await response.json()) as Record<string, string> & {
      error?: { code?: number; message?: string }
    }
    if (response.ok) return body
    return `The provider refuses with ${body.error?.code ?? response.status}: ${body.error?.message ?? 'no reason given'}`
  } catch {
    return `${apiUrl} does not respond.`
  }
}

const bad = (check: string, text: string): Diagnosis => ({ check, result: 'bad', text })
