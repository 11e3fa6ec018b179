import type { Parley } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import { defined } from '@parley/shared/defined'

/** The result of one check: well, something to mend, or not to be checked. */
export interface Diagnosis {
  check: string
  result: 'ok' | 'bad' | 'unknown'
  text: string
}

interface Asked {
  channel: string
  template?: string | undefined
  language?: string | undefined
}

/** Checks a channel's account at its provider and, where one is asked for, a template. */
export async function* checkAccount(parley: Parley, asked: Asked): AsyncGenerator<Diagnosis> {
  const query = { extId: asked.channel, limit: 1 }
  const { data } = await succeeded(parley.api.GET('/rest/channels', { params: { query } }))
  const [channel] = data
  if (channel === undefined)
    return yield {
      check: 'channel',
      result: 'bad',
      text: `There is no channel with the extId ${asked.channel}.`,
    }
  const params = { path: { id: channel._id } }
  const body = defined({ template: asked.template, language: asked.language })
  yield* (await succeeded(parley.api.POST('/rest/channels/{id}/test', { params, body }))).checks
}
