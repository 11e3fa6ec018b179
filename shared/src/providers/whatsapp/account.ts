import { jsonOrUndefined } from '../../parse-json.ts'
import type { ProviderResponse } from '../http.ts'
import type { AccountCheck, Outbound } from '../outbound.ts'
import { isJsonObject, own, textAt } from '../own.ts'
import { get } from './api.ts'
import { rateFields, throughputIn } from './rates.ts'

type Finding = ReturnType<AccountCheck['read']>

/** A channel's number and, where one is asked for, a template, as the Cloud API has them. */
export const account: NonNullable<Outbound['account']> = (settings, { template, language }) => {
  const { phoneNumberId = '', businessAccountId } = settings
  const number: AccountCheck = {
    name: 'number',
    request: get(
      settings,
      `${phoneNumberId}?fields=display_phone_number,verified_name,${rateFields(settings)}`,
    ),
    read: (response) => refusalIn(response) ?? numberOf(response, phoneNumberId),
  }
  if (template === undefined) return [number]
  if (businessAccountId === undefined) return [number, { name: 'template', read: () => WITHOUT_ACCOUNT }]
  const query = `name=${encodeURIComponent(template)}&fields=name,language,status`
  return [
    number,
    {
      name: 'template',
      request: get(settings, `${businessAccountId}/message_templates?${query}`),
      read: (response) => refusalIn(response) ?? templateOf(response, { template, language }),
    },
  ]
}

const WITHOUT_ACCOUNT: Finding = {
  result: 'unknown',
  text: "Put the WhatsApp business account's id into config.businessAccountId, and templates are checked.",
}

function refusalIn({ status, body }: ProviderResponse): Finding | undefined {
  if (status >= 200 && status < 300) return undefined
  const error = own(jsonOrUndefined(body), 'error')
  const code = own(error, 'code') ?? status
  return bad(`The provider refuses with ${code}: ${textAt(error, 'message') ?? 'no reason given'}`)
}

function numberOf(response: ProviderResponse, phoneNumberId: string): Finding {
  const found = jsonOrUndefined(response.body)
  const perSecond = throughputIn(response)
  const shown = textAt(found, 'display_phone_number') ?? phoneNumberId
  const quality = textAt(found, 'quality_rating')
  return {
    result: quality === 'RED' ? 'bad' : 'ok',
    text: [
      `${shown} ${textAt(found, 'verified_name') ?? ''}`,
      ...(quality === undefined ? [] : [`quality ${quality}`]),
      ...(perSecond === undefined ? [] : [`${perSecond} messages a second`]),
    ].join(', '),
  }
}

function templateOf(
  { body }: ProviderResponse,
  { template, language }: { template: string; language: string | undefined },
): Finding {
  const data = own(jsonOrUndefined(body), 'data')
  const named = (Array.isArray(data) ? data : []).filter((one) => isJsonObject(one) && one.name === template)
  const fitting = named.filter((one) => language === undefined || one.language === language)
  const approved = fitting.find(({ status }) => status === 'APPROVED')
  if (approved !== undefined) return { result: 'ok', text: `${template} is approved in ${approved.language}` }
  if (fitting[0] !== undefined) return bad(`${template} is ${fitting[0].status} in ${fitting[0].language}.`)
  const known = named.map((one) => one.language).join(', ')
  if (known === '') return bad(`There is no template ${template}.`)
  return bad(`${template} is not there in ${language}, but in ${known}.`)
}

const bad = (text: string): Finding => ({ result: 'bad', text })
